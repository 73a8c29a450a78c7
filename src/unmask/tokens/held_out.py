"""The held-out examples that every model is measured on.

In: a stream of held-out tokens. Out: batches with the same tokens hidden, whatever the model and the batch size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unmask.corruption.schedule import MaskingSchedule, corrupt_at, parse_schedule
from unmask.records import Batch, Blocks, Corrupted, TokenStream, Vocabulary
from unmask.tokens.bucket import batches_by_length
from unmask.tokens.collate import collate
from unmask.tokens.pack import AROUND, Packing, cut_documents, one_per_block, read_blocks

HELD_OUT_LENGTH = 128
HELD_OUT_RATE = 0.15


@dataclass(frozen=True)
class HeldOut:
    """Examples to measure on: the text as it is, as the model sees it, and as a batch."""

    blocks: Blocks
    corrupted: Corrupted
    batch: Batch


@dataclass(frozen=True)
class HeldOutSet:
    """The held-out examples of a split: fixed by the text, the tokenizer, the length, the rate and the seed.

    Each piece of a document is alone in its row, so any masked language model can be measured, and its hidden
    positions depend on the piece's number, so batches of any size give the same examples.
    """

    stream: TokenStream
    vocabulary: Vocabulary
    packing: Packing
    masking: MaskingSchedule | None
    seed: int = 0

    @classmethod
    def of(
        cls,
        stream: TokenStream,
        vocabulary: Vocabulary,
        *,
        length: int = HELD_OUT_LENGTH,
        policy: str | None = "token",
        rate: float | None = HELD_OUT_RATE,
        seed: int = 0,
    ) -> HeldOutSet:
        """The examples of a stream: under BERT's policy, under another, or with nothing hidden."""
        packing = one_per_block(cut_documents(stream.ends, length - AROUND), length)
        return cls(stream, vocabulary, packing, None if policy is None else parse_schedule(policy, rate), seed)

    @property
    def tokens(self) -> int:
        """How many tokens of text there are."""
        return int(self.packing.pieces.lengths.sum())

    def batches(self, tokens: int = 8192, limit: int | None = None) -> Iterator[HeldOut]:
        """Batches of about `tokens` tokens, rows of like length together; `limit` takes an even sample."""
        lengths = self.packing.pieces.lengths
        numbers = np.arange(len(lengths))
        if limit is not None and lengths.sum() > limit:
            numbers = numbers[:: -(-int(lengths.sum()) // limit)]
        for rows in batches_by_length(lengths[numbers] + AROUND, tokens=tokens):
            blocks = read_blocks(self.stream, self.packing, numbers[rows], self.vocabulary)
            corrupted = corrupt_at(blocks, self.masking, self.vocabulary, seed=self.seed, progress=1.0)
            yield HeldOut(blocks, corrupted, collate(blocks, corrupted))
