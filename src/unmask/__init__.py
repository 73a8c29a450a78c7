"""Masked language modelling, whole: from raw text to an encoder that fills blanks.

The verbs are the commands of the same names; each gives back a typed result or raises one of the errors.

    import unmask

    unmask.prepare("my_texts/", "more.jsonl.gz", out="data")
    unmask.pretrain("data", out="run", recipe="mini", minutes=10)
    print(unmask.evaluate("run", "data").top1)
    print(unmask.fill("run", "The capital of France is [MASK].")[0].completed)

`model = unmask.load("run")` keeps a model in memory: `model.fill("Paris is in [MASK].")`, again and again.
`unmask.Collator(tokenizer, policy="word")` hides in others' training loops; `unmask.load_boundary_head("run/model")` is
what the recipe spanbert trains beside its model.
"""

import typing as _typing
from importlib import import_module as _import_module
from importlib.metadata import version as _version

from unmask import errors, results, verbs
from unmask.errors import *  # noqa: F403
from unmask.results import *  # noqa: F403
from unmask.verbs import *  # noqa: F403

if _typing.TYPE_CHECKING:
    from unmask.inference.model import Model as Model
    from unmask.inference.model import load as load
    from unmask.models.heads import load_boundary_head as load_boundary_head
    from unmask.tokens.collator import Collator as Collator

__version__ = _version("unmask")

if not _typing.TYPE_CHECKING:  # type checkers and editors take all names, with their signatures, from the imports above
    # what needs torch is loaded for those who ask for it
    _HEAVY = {
        "Collator": "unmask.tokens.collator",
        "Model": "unmask.inference.model",
        "load": "unmask.inference.model",
        "load_boundary_head": "unmask.models.heads",
    }
    __all__ = ["__version__", *_HEAVY, *errors.__all__, *results.__all__, *verbs.__all__]

    def __dir__() -> list[str]:
        """All names, those that are loaded when they are asked for among them."""
        return sorted({*globals(), *__all__})

    def __getattr__(name: str) -> object:
        """What is heavy, when it is asked for."""
        if name in _HEAVY:
            return getattr(_import_module(_HEAVY[name]), name)
        raise AttributeError(f"module 'unmask' has no attribute {name!r}")
