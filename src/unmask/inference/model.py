"""A model that stays in memory and answers: `unmask.load`.

    model = unmask.load("run")
    model.fill("Paris is the [MASK] of France.")[0].completed
    model.score("Paris is the capital of France.")[0].bits_per_byte

In: a run, or any directory with a model of transformers. Out: an object whose methods are the verbs of `unmask`;
nothing is loaded twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from unmask.errors import BadInput
from unmask.models.load import LoadedModel, load_model
from unmask.models.locate import model_directory
from unmask.results import Explained, Filled, Scored
from unmask.tokens.windows import OnLong

if TYPE_CHECKING:  # what answers is loaded with the first question
    from unmask.inference.fill import FillSettings
    from unmask.inference.score import Scorer


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

    @cached_property
    def scorer(self) -> Scorer:
        """What says how likely a text is: the masked language model, or one that reads from left to right."""
        from unmask.inference.score import Scorer, trained_method
        from unmask.models.load_causal import is_causal_lm, load_causal

        if is_causal_lm(self.path):
            return Scorer(load_causal(self.path, device=self.device, precision=self.precision), "likelihood")
        return Scorer(self.masked, trained_method(self.path) or "pseudo")

    def score(
        self,
        *texts: str,
        prefix: str = "",
        suffix: str = "",
        tokens: bool = False,
        stride: int | None = None,
        draws: int = 64,
        on_long: OnLong = "windows",
    ) -> list[Scored]:
        """How likely texts are; the settings are those of the verb. One that cannot be scored is refused."""
        settings = {"prefix": prefix, "suffix": suffix, "tokens": tokens, "stride": stride, "draws": draws}
        results = []
        for text, scored in zip(texts, self.score_each(texts, on_long=on_long, **settings), strict=True):
            if isinstance(scored, BadInput):
                raise BadInput(f"{text[:40]!r}: {scored}")
            results.append(scored)
        return results

    def score_each(self, texts: Sequence[str], **settings: Any) -> Iterator[Scored | BadInput]:
        """How likely texts are, in their order; in the place of one that cannot be scored, what is wrong with it."""
        from unmask.inference.score import ScoreSettings

        return self.scorer.score(texts, ScoreSettings(**settings))
