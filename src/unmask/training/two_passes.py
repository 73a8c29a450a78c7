"""A step whose examples are compared with each other, in two passes: the same however it is cut up, and among how many.

In: a learner and this process's micro-batches of a step whose objective couples them. Out: the loss of the whole step,
and the gradients of each of its parts.

    first pass     every part is represented without gradients, and every process gets the representations of all
    joint loss     computed by every process alike; its gradients at the representations
    second pass    every part is represented again, from the same draws of dropout, and takes its gradients on

Where the whole step is one part, one pass is enough. Where memory runs out in the second pass, the rest of this one
step is computed in smaller parts, whose dropout is drawn anew; both passes of the steps after it are in those parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, distributed

from unmask.objectives.coupled import CoupledObjective
from unmask.objectives.objective import AnyObjective, Outcome
from unmask.training.job import MicroBatch
from unmask.training.machine.distributed import World
from unmask.training.precision import Precision
from unmask.training.sums import Sums

SeedOf = Callable[[MicroBatch, int], int]  # what the dropout of a part of a micro-batch is drawn from


class TwoPasses:
    """The two passes of one step, seen from one process."""

    def __init__(
        self,
        learner: torch.nn.Module,
        objective: CoupledObjective[Any, Any],
        seed_of: SeedOf,
        precision: Precision,
        *,
        alone: bool,
    ) -> None:
        self.learner, self.objective, self.seed_of, self.precision = learner, objective, seed_of, precision
        self.alone = alone  # whether a micro-batch is the whole step
        self.whole: Tensor | None = None  # the representations with their gradients, where one part was everything
        self.gradients: dict[int, Tensor] = {}  # at the representations, by the number of the micro-batch

    def represent(self, micro_batches: Sequence[MicroBatch], splits: int) -> dict[int, Tensor]:
        """The first pass: by its number, the representations of each micro-batch."""
        rows = {}
        for micro_batch in micro_batches:
            parts = list(micro_batch.batch.cut(splits))
            with torch.set_grad_enabled(self.alone and len(parts) == 1):
                made = [self._represent(micro_batch, nth, part) for nth, part in enumerate(parts)]
            rows[micro_batch.number] = torch.cat(made)
            self.whole = rows[micro_batch.number] if rows[micro_batch.number].requires_grad else None
        return rows

    def compare(
        self,
        rows: dict[int, Tensor],
        micro_batches: Sequence[MicroBatch],
        numbers: Sequence[int],
        sums: Sums,
        world: World,
    ) -> Outcome:
        """The loss of the whole step, whose micro-batches have these numbers, and its gradients for ours."""
        targets = {each.number: torch.from_numpy(self.objective.targets(each.batch)) for each in micro_batches}
        every_row = gather_rows({number: each.detach() for number, each in rows.items()}, numbers, world)
        every_target = gather_rows(targets, numbers, world)
        joint = torch.cat(every_row).requires_grad_()
        with torch.enable_grad():
            outcome = self.objective.joint_outcome(joint, torch.cat(every_target).to(joint.device))
            (gradient,) = torch.autograd.grad(sums.loss_of(self.objective, outcome), joint)
        pieces = gradient.split([len(each) for each in every_row])
        self.gradients = {number: piece for number, piece in zip(numbers, pieces, strict=True) if number in rows}
        return outcome

    def propagate(
        self, micro_batches: Sequence[MicroBatch], before_last: Callable[[], None] | None, splits: int
    ) -> list[tuple[AnyObjective, Outcome]]:
        """The second pass: the gradients of these micro-batches, added to those of the learner."""
        chunks = [chunk for micro_batch in micro_batches for chunk in self._chunks(micro_batch, splits)]
        for remaining, (micro_batch, nth, part, gradients) in zip(reversed(range(len(chunks))), chunks, strict=True):
            if self.whole is not None and splits == 1:
                made, self.whole = self.whole, None
            else:
                made = self._represent(micro_batch, nth, part)
            if before_last and not remaining:
                before_last()
            self.precision.scale_loss((made * gradients.to(made.dtype)).sum()).backward()
        return []

    def _chunks(self, micro_batch: MicroBatch, splits: int) -> Iterator[tuple[MicroBatch, int, Any, Tensor]]:
        """The parts of a micro-batch with the gradients at their representations."""
        begin = 0
        for nth, part in enumerate(micro_batch.batch.cut(splits)):
            end = begin + len(self.objective.targets(part))
            yield micro_batch, nth, part, self.gradients[micro_batch.number][begin:end]
            begin = end

    def _represent(self, micro_batch: MicroBatch, nth: int, part: Any) -> Tensor:
        torch.manual_seed(self.seed_of(micro_batch, nth))
        with self.precision.casting():
            return self.objective.represent(self.learner, part)


def gather_rows(rows: dict[int, Tensor], numbers: Sequence[int], world: World) -> list[Tensor]:
    """The rows of every micro-batch, in the order of their numbers, whoever has them.

    Each process puts its rows where they belong among zeros, and the sum over processes has them all, to the bit.
    """
    if world.size == 1:
        return [rows[number] for number in numbers]
    sizes = [int(size) for size in world.total(*(len(rows[number]) if number in rows else 0 for number in numbers))]
    (sample, *_) = rows.values()
    total = sample.new_zeros(sum(sizes), sample.shape[1])
    for number, place in zip(numbers, total.split(sizes), strict=True):
        if number in rows:
            place.copy_(rows[number])
    distributed.all_reduce(total)
    return list(total.split(sizes))
