"""A model that stays in memory and answers: `unmask.load`.

    model = unmask.load("run")
    model.fill("Paris is the [MASK] of France.")[0].completed

In: a run, or any directory with a model of transformers. Out: an object whose methods are the verbs of `unmask`;
nothing is loaded twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from unmask.errors import BadInput
from unmask.models.load import LoadedModel, load_model
from unmask.models.locate import model_directory
from unmask.results import Explained, Filled

if TYPE_CHECKING:  # what fills is loaded with the first question
    from unmask.inference.fill import FillSettings


def load(path: str | Path, *, device: str | None = None, precision: str = "float32") -> Model:
    """A model to ask: of a run, or of any directory with a model of transformers.

    What a question needs is loaded with the first question of its kind, and stays.

    Args:
        path: A run or a model directory.
        device: Where to compute, such as cpu or cuda:1; a GPU if there is one.
        precision: What products are computed in: float32, bfloat16 or float16.
    """
    return Model(model_directory(Path(path)), device, precision)


class Model:
    """A model that stays in memory; its methods are the verbs."""

    def __init__(self, path: Path, device: str | None, precision: str) -> None:
        self.path, self.device, self.precision = path, device, precision

    @cached_property
    def masked(self) -> LoadedModel:
        """The masked language model, which fills blanks."""
        return load_model(self.path, device=self.device, precision=self.precision)

    def fill(self, *texts: str, **settings: Unpack[FillSettings]) -> list[Filled]:
        """Fill the blanks of texts; a text that cannot be filled is refused before the model is asked.

        Settings: top, targets, on_long, pieces, explain, as `unmask.fill` has them.
        """
        from unmask.inference.fill import fill_blanks

        return fill_blanks(self.masked, texts, **settings)

    def fill_each(self, texts: Sequence[str], **settings: Unpack[FillSettings]) -> list[Filled | BadInput]:
        """Fill the blanks of texts; in the place of one that cannot be filled, what is wrong with it."""
        from unmask.inference.fill import fill_good

        return fill_good(self.masked, texts, **settings)

    def explain(self, text: str, **settings: Unpack[FillSettings]) -> tuple[Explained, ...]:
        """Which words of a text mattered for what its blanks are filled with."""
        settings["explain"] = True
        (filled,) = self.fill(text, **settings)
        return filled.explained
