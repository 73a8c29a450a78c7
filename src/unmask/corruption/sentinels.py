"""How a gap looks to an encoder-decoder: a sentinel for each hidden run, and an answer that spells them out.

In go blocks and what is hidden of them, out come shorter rows and the answers; `expand_sentinels` goes back.
A document has its own sentinels and its own end, so that packed documents stay examples of their own.
"""

from __future__ import annotations

import numpy as np

from unmask.corruption.properties import declares
from unmask.corruption.render import run_starts
from unmask.corruption.units import Units
from unmask.errors import BadInput
from unmask.randomness import Draws
from unmask.records import Answer, Blocks, Corrupted, Flags, Ids, Integers, Vocabulary


@declares(in_place=False, needs_sentinels=True)
def replace_by_sentinels(
    blocks: Blocks, units: Units, hidden: Flags, vocabulary: Vocabulary, draws: Draws
) -> Corrupted:
    """Put one sentinel for each hidden run; the answer is each sentinel and its run (T5, Raffel et al. 2020).

    row      Thank you for inviting me to your party last week
    ids      Thank you <0> me to your party <1> week
    answer   <0> for inviting <1> last [SEP]
    """
    if not vocabulary.sentinels:
        raise BadInput("this tokenizer has no sentinels to stand for hidden spans: add some (<extra_id_0>, …)")
    positions, _ = units.members(np.flatnonzero(hidden))
    starts = run_starts(blocks, positions)
    width = blocks.ids.shape[1]
    row = positions[starts] // width
    document = blocks.documents.ravel()[positions[starts]]
    opens = (np.diff(row, prepend=-1) != 0) | (
        np.diff(document, prepend=-1) != 0
    )  # runs that are their document's first
    stand_in = _sentinel_ids(opens, vocabulary)

    flat = blocks.ids.ravel().copy()
    targets = flat[positions]
    flags = np.zeros(len(flat), dtype=np.bool_)
    flags[positions] = True
    flat[positions[starts]] = stand_in
    keep = ~flags
    keep[positions[starts]] = True
    ids, documents = _close_up(flat, blocks.documents.ravel(), keep.reshape(blocks.ids.shape), vocabulary.pad)
    return Corrupted(
        ids=ids,
        hidden=flags.reshape(blocks.ids.shape),
        targets=targets,
        units=_run_numbers(starts, len(positions)),
        documents=documents,
        answer=_build_answer(blocks, positions, starts, opens, stand_in, targets, vocabulary),
    )


def _sentinel_ids(opens: Flags, vocabulary: Vocabulary) -> Ids:
    """The sentinel of each run: the first, the second, … of its document."""
    runs = np.arange(len(opens))
    number = runs - np.maximum.accumulate(np.where(opens, runs, 0))
    needed = int(number.max(initial=-1)) + 1
    if needed > len(vocabulary.sentinels):
        available = len(vocabulary.sentinels)
        raise BadInput(
            f"a row has {needed} hidden spans and the tokenizer {available} sentinels: add more, or hide less"
        )
    return np.asarray(vocabulary.sentinels, dtype=np.int32)[number]


def _close_up(flat: Ids, documents: Ids, keep: Flags, pad: int) -> tuple[Ids, Ids]:
    """Rows without the tokens that are not kept, the rest moved to the left."""
    sizes = np.count_nonzero(keep, axis=1)
    real = np.arange(keep.shape[1]) < sizes[:, None]
    ids = np.full(keep.shape, pad, dtype=np.int32)
    ids[real] = flat[keep.ravel()]
    inside = np.zeros(keep.shape, dtype=np.int32)
    inside[real] = documents[keep.ravel()]
    return ids, inside


def _run_numbers(starts: Integers, count: int) -> Ids:
    """For each of `count` tokens, the number of the run it is in."""
    return np.repeat(np.arange(len(starts), dtype=np.int32), np.diff(starts, append=count))


def _build_answer(
    blocks: Blocks,
    positions: Integers,
    starts: Integers,
    opens: Flags,
    stand_in: Ids,
    targets: Ids,
    vocabulary: Vocabulary,
) -> Answer:
    """Lay out, row by row: for each document its sentinels, each followed by its tokens, then the end."""
    rows, width = blocks.ids.shape
    run = _run_numbers(starts, len(positions))
    document = np.cumsum(opens, dtype=np.int64) - 1  # of each run, over the batch
    place = np.arange(len(positions)) + run + 1 + document[run]  # after its sentinel and the ends before it
    row = positions // width
    sizes = np.bincount(row, minlength=rows) + np.bincount(row[starts], minlength=rows)
    sizes += np.bincount(row[starts][opens], minlength=rows)
    last = np.append(starts[opens], len(positions))[1:] - 1  # each document's last hidden token

    flat = np.empty(sizes.sum(), dtype=np.int32)
    flat[place] = targets
    flat[place[starts] - 1] = stand_in
    flat[place[last] + 1] = vocabulary.end
    owner = np.zeros(len(flat), dtype=np.int32)
    owner[place] = blocks.documents.ravel()[positions]
    owner[place[starts] - 1] = owner[place[starts]]
    owner[place[last] + 1] = owner[place[last]]

    real = np.arange(sizes.max(initial=1)) < sizes[:, None]  # a column at least, which a decoder begins with
    ids = np.full(real.shape, vocabulary.pad, dtype=np.int32)
    ids[real] = flat
    documents = np.zeros(real.shape, dtype=np.int32)
    documents[real] = owner
    return Answer(ids, documents, vocabulary.sentinels, vocabulary.pad)


def expand_sentinels(ids: Ids, answer: Answer) -> Ids:
    """B L: the rows with every sentinel replaced by what the answer says it stands for."""
    tokens = answer.ids[answer.documents > 0]
    begins = np.flatnonzero(np.isin(tokens, answer.sentinels))
    owner = answer.documents[answer.documents > 0]
    row = np.nonzero(answer.documents > 0)[0]
    closes = (np.diff(owner, append=-1) != 0) | (np.diff(row, append=-1) != 0)  # the end of each document
    sizes = np.diff(begins, append=len(tokens)) - 1
    sizes -= np.add.reduceat(closes, begins) if len(begins) else 0

    gaps = np.isin(ids, answer.sentinels)
    repeats = np.ones(ids.shape, dtype=np.int64)
    repeats[gaps] = sizes
    flat = np.repeat(ids.ravel(), repeats.ravel())
    is_text = np.ones(len(tokens), dtype=np.bool_)
    is_text[begins] = is_text[closes] = False
    flat[np.repeat(gaps.ravel(), repeats.ravel())] = tokens[is_text]
    totals = repeats.sum(axis=1)
    begin = np.cumsum(totals) - totals
    rows: Ids = flat[begin[:, None] + np.arange(ids.shape[1])]
    return rows
