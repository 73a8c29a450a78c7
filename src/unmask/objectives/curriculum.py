"""Every objective by its name, and which of them a step of the training follows.

    "mlm"                      one
    "mlm 0.7, causal 0.3"      mixed by micro-batch, with these shares
    "causal until 0.5; mlm"    one after the other

In: such a line. Out: the objective of any micro-batch, a function of its number and of how far the training is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from unmask.errors import BadInput
from unmask.objectives.causal import Causal
from unmask.objectives.diffusion import Diffusion
from unmask.objectives.mlm import MLM
from unmask.objectives.objective import Objective
from unmask.objectives.permuted import Permuted
from unmask.objectives.replaced import Disentangled, Replaced
from unmask.objectives.seq2seq import Seq2Seq
from unmask.objectives.spans import Spans

OBJECTIVES: dict[str, Objective] = {
    each.name: each
    for each in (MLM(), Replaced(), Disentangled(), Spans(), Causal(), Diffusion(), Permuted(), Seq2Seq())
}
GOLDEN = (5**0.5 - 1) / 2  # multiples of it, less their whole part, fill the unit interval evenly


@dataclass(frozen=True)
class Stage:
    """Objectives with their shares, until a share of the training is done."""

    objectives: tuple[Objective, ...]
    shares: tuple[float, ...]
    until: float = 1.0


@dataclass(frozen=True)
class Curriculum:
    """Which objective when."""

    stages: tuple[Stage, ...]

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """All of them, the last stage's first: it decides what is exported."""
        return tuple(dict.fromkeys(each for stage in reversed(self.stages) for each in stage.objectives))

    @property
    def main(self) -> Objective:
        """The first of the last stage: what the training is for."""
        return self.stages[-1].objectives[0]

    def at(self, progress: float, number: int) -> Objective:
        """The objective of a micro-batch, by its number, when this share of the training is done."""
        stage = next((stage for stage in self.stages if progress < stage.until), self.stages[-1])
        place = (number + 1) * GOLDEN % 1 * sum(stage.shares)
        for objective, share in zip(stage.objectives, stage.shares, strict=True):
            if place < share:
                return objective
            place -= share
        return stage.objectives[-1]


def parse(line: str) -> Curriculum:
    """A curriculum as a person writes it.

    >>> [parse("mlm").at(progress, 0).name for progress in (0, 0.5, 1)]
    ['mlm', 'mlm', 'mlm']
    """
    stages = []
    for text in filter(str.strip, line.split(";")):
        mixture, _, until = text.partition(" until ")
        words = [part.split() for part in mixture.split(",")]
        if not all(1 <= len(part) <= 2 for part in words):
            _misread(text)
        shares = tuple(_number(part[1] if len(part) > 1 else "1", text) for part in words)
        stages.append(Stage(tuple(named(part[0]) for part in words), shares, _number(until or "1", text)))
    ends = [stage.until for stage in stages]
    if not ends or ends != sorted(set(ends)) or ends[-1] != 1:
        raise BadInput(f"objective {line!r}: stages end at ascending shares of the training, the last without 'until'")
    curriculum = Curriculum(tuple(stages))
    if len({type(each).learner for each in curriculum.objectives}) > 1:  # what one of them adds, another cannot use
        apart = " and ".join(each.name for each in curriculum.objectives)
        raise BadInput(f"objective {line!r}: {apart} do not train the same model: take one of them")
    return curriculum


def named(name: str) -> Objective:
    """The objective of a name."""
    if name not in OBJECTIVES:
        raise BadInput(f"no objective is called {name!r}: there are {', '.join(OBJECTIVES)}")
    return OBJECTIVES[name]


def _number(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        _misread(where)
    if not 0 < number < float("inf"):
        _misread(where)
    return number


def _misread(where: str) -> NoReturn:
    raise BadInput(
        f"objective {where.strip()!r} is not understood: write 'mlm', 'mlm 0.7, causal 0.3' or 'causal until 0.5; mlm'"
    )
