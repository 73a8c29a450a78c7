"""What each step of a run trains on: a function of the step's number and nothing else.

In: examples by number, and the objectives. Out: the micro-batches of step k, on any number of processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from unmask.objectives.curriculum import Curriculum
from unmask.objectives.objective import Objective
from unmask.objectives.text import TextObjective
from unmask.pretraining.batches import Examples, Stretch
from unmask.records import Batch


@dataclass(frozen=True)
class Lesson:
    """A micro-batch: its number in the whole run, what it is to teach, and the examples."""

    number: int
    objective: Objective
    batch: Batch


@dataclass(frozen=True, eq=False, kw_only=True)
class Feed(Examples):
    """The micro-batches of every step."""

    curriculum: Curriculum
    steps: int  # of the whole run: how far it is decides the stage and the rate

    @property
    def micros(self) -> int:
        """How many micro-batches a step has."""
        return -(-self.rows // self.micro)

    def objectives(self, step: int) -> list[TextObjective]:
        """What each micro-batch of a step is to teach."""
        return [self.curriculum.at(self._progress(step), step * self.micros + nth) for nth in range(self.micros)]

    def lessons(self, step: int, which: Iterable[int] | None = None) -> list[Lesson]:
        """The micro-batches of a step, or some of them."""
        return [
            Lesson(number, objective, self.batch(stretch)) for number, objective, stretch in self.planned(step, which)
        ]

    def planned(self, step: int, which: Iterable[int] | None = None) -> Iterator[tuple[int, TextObjective, Stretch]]:
        """The same micro-batches before they are prepared: their numbers, their objectives and their blocks."""
        objectives = self.objectives(step)
        for nth in range(self.micros) if which is None else which:
            begin = step * self.rows + nth * self.micro
            end = min(begin + self.micro, (step + 1) * self.rows)
            stretch = Stretch(begin, end, objectives[nth].hides, self._progress(step))
            yield step * self.micros + nth, objectives[nth], stretch

    def blocks(self, step: int) -> list[int]:
        """The numbers, in their epoch, of all blocks of a step."""
        return [number % self.per_epoch for number in range(step * self.rows, (step + 1) * self.rows)]

    def _progress(self, step: int) -> float:
        return step / max(1, self.steps - 1)
