"""The batches of a run, by the numbers of their blocks: what processes that prepare ahead compute.

In: a split's stream and the settings. Out: the batch of any range of blocks, a function of their numbers. Blocks are
numbered through all epochs, so going on after a stop needs one integer. Neither torch nor a tokenizer is needed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from unmask.corruption.rows import join_examples
from unmask.corruption.schedule import MaskingSchedule, corrupt_at
from unmask.pretraining.lengths import as_many_tokens
from unmask.records import Batch, Blocks, Corrupted, Integers, TokenStream, Vocabulary
from unmask.tokens.collate import collate
from unmask.tokens.pack import AROUND, Packing, Pieces, cut_documents, group_by_length, pack_pieces, read_blocks
from unmask.tokens.sample import Sampling, sample_pieces
from unmask.tokens.spans.lexicon import Lexicon, mark_phrases
from unmask.tokens.spans.marked import Spans, mark_blocks

ROUND = 16  # rows that are not packed have any length, and oneDNN keeps a kernel for each: these are few


class BlockRange(NamedTuple):
    """Blocks of the whole run that are prepared together."""

    begin: int
    end: int
    hides: bool  # whether something is hidden, or the text left as it is
    progress: float  # how much of the training is done: it decides the stage and the rate
    length: int | None = None  # of the blocks, each with packings of its own, if not the usual


@dataclass(frozen=True, eq=False, kw_only=True)
class MaskedBatches:
    """The blocks of every epoch, with something hidden."""

    stream: TokenStream
    vocabulary: Vocabulary
    masking: MaskingSchedule | None
    length: int
    batch_size: int  # blocks in a step
    micro_batch: int  # blocks in a micro-batch
    seed: int
    marks: Mapping[str, Lexicon] = field(default_factory=dict)  # phrases that are hidden whole, by the kind of span
    spans: Mapping[str, Spans] = field(default_factory=dict)  # the same as the data marks them
    redraw: bool = True  # another packing and other hidden tokens in each epoch
    packs: bool = True  # several documents in a block; else each in its own, blocks of like length together
    sampling: Sampling | None = None  # documents left out and repeated, so that their groups are more alike in size

    def batch(self, blocks: BlockRange) -> Batch:
        """The batch of some blocks; they may lie in two epochs or, on little text, in many."""
        begin, end, hides, progress, length = blocks
        if length is not None and length != self.length:
            return self.at_length(length).batch(blocks)
        masking = self.masking if hides else None
        by_epoch: list[tuple[Blocks, Corrupted]] = []
        while begin < end:
            epoch, number = divmod(begin, self.per_epoch)
            count = min(end - begin, self.per_epoch - number)
            rows = self._blocks(self.plan(epoch), np.arange(number, number + count))
            by_epoch.append((rows, self._hide(rows, masking, progress)))
            begin += count
        return collate(*(by_epoch[0] if len(by_epoch) == 1 else _join_epochs(by_epoch, self.vocabulary.pad)))

    def _blocks(self, plan: Packing, numbers: Integers) -> Blocks:
        blocks = read_blocks(self.stream, plan, numbers, self.vocabulary, multiple=1 if self.packs else ROUND)
        return mark_blocks(blocks, plan, self.spans)

    def _hide(self, blocks: Blocks, masking: MaskingSchedule | None, progress: float) -> Corrupted:
        for kind, lexicon in self.marks.items():
            blocks = mark_phrases(blocks, lexicon, self.vocabulary, kind=kind)
        return corrupt_at(blocks, masking, self.vocabulary, seed=self.seed, progress=progress)

    def plan(self, epoch: int) -> Packing:
        """The packing of an epoch, from whose number all draws come too."""
        return _plan(self, epoch if self.redraw else 0)

    def at_length(self, length: int) -> MaskedBatches:
        """The same text in blocks of another length."""
        return self if length == self.length else _at_length(self, length)

    @cached_property
    def per_epoch(self) -> int:
        """How many blocks an epoch has: the same in each, for it depends on the lengths of the pieces alone."""
        return self.plan(0).blocks

    @cached_property
    def pieces(self) -> Pieces:
        """The documents, cut to the block length."""
        return cut_documents(self.stream.ends, self.length - AROUND)


@lru_cache(maxsize=4)
def _at_length(batches: MaskedBatches, length: int) -> MaskedBatches:
    sizes = batches.batch_size, batches.micro_batch
    batch_size, micro_batch = (as_many_tokens(rows, batches.length, length) for rows in sizes)
    return replace(batches, length=length, batch_size=batch_size, micro_batch=micro_batch)


@lru_cache(maxsize=2)  # a step may lie in two epochs
def _plan(batches: MaskedBatches, epoch: int) -> Packing:
    pieces, length, seed = batches.pieces, batches.length, batches.seed
    if batches.sampling is not None:
        pieces = sample_pieces(pieces, batches.sampling, seed=seed, epoch=epoch)
    if batches.packs:
        return pack_pieces(pieces, length, seed=seed, epoch=epoch)
    offset = epoch * len(pieces.starts) % batches.batch_size % batches.micro_batch
    return group_by_length(pieces, length, rows=batches.micro_batch, offset=offset, seed=seed, epoch=epoch)


def _join_epochs(by_epoch: list[tuple[Blocks, Corrupted]], pad: int) -> tuple[Blocks, Corrupted]:
    """Blocks of several epochs as one, rows padded to the longest."""
    width = max(blocks.ids.shape[1] for blocks, _ in by_epoch)

    def wide(rows: np.ndarray, filler: int = 0) -> np.ndarray:
        return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=filler)

    def widen(examples: Corrupted) -> Corrupted:
        optional = {name: rows for name in ("order", "documents") if (rows := getattr(examples, name)) is not None}
        rows = {name: wide(rows) for name, rows in optional.items()}
        return replace(examples, ids=wide(examples.ids, pad), hidden=wide(examples.hidden), **rows)

    blocks = Blocks(
        ids=np.concatenate([wide(b.ids, pad) for b, _ in by_epoch]),
        word_starts=np.concatenate([wide(b.word_starts) for b, _ in by_epoch]),
        documents=np.concatenate([wide(b.documents) for b, _ in by_epoch]),
        numbers=np.concatenate([b.numbers for b, _ in by_epoch]),
        epoch=by_epoch[0][0].epoch,
    )
    return blocks, join_examples([widen(examples) for _, examples in by_epoch])
