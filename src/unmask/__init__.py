"""Masked language modelling, whole: from raw text to an encoder that fills blanks.

The verbs are the commands of the same names; each gives back a typed result or raises one of the errors.

    import unmask

    unmask.prepare("my_texts/", "more.jsonl.gz", out="data")
    unmask.pretrain("data", out="run", recipe="mini", minutes=10)
    print(unmask.evaluate("run", "data").top1)
    print(unmask.fill("run", "The capital of France is [MASK].")[0].completed)

`unmask.Collator(tokenizer, policy="word")` hides in others' training loops; `unmask.load_boundary_head("run/model")` is
what the recipe spanbert trains beside its model.
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

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
    Audited,
    Band,
    Collocated,
    Comparison,
    Contender,
    Demonstrated,
    Evaluated,
    Figure,
    Filled,
    Guess,
    Listed,
    Phrase,
    Piece,
    Planned,
    Prepared,
    Probed,
    Shown,
    Suggested,
    Took,
    Trained,
    Validation,
    Verified,
    Watched,
)
from unmask.verbs import (
    audit,
    collocations,
    compare,
    demo,
    evaluate,
    fill,
    plan,
    prepare,
    pretrain,
    runs,
    show,
    verify,
    watch,
)

if _TYPE_CHECKING:
    from unmask.models.heads import load_boundary_head
    from unmask.tokens.collator import Collator

__version__ = _version("unmask")


def __getattr__(name: str) -> _Any:
    """The collator and heads need torch, which is loaded for those who ask for it."""
    if name == "Collator":
        from unmask.tokens.collator import Collator

        return Collator
    if name == "load_boundary_head":
        from unmask.models.heads import load_boundary_head

        return load_boundary_head
    raise AttributeError(f"module 'unmask' has no attribute {name!r}")


__all__ = [
    "Audited",
    "BadInput",
    "Band",
    "Collator",
    "Collocated",
    "Comparison",
    "Contender",
    "Damaged",
    "Demonstrated",
    "Diverged",
    "Evaluated",
    "Figure",
    "Filled",
    "Guess",
    "Interrupted",
    "Listed",
    "NoSpace",
    "Phrase",
    "Piece",
    "Planned",
    "Prepared",
    "Probed",
    "Refused",
    "Shown",
    "Suggested",
    "Terminated",
    "Took",
    "Trained",
    "UnmaskError",
    "Validation",
    "Verified",
    "Watched",
    "__version__",
    "audit",
    "collocations",
    "compare",
    "demo",
    "evaluate",
    "fill",
    "load_boundary_head",
    "plan",
    "prepare",
    "pretrain",
    "runs",
    "show",
    "verify",
    "watch",
]
