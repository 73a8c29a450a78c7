"""What pretraining needs of an objective besides its loss: what has to be hidden for it, what it trains and exports.

In: a `Batch` of text with something hidden, or as it is. Out: a loss, and model directories in the end.

An objective is one file that says, in this order, what batch it needs (`usual`, `learns_from`), what it trains
(`learner`), its loss (`counts`, `outcome`), what it measures (`figures`) and what it exports (`exports`); and one line
in `objectives/curriculum.py`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import Tensor
from transformers import PreTrainedModel

from unmask.objectives.objective import Learner, Objective
from unmask.records import Batch, PolicyProperties
from unmask.tokens.example import NEUTRAL

Build = Callable[..., PreTrainedModel]  # a fresh model of the recipe; keyword arguments change its family or its size


@dataclass(frozen=True)
class Card:
    """What a model directory says of itself."""

    what: str  # "A masked language model"
    pipeline: str  # what transformers and the hub call the use of it
    # Python that uses it in its own directory; [MASK] stands for the tokenizer's mask, NEUTRAL for a text of the user's
    example: str


FILL_MASK = Card(
    what="A masked language model",
    pipeline="fill-mask",
    example=f"""\
from transformers import pipeline

pipeline("fill-mask", model=".")("{NEUTRAL}")""",
)


@dataclass(frozen=True)
class Export:
    """A model directory: the model, and tensors beside it that its class has no place for, by file name."""

    model: PreTrainedModel
    tensors: Mapping[str, dict[str, Tensor]] = field(default_factory=dict)
    card: Card | None = None  # where it is another than the objective's


class TextObjective(Objective[Learner, Batch]):
    """One way to learn from text."""

    usual: str | None = None  # the policy of the paper; none: it takes text as it is
    families: frozenset[str] | None = None  # of models that it trains; none: whichever
    held_out: bool = False  # whether it is measured on held-out text in its own way, besides the fixed masks
    card: Card = FILL_MASK
    uses: tuple[str, ...] = ()  # commands that a finished run suggests first, with RUN, DATA and EXAMPLE in them

    @property
    def hides(self) -> bool:
        """Whether something has to be hidden for it."""
        return self.usual is not None

    def learns_from(self, policy: PolicyProperties) -> bool:
        """Whether it can learn from what a policy of these properties hides."""
        return False

    @abstractmethod
    def learner(self, build: Build) -> Learner:
        """What is trained: the recipe's model, and whatever the objective adds to it."""

    def masked_lm(self, learner: Learner) -> PreTrainedModel | None:
        """The part that restores masked tokens, which the fixed masks measure; none where there is none."""
        return None

    @abstractmethod
    def exports(self, learner: Learner) -> dict[str, Export]:
        """Model directories by name; `model` is the one that counts."""


class ModelObjective(TextObjective[PreTrainedModel]):
    """An objective that trains the recipe's model, adds nothing to it and exports it as it is."""

    def learner(self, build: Build) -> PreTrainedModel:
        """The recipe's model."""
        return build()

    def exports(self, learner: PreTrainedModel) -> dict[str, Export]:
        """The model."""
        return {"model": Export(learner)}
