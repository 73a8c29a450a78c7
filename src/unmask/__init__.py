"""Masked language modelling, whole: from raw text to an encoder that fills blanks.

The verbs are the commands of the same names; each gives back a typed result or raises one of the errors.

    import unmask

    unmask.prepare("my_texts/", "more.jsonl.gz", out="data")
    unmask.pretrain("data", out="run", recipe="mini", minutes=10)
    print(unmask.evaluate("run", "data").top1)
    print(unmask.fill("run", "The capital of France is [MASK].")[0].completed)
"""

from importlib.metadata import version as _version

from unmask.errors import (
    BadInput,
    Damaged,
    Diverged,
    Interrupted,
    NoSpace,
    Refused,
    Terminated,
    UnmaskError,
)
from unmask.results import (
    Band,
    Demonstrated,
    Evaluated,
    Figure,
    Filled,
    Guess,
    Prepared,
    Trained,
    Verified,
)
from unmask.verbs import demo, evaluate, fill, prepare, pretrain, verify

__version__ = _version("unmask")

__all__ = [
    "BadInput",
    "Band",
    "Damaged",
    "Demonstrated",
    "Diverged",
    "Evaluated",
    "Figure",
    "Filled",
    "Guess",
    "Interrupted",
    "NoSpace",
    "Prepared",
    "Refused",
    "Terminated",
    "Trained",
    "UnmaskError",
    "Verified",
    "__version__",
    "demo",
    "evaluate",
    "fill",
    "prepare",
    "pretrain",
    "verify",
]
