"""Every objective by its name, and which of them a step of the training follows.

    "mlm"                      one
    "mlm 0.7, causal 0.3"      mixed by micro-batch, with these shares
    "causal until 0.5; mlm"    one after the other

In: such a line. Out: the objective of any micro-batch, a function of its number and of how far the training is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from unmask.errors import BadInput, did_you_mean
from unmask.objectives.causal import Causal
from unmask.objectives.diffusion import Diffusion
from unmask.objectives.masked_permuted import MaskedPermutationLM
from unmask.objectives.mlm import MLM
from unmask.objectives.permuted import PermutationLM
from unmask.objectives.replaced import DisentangledDetection, ReplacedTokenDetection
from unmask.objectives.retromae import RetroMAE
from unmask.objectives.seq2seq import Seq2Seq
from unmask.objectives.spans import SpanBoundary
from unmask.objectives.text import TextObjective
from unmask.objectives.tsdae import TSDAE
from unmask.stages import Misread, Stage, Words, ends_ascend, parse_stages, spell_stages, stage_at

OBJECTIVES: dict[str, TextObjective[Any]] = {
    objective.name: objective
    for objective in (
        MLM(),
        ReplacedTokenDetection(),
        DisentangledDetection(),
        SpanBoundary(),
        RetroMAE(),
        TSDAE(),
        Causal(),
        Diffusion(),
        PermutationLM(),
        MaskedPermutationLM(),
        Seq2Seq(),
    )
}
NAMES = {name: objective for objective in OBJECTIVES.values() for name in (objective.name, *objective.also)}
GOLDEN = (5**0.5 - 1) / 2  # multiples of it, less their whole part, fill the unit interval evenly


@dataclass(frozen=True)
class Curriculum:
    """Which objective when."""

    stages: tuple[Stage[TextObjective[Any]], ...]

    def __str__(self) -> str:
        """The curriculum as a person writes it, each objective by its own name."""
        return spell_stages(self.stages)

    @property
    def objectives(self) -> tuple[TextObjective[Any], ...]:
        """All of them, the last stage's first: it decides what is exported."""
        return tuple(dict.fromkeys(objective for stage in reversed(self.stages) for objective in stage.members))

    @property
    def main(self) -> TextObjective[Any]:
        """The first of the last stage: what the training is for."""
        return self.stages[-1].members[0]

    def at(self, progress: float, number: int) -> TextObjective[Any]:
        """The objective of a micro-batch, by its number, when this share of the training is done."""
        stage = stage_at(self.stages, progress)
        place = (number + 1) * GOLDEN % 1 * sum(stage.weights)
        for objective, share in zip(stage.members, stage.weights, strict=True):
            if place < share:
                return objective
            place -= share
        return stage.members[-1]


def parse_curriculum(line: str) -> Curriculum:
    """A curriculum as a person writes it.

    >>> [parse_curriculum("mlm").at(progress, 0).name for progress in (0, 0.5, 1)]
    ['mlm', 'mlm', 'mlm']
    >>> str(parse_curriculum("clm until 0.25; mlm 0.7, clm 0.3"))
    'causal until 0.25; mlm 0.7, causal 0.3'
    """
    try:
        stages = tuple(stage.of(_objective) for stage in parse_stages(line))
    except Misread as error:
        _misread(error.text)
    if not all(stage.sound and min(stage.weights) > 0 for stage in stages):
        _misread(line)
    if not ends_ascend(stages):
        raise BadInput(f"objective {line!r}: stages end at ascending shares of the training, the last without 'until'")
    curriculum = Curriculum(stages)
    if (
        len({type(objective).learner for objective in curriculum.objectives}) > 1
    ):  # what one of them adds, another cannot use
        apart = " and ".join(objective.name for objective in curriculum.objectives)
        raise BadInput(f"objective {line!r}: {apart} do not train the same model: take one of them")
    return curriculum


def objective_named(name: str) -> TextObjective[Any]:
    """The objective of a name, its own or one that it is published by."""
    if name not in NAMES:
        names = [" or ".join((objective.name, *objective.also)) for objective in OBJECTIVES.values()]
        near = did_you_mean(name, NAMES)
        raise BadInput(f"no objective is called {name!r}: {near or 'there are ' + ', '.join(names)}")
    return NAMES[name]


def _objective(words: Words) -> TextObjective[Any]:
    if len(words) > 1:
        raise Misread(" ".join(words))
    return objective_named(words[0])


def _misread(text: str) -> NoReturn:
    raise BadInput(
        f"objective {text.strip()!r} is not understood: write 'mlm', 'mlm 0.7, causal 0.3' or 'causal until 0.5; mlm'"
    )
