"""A model that stays in memory and answers: `unmask.load`.

    model = unmask.load("run")
    model.fill("Paris is the [MASK] of France.")[0].completed

In: a run, any directory with a model of transformers, or a name on the hub. Out: an object whose methods are the
verbs of `unmask`; nothing is loaded twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from unmask.errors import BadInput
from unmask.models.load import LoadedModel, load_model
from unmask.models.locate import model_directory
from unmask.results import Filled


def load(
    path: str | Path, *, device: str | None = None, precision: str = "float32", revision: str | None = None
) -> Model:
    """A model to ask: of a run, of any directory with a model of transformers, or of a name on the hub.

    What a question needs is loaded with the first question of its kind, and stays.

    Args:
        path: A run, a model directory, or a name on the hub (`org/name`, or `hf:name`), fetched once.
        device: Where to compute, such as cpu or cuda:1; a GPU if there is one.
        precision: What products are computed in: float32, bfloat16 or float16.
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    return Model(model_directory(Path(path), revision), device, precision)


class Model:
    """A model that stays in memory; its methods are the verbs."""

    def __init__(self, path: Path, device: str | None, precision: str) -> None:
        self.path, self.device, self.precision = path, device, precision

    @cached_property
    def masked(self) -> LoadedModel:
        """The masked language model, which fills blanks."""
        return load_model(self.path, device=self.device, precision=self.precision)

    def fill(self, *texts: str, top: int = 5, targets: Sequence[str] = ()) -> list[Filled]:
        """Fill the blanks of texts; a text that cannot be filled is refused before the model is asked."""
        from unmask.inference.fill import fill_blanks

        return fill_blanks(self.masked, texts, top=top, targets=targets)

    def fill_each(self, texts: Sequence[str], *, top: int = 5, targets: Sequence[str] = ()) -> list[Filled | BadInput]:
        """Fill the blanks of texts; in the place of one that cannot be filled, what is wrong with it."""
        from unmask.inference.fill import fill_good

        return fill_good(self.masked, texts, top=top, targets=targets)
