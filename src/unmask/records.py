"""What travels along the way, from a file to a model: plain arrays with their axes named.

    Document ─encode─▶ shards ─pack─▶ Blocks ─corrupt─▶ Corrupted ─collate─▶ Batch

Axes: B rows of a batch, L length, V vocabulary, P predicted positions. Numpy only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
Reals = NDArray[np.float64]

Mark = tuple[int, int, str]  # a marked span of a text: its first character, the one after its last, its kind
SPAN_KINDS = ("entity", "phrase", "collocation")  # what marked spans can be; a policy of the same name hides them


@dataclass(frozen=True, slots=True)
class Document:
    """One text, and where it came from."""

    text: str
    source: str
    line: int  # where it starts in its source, from 1
    marks: tuple[Mark, ...] = ()  # the spans its source marks in it


@dataclass(frozen=True)
class Vocabulary:
    """What corruption and packing need to know of a tokenizer: its size and its special ids."""

    size: int
    mask: int
    pad: int
    start: int  # opens a document: [CLS], <s>
    end: int  # closes it: [SEP], </s>
    special: tuple[int, ...]  # every id that text never yields and that is never hidden, [UNK] among them
    sentinels: tuple[int, ...] = ()  # special ids that stand for a hidden span, in the order they are used
    counts: Integers | None = field(default=None, compare=False, repr=False)  # V, how often the corpus has each

    @cached_property
    def is_special(self) -> Flags:
        """V flags: true for special ids."""
        flags = np.zeros(self.size, dtype=np.bool_)
        flags[list(self.special)] = True
        return flags

    @cached_property
    def ordinary(self) -> Ids:
        """The ids that are not special, ascending: what a random replacement is drawn from."""
        return np.flatnonzero(~self.is_special).astype(np.int32)


class TokenStream(Protocol):
    """A split's tokens, one document after the other."""

    @property
    def ends(self) -> Integers:
        """Where each document ends in the stream."""
        ...

    def read(self, start: int, stop: int) -> tuple[Ids, Flags]:
        """The tokens between two places of the stream, and which of them start a word."""
        ...


@dataclass(frozen=True)
class PolicyProperties:
    """What a policy does, for those who have to know and do not know the policy by its name.

    Defaults are those of functions that declare nothing (`corruption.properties`).
    """

    needs_words: bool = True  # it has to be told where words start
    needs_spans: bool = False  # … and the marked spans of the kind that its setting `kind` names
    needs_sentinels: bool = False  # they stand for hidden runs, and an answer spells those out
    timed: bool = False  # the share that is hidden is drawn anew for each row
    in_place: bool = True  # hidden tokens are restored where they stood, of which a mask or the like is shown
    edges: bool = False  # examples name the columns around each hidden run
    ordered: bool = False  # … in which order hidden tokens are predicted
    weighted: bool = False  # … what each row counts
    mixable: bool = False  # its rows may stand in one batch with those of other policies


@dataclass(frozen=True)
class Blocks:
    """Rows of a fixed length, each packed with one or more documents, as corruption takes them.

    ids          [CLS]  the  un ##do [SEP] [CLS]  yes [SEP] [PAD]
    word_starts    .     #    #   .    .     .     #    .     .
    documents      1     1    1   1    1     2     2    2     0
    """

    ids: Ids  # B L
    word_starts: Flags  # B L, true on the first token of a word
    documents: Ids  # B L, 1, 2, … within the row; 0 is padding
    numbers: Integers  # B, the block's number in its epoch: what randomness is keyed by
    epoch: int
    spans: Mapping[str, Ids] = field(default_factory=dict)  # B L by kind: marked spans, 1, 2, …; 0 is none


@dataclass(frozen=True)
class Answer:
    """What a decoder has to say: each sentinel of the row, followed by what it stands for, then the end.

    ids      Thank  you <0>  me  to your party <1> week
    answer   <0>  for inviting <1> last [SEP]
    """

    ids: Ids  # B T
    documents: Ids  # B T, as in `Blocks`
    sentinels: tuple[int, ...]
    pad: int

    @cached_property
    def opens(self) -> Flags:
        """B T, true where a hidden span begins: on its sentinel."""
        flags: Flags = np.isin(self.ids, self.sentinels) & (self.documents > 0)
        return flags

    @cached_property
    def spelt(self) -> Flags:
        """B T, true on what was hidden: not on sentinels, nor on the end of each document's answer."""
        ends = np.diff(self.documents, axis=1, append=0) != 0
        flags: Flags = (self.documents > 0) & ~self.opens & ~ends
        return flags


@dataclass(frozen=True)
class Corrupted:
    """Examples: blocks with something hidden, and what is needed to restore it."""

    ids: Ids  # B L, as the model sees them
    hidden: Flags  # B L, the positions to predict
    targets: Ids  # P, the tokens that were there, in row order
    units: Ids | None = None  # P, the number of the unit each was hidden with, ascending over the batch
    edges: Ids | None = None  # P 2, the columns next to the hidden run each stands in; -1 or L at a row's end
    order: Ids | None = None  # B L, when each is predicted, from 1; a token sees those of order 0 and before its own
    times: Reals | None = None  # B, the share of the row that is hidden, drawn
    weights: Reals | None = None  # B, what each prediction of the row counts
    documents: Ids | None = None  # B L, where the rows were shortened: of `ids`, while `hidden` is of the blocks
    answer: Answer | None = None  # what a decoder says


@dataclass(frozen=True)
class Batch:
    """What an objective takes: the corrupted rows, who may see whom, and what to predict where."""

    ids: Integers  # B L
    positions: Integers  # B L, counted from 0 within each document
    documents: Integers  # B L
    predicted: Integers  # P, flat indices into B × L
    targets: Integers  # P
    numbers: Integers  # B
    edges: Integers | None = None  # P 2, as in `Corrupted`
    order: Integers | None = None  # B L, as in `Corrupted`
    weights: Reals | None = None  # B, what each prediction of the row counts
    answer: Answer | None = None  # what a decoder says; then nothing is predicted in place
    labels: Integers | Reals | None = None  # B, or B K: what is said of each row as a whole

    @property
    def tokens(self) -> int:
        """How many tokens of text there are, shown and hidden."""
        count = int((self.documents > 0).sum())
        return count if self.answer is None else count + self.predictions - int(self.answer.opens.sum())

    @property
    def predictions(self) -> int:
        """How many tokens are to be predicted."""
        return len(self.targets) if self.answer is None else int(self.answer.spelt.sum())

    def cut(self, splits: int) -> Iterator[Batch]:
        """The batch by its rows, in so many parts or, where it has fewer rows, as many as it has."""
        rows, length = self.ids.shape
        splits = min(splits, rows)
        for begin, end in pairwise(rows * nth // splits for nth in range(splits + 1)):
            first, last = np.searchsorted(self.predicted, (begin * length, end * length))
            slices = {name: slice(begin, end) for name in BY_ROW} | {name: slice(first, last) for name in BY_PREDICTION}
            arrays = {name: getattr(self, name) for name in slices}
            answer = self.answer
            if answer is not None:
                answer = replace(answer, ids=answer.ids[begin:end], documents=answer.documents[begin:end])
            yield replace(
                self,
                predicted=self.predicted[first:last] - begin * length,
                answer=answer,
                **{name: array[slices[name]] for name, array in arrays.items() if array is not None},
            )


BY_ROW = ("ids", "positions", "documents", "numbers", "order", "weights", "labels")
BY_PREDICTION = ("targets", "edges")
