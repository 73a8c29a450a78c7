"""Texts inside patterns as the rows of a masked language model: one row, or one for each window, of every pattern.

In: a tokenizer, patterns and texts. Out: `TextRows`, in which the rows of all patterns of a text are its own, so that
the mean over its rows is the mean over patterns.

    [CLS] the whole text  It was [MASK] . [SEP]      [CLS] the whole text  This is about [MASK] . [SEP]

A text cannot spell the mask: the masks of a row are the pattern's. A long text is read in windows, in each of which the
pattern is whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.records import Ids
from unmask.tasks.few.patterns import BLANK, PAIR, SLOTS, TEXT
from unmask.tasks.rows import AROUND, Frame, RowReader
from unmask.tokens.tokenizer.encode import encode


@dataclass(frozen=True)
class PatternFrame(Frame):
    """What stands around the texts of a row: a pattern, between what opens a row and what closes it."""

    parts: tuple[Ids | int, ...] = ()  # tokens, or which text stands there

    @property
    def size(self) -> int:
        """How many tokens it takes."""
        inside = sum(len(part) for part in self.parts if not isinstance(part, int))
        return len(self.before.ids) + inside + len(self.after.ids)

    def row(self, *texts: Ids) -> tuple[Ids, Ids]:
        """A row of one text or of two, and its types: it is one sentence."""
        inside = [texts[part] if isinstance(part, int) else part for part in self.parts]
        ends = [np.array(special.ids, np.int32) for special in (self.before, self.after)]
        ids = np.concatenate([ends[0], *inside, ends[1]]).astype(np.int32)
        return ids, np.zeros(len(ids), np.int32)


class PatternReader(RowReader):
    """A tokenizer that puts texts into patterns."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, length: int, patterns: Sequence[str], masks: int) -> None:
        super().__init__(tokenizer, length)
        self.patterns = [self._frame(pattern, masks) for pattern in patterns]
        for pattern, frame in zip(patterns, self.patterns, strict=True):
            if length < frame.size + AROUND:
                raise BadInput(
                    f"the pattern {pattern!r} takes {frame.size} of the {length} tokens of a row and leaves no room "
                    "for text; give a shorter one"
                )

    def _frame(self, pattern: str, masks: int) -> PatternFrame:
        """The pattern as tokens; a space before a slot belongs to what fills it."""
        parts: list[Ids | int] = []
        between, slots = SLOTS.split(pattern), [*SLOTS.findall(pattern), None]
        for words, slot in zip(between, slots, strict=True):
            if words.strip():
                parts.append(encode(self.tokenizer, [words.rstrip() if slot else words])[0].ids)
            if slot == BLANK:
                parts.append(np.full(masks, self.vocabulary.mask, np.int32))
            elif slot is not None:
                parts.append({TEXT: 0, PAIR: 1}[slot])
        frame = self.frames[False]
        return PatternFrame(frame.before, frame.between, frame.after, parts=tuple(parts))

    def frames_around(self, *, pair: bool) -> Sequence[Frame]:
        """Every pattern."""
        return self.patterns
