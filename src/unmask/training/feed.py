"""What each step of a run trains on: a function of the step's number and nothing else.

In: a split's stream and the settings. Out: the micro-batches of step k. Blocks are numbered through all epochs, so
going on after a stop, on any number of processes, needs one integer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from unmask.corruption.lexicon import Lexicon, mark
from unmask.corruption.plan import Plan as Hiding
from unmask.corruption.plan import corrupt_by
from unmask.corruption.rows import joined
from unmask.objectives.objective import Objective
from unmask.objectives.table import Curriculum
from unmask.records import Batch, Blocks, Corrupted, Integers, Vocabulary
from unmask.tokens.collate import collate
from unmask.tokens.pack import AROUND, Pieces, Plan, Stream, cut, grouped, packed, read_blocks
from unmask.tokens.spans import Spans, mark_blocks


@dataclass(frozen=True)
class Lesson:
    """A micro-batch: its number in the whole run, what it is to teach, and the examples."""

    number: int
    objective: Objective
    batch: Batch


@dataclass(frozen=True, eq=False)
class Feed:
    """The micro-batches of every step."""

    stream: Stream
    vocabulary: Vocabulary
    hiding: Hiding | None
    curriculum: Curriculum
    length: int
    rows: int  # blocks in a step
    micro: int  # blocks in a micro-batch
    steps: int  # of the whole run: how far it is decides the stage and the rate
    seed: int
    marks: Mapping[str, Lexicon] = field(default_factory=dict)  # phrases that are hidden whole, by the kind of span
    spans: Mapping[str, Spans] = field(default_factory=dict)  # the same as the data marks them
    fresh: bool = True  # another packing and other hidden tokens in each epoch
    packs: bool = True  # several documents in a block; else each in its own, blocks of like length together

    @property
    def micros(self) -> int:
        """How many micro-batches a step has."""
        return -(-self.rows // self.micro)

    def objectives(self, step: int) -> list[Objective]:
        """What each micro-batch of a step is to teach."""
        return [self.curriculum.at(self._progress(step), step * self.micros + nth) for nth in range(self.micros)]

    def lessons(self, step: int, which: Iterable[int] | None = None) -> list[Lesson]:
        """The micro-batches of a step, or some of them."""
        objectives = self.objectives(step)
        return [self._lesson(step, nth, objectives[nth]) for nth in (range(self.micros) if which is None else which)]

    def _lesson(self, step: int, nth: int, objective: Objective) -> Lesson:
        begin = step * self.rows + nth * self.micro
        hiding = self.hiding if objective.policies else None
        batch = self._batch(begin, min(begin + self.micro, (step + 1) * self.rows), hiding, self._progress(step))
        return Lesson(step * self.micros + nth, objective, batch)

    def _progress(self, step: int) -> float:
        return step / max(1, self.steps - 1)

    def _batch(self, begin: int, end: int, hiding: Hiding | None, progress: float) -> Batch:
        """Blocks `begin` to `end` of the whole run; they may lie in two epochs or, on little text, in many."""
        parts: list[tuple[Blocks, Corrupted]] = []
        while begin < end:
            epoch, number = divmod(begin, self.per_epoch)
            count = min(end - begin, self.per_epoch - number)
            numbers = np.arange(number, number + count)
            blocks = self._blocks(self.plan(epoch), numbers)
            parts.append((blocks, self._hide(blocks, hiding, progress)))
            begin += count
        return collate(*(parts[0] if len(parts) == 1 else _stacked(parts, self.vocabulary.pad)))

    def _blocks(self, plan: Plan, numbers: Integers) -> Blocks:
        return mark_blocks(read_blocks(self.stream, plan, numbers, self.vocabulary), plan, self.spans)

    def _hide(self, blocks: Blocks, hiding: Hiding | None, progress: float) -> Corrupted:
        for kind, lexicon in self.marks.items():
            blocks = mark(blocks, lexicon, self.vocabulary, kind=kind)
        return corrupt_by(blocks, hiding, self.vocabulary, seed=self.seed, progress=progress)

    def plan(self, epoch: int) -> Plan:
        """The packing of an epoch, from whose number all draws come too."""
        return _plan(self, epoch if self.fresh else 0)

    @cached_property
    def per_epoch(self) -> int:
        """How many blocks an epoch has: the same in each, for it depends on the lengths of the pieces alone."""
        return self.plan(0).blocks

    @cached_property
    def pieces(self) -> Pieces:
        """The documents, cut to the block length."""
        return cut(self.stream.ends, self.length - AROUND)


@lru_cache(maxsize=2)  # a step may lie in two epochs
def _plan(feed: Feed, epoch: int) -> Plan:
    if feed.packs:
        return packed(feed.pieces, feed.length, seed=feed.seed, epoch=epoch)
    begun = epoch * len(feed.pieces.starts) % feed.rows % feed.micro
    return grouped(feed.pieces, feed.length, rows=feed.micro, offset=begun, seed=feed.seed, epoch=epoch)


def _stacked(parts: list[tuple[Blocks, Corrupted]], pad: int) -> tuple[Blocks, Corrupted]:
    """Blocks of several epochs as one, rows padded to the longest."""
    width = max(blocks.ids.shape[1] for blocks, _ in parts)

    def wide(rows: np.ndarray, filler: int = 0) -> np.ndarray:
        return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=filler)

    def widened(some: Corrupted) -> Corrupted:
        kept = {name: rows for name in ("order", "documents") if (rows := getattr(some, name)) is not None}
        rows = {name: wide(rows) for name, rows in kept.items()}
        return replace(some, ids=wide(some.ids, pad), hidden=wide(some.hidden), **rows)

    blocks = Blocks(
        ids=np.concatenate([wide(b.ids, pad) for b, _ in parts]),
        word_starts=np.concatenate([wide(b.word_starts) for b, _ in parts]),
        documents=np.concatenate([wide(b.documents) for b, _ in parts]),
        numbers=np.concatenate([b.numbers for b, _ in parts]),
        epoch=parts[0][0].epoch,
    )
    return blocks, joined([widened(some) for _, some in parts])
