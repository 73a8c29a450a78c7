"""Domain text with a little general text among it: what each step of an adaptation learns from.

In: blocks of both by number, and the share of general ones. Out: the micro-batches of step k, a function of k. General
blocks are spread evenly over the steps: of 32 blocks with a share of 0.05 a step has one or two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from unmask.objectives.curriculum import Curriculum
from unmask.pretraining.batches import BlockRange, MaskedBatches
from unmask.records import Batch
from unmask.training.job import PlannedBatch
from unmask.training.timetable import Timetable


class TextRange(NamedTuple):
    """Blocks of one of both texts."""

    general: bool
    blocks: BlockRange


@dataclass(frozen=True, eq=False, kw_only=True)
class ReplayedBatches:
    """Blocks of the domain and of general text."""

    domain: MaskedBatches
    general: MaskedBatches | None

    def batch(self, request: TextRange) -> Batch:
        """The batch of some blocks of one text."""
        text = self.general if request.general else self.domain
        assert text is not None
        return text.batch(request.blocks)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReplayFeed:
    """The micro-batches of every step: those of the domain, and one of general blocks where the step has some."""

    preparer: ReplayedBatches
    curriculum: Curriculum
    timetable: Timetable
    batch_size: int
    micro_batch: int
    share: float  # of the blocks that are general
    seed: int

    @property
    def micro_batches(self) -> int:
        """How many micro-batches a step has at the most."""
        return -(-self.batch_size // self.micro_batch) + (self.share > 0)

    @property
    def micro_batch_rows(self) -> int:
        """How many blocks a micro-batch has at the most."""
        return self.micro_batch

    def counts(self, step: int) -> tuple[int, int]:
        """The first general block of a step, and how many it has.

        Before step k there were ⌊k · share · blocks⌋ of them.
        """
        before, after = (int(each * self.share * self.batch_size + 1e-9) for each in (step, step + 1))
        return before, after - before

    def plan_step(self, step: int, indices: Iterable[int] | None = None) -> Iterator[PlannedBatch]:
        """The micro-batches of a step, or some of them."""
        first, general = self.counts(step)
        begin = step * self.batch_size - first  # domain blocks before this step
        domain, progress = self.batch_size - general, self.timetable.progress(step)
        last = self.micro_batches - 1 if self.share > 0 else None
        for nth in range(self.micro_batches) if indices is None else indices:
            number = step * self.micro_batches + nth
            if nth == last:
                blocks, is_general = (first, first + general), True
            else:
                cut = min(nth * self.micro_batch, domain)
                blocks, is_general = (begin + cut, begin + min(cut + self.micro_batch, domain)), False
            if blocks[0] < blocks[1]:
                objective = self.curriculum.at(progress, number)
                request = TextRange(is_general, BlockRange(*blocks, objective.hides, progress))
                yield PlannedBatch(number, objective, request)

    def rows(self, step: int) -> list[int]:
        """The numbers, in their epoch, of the domain's blocks of a step."""
        first, general = self.counts(step)
        begin = step * self.batch_size - first
        per_epoch = self.preparer.domain.per_epoch
        return [number % per_epoch for number in range(begin, begin + self.batch_size - general)]

    def figures(self, tokens: int, predictions: int) -> dict[str, float]:
        """The share of the text that was hidden."""
        return {"hidden_rate": predictions / max(1, tokens)}
