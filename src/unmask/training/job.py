"""The seam between the loop and what it trains: a job, its source and its validation.

Pretraining, adapting and tuning each make one `Job`; the loop, checkpoints, signals, faults, many processes, precision,
budgets, progress and reports take what they need from it, and know nothing of text, masks or vocabularies.

    job.build(fresh) ─▶ learner                       before step 0: fresh weights, or those of a directory
    job.source(timetable) ─▶ step k ─▶ micro-batches  what step k learns from: a function of k, whoever computes it
    job.validation(learner) ─▶ measurements           how good it is, by which figure, and which way is better
    job.export(learner, finished)                     what is there in the end
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

from torch.nn import Module

from unmask.objectives.objective import AnyObjective
from unmask.results import FigureTitle
from unmask.training.machine.distributed import World
from unmask.training.optimizer import Optimizing
from unmask.training.timetable import Timetable

Request = Any  # what a source asks its preparer for: small, picklable and comparable, a range of blocks say


class TrainingBatch(Protocol):
    """Examples that are computed together, and that can be computed in parts where memory is short."""

    @property
    def tokens(self) -> int:
        """How much there is to learn from: tokens of text or, where there is no text, rows."""
        ...

    @property
    def predictions(self) -> int:
        """How many things are to be predicted."""
        ...

    def cut(self, splits: int) -> Iterator[Self]:
        """The same in so many parts, or in as many as there are rows."""
        ...


class Preparer(Protocol):
    """Makes the batch of a request: picklable and without torch, so that other processes can do it ahead."""

    def batch(self, request: Request) -> Any:
        """The batch, a function of the request alone."""
        ...


@dataclass(frozen=True)
class PlannedBatch:
    """A micro-batch before it is prepared."""

    number: int  # in the whole run: what its dropout is drawn from
    objective: AnyObjective
    request: Request


@dataclass(frozen=True)
class MicroBatch:
    """The unit of work: its number in the whole run, what it is to teach, and the examples."""

    number: int
    objective: AnyObjective
    batch: Any


class Source(Protocol):
    """What each step learns from: a function of the step's number, cut into micro-batches that processes share out."""

    @property
    def timetable(self) -> Timetable:
        """How many steps there are, and how far the run is at each."""
        ...

    @property
    def seed(self) -> int:
        """What all draws come from."""
        ...

    @property
    def preparer(self) -> Preparer:
        """What makes the batches."""
        ...

    @property
    def micro_batches(self) -> int:
        """How many micro-batches a step has."""
        ...

    @property
    def micro_batch_rows(self) -> int:
        """How many rows a micro-batch has at the most: in so many parts it can be computed."""
        ...

    def plan_step(self, step: int, indices: Iterable[int] | None = None) -> Iterator[PlannedBatch]:
        """The micro-batches of a step, or some of them, before they are prepared."""
        ...

    def rows(self, step: int) -> list[int]:
        """The numbers of all rows of a step, told of a step that was left out."""
        ...

    def figures(self, tokens: int, predictions: int) -> dict[str, float]:
        """What there is to say of a step beyond its loss, from how much was learnt from and predicted."""
        ...


def micro_batches_of(source: Source, step: int, indices: Iterable[int] | None = None) -> list[MicroBatch]:
    """The micro-batches of a step, or some of them, prepared here."""
    return [
        MicroBatch(planned_batch.number, planned_batch.objective, source.preparer.batch(planned_batch.request))
        for planned_batch in source.plan_step(step, indices)
    ]


class Build(Protocol):
    """Makes the learner as it is before step 0."""

    def __call__(self, *, fresh: bool = True) -> Module:
        """The learner; with weights that mean nothing where it is not to be fresh, because others will be put in."""
        ...


class Validator(Protocol):
    """How a learner is measured; what it gives has the job's headline among its figures."""

    @property
    def tokens(self) -> int:
        """How much a measurement on everything takes."""
        ...

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        """Figures by name, on about `limit` tokens or on everything; the processes share the work."""
        ...


@runtime_checkable
class EndingValidator(Validator, Protocol):
    """A validation that can end a run before its budget does; it remembers what it has to, and checkpoints keep it."""

    def why_end(self) -> str | None:
        """Why the run is to come to its end now, in words; none where it is to go on. Alike on every process."""
        ...

    @property
    def state(self) -> dict[str, Any]:
        """What it remembers of the measurements so far, as JSON."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Remember what was kept; `ValueError`, `KeyError` or `TypeError` where it cannot be that."""
        ...


class ValidationSample(NamedTuple):
    """How much of what is held out a validation on the way is measured on."""

    share: float  # tokens for each token that the run is trained on
    fewest: int
    most: int

    def tokens(self, trained: int) -> int:
        """Of a run that is trained on so many."""
        return min(self.most, max(self.fewest, int(trained * self.share)))


@dataclass(frozen=True)
class FinishedRun:
    """A run that has taken its last step."""

    path: Path
    description: Mapping[str, Any]
    parameters: int
    step: int  # of the moment that is exported: the last, or the best
    progress: float  # how far the run was at that step, from 0 to 1
    steps: int
    tokens: int
    seconds: float
    figures: Mapping[str, float]  # on everything that is held out, of the moment that is exported
    ended: str | None = None  # why it ended before its budget did


@dataclass(frozen=True, kw_only=True)
class Job:
    """All that a run has to know."""

    kind: str  # the verb that began it
    name: str  # of what is trained
    seed: int
    settings: Mapping[str, Any]  # what a resumed run must agree with, field by field
    figures: tuple[FigureTitle, ...]  # that people look at; the first is the headline, by which a moment is the best
    build: Build  # the learner before step 0
    source: Callable[[Timetable], Source]  # for so many steps
    validation: Callable[[Module], Validator]
    export: Callable[[Module, FinishedRun], None]  # writes `model/` in the run directory, and what belongs beside it
    optimizing: Optimizing
    tokens_a_step: int
    steps_an_epoch: float
    micro_batches: int  # in a step
    stage_ends: tuple[float, ...] = (1.0,)  # shares of the run up to which steps take alike long
    sample: ValidationSample | None = None  # that is measured on the way; if none, the usual
    write_shape: Callable[[Module, Path], None] | None = None  # what checkpoints are asked with while it trains
    skip_spikes: bool = False
    flags: Mapping[str, str] = field(default_factory=dict)  # that the settings are asked for by, by their dotted names
    places: Mapping[str, str] = field(default_factory=dict)  # where it finds what it is trained on, which may move
    facts: Mapping[str, str] = field(default_factory=dict)  # what is trained on what, for people
    uses: tuple[str, ...] = ()  # what the model is put to use by, with the placeholders of `runs.commands`
    example: str | None = None  # a text of the user's own to try it on

    @property
    def headline(self) -> FigureTitle:
        """The figure that counts."""
        return self.figures[0]
