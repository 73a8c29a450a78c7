"""Rows in which something is hidden to the log-probabilities of what was there, however many rows there are.

In: rows as they are made, one after the other. Out: what the model gives to each hidden token that is asked for, in the
order of the rows. Rows are held for one chunk at a time, so that memory does not grow with a text, and rows of a chunk
that look alike are asked once: the two sentences of a minimal pair share those that hide their difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import torch

from unmask.inference.ask import Question, ask
from unmask.models.load import LoadedModel
from unmask.progress import task
from unmask.records import Ids, Integers, Reals

CHUNK = 1 << 18  # tokens in the rows that are held at once


class HiddenRow(NamedTuple):
    """A row with hidden tokens, and which of them are asked for."""

    passage: int  # the number of the passage that it belongs to
    ids: Ids  # L, the mask where something is hidden
    asked: Integers  # P, positions in the row
    targets: Ids  # P, what was there
    places: Integers  # P, the same tokens as places in their passage
    weight: float = 1.0  # what the answers of the row count


def answer_rows(
    lm: LoadedModel, rows: Iterable[HiddenRow], *, bar_mask: bool = False, title: str = "Scoring"
) -> Iterator[tuple[HiddenRow, Reals]]:
    """Each row with the log-probabilities of its targets; where the mask is barred, no probability goes to it."""
    count = 0
    with task(title) as step:
        for chunk in _chunks(rows):
            answers = _answer_chunk(lm, chunk, bar_mask)
            count += len(chunk)
            step(len(chunk), note=f"{count:,} rows")
            yield from zip(chunk, answers, strict=True)


def _chunks(rows: Iterable[HiddenRow]) -> Iterator[list[HiddenRow]]:
    chunk: list[HiddenRow] = []
    tokens = 0
    for row in rows:
        if chunk and tokens + len(row.ids) > CHUNK:
            yield chunk
            chunk, tokens = [], 0
        chunk.append(row)
        tokens += len(row.ids)
    if chunk:
        yield chunk


def _answer_chunk(lm: LoadedModel, rows: list[HiddenRow], bar_mask: bool) -> list[Reals]:
    numbers: dict[bytes, int] = {}
    members: list[list[int]] = []  # for each different row, those that look like it
    for place, row in enumerate(rows):
        number = numbers.setdefault(row.ids.tobytes(), len(members))
        if number == len(members):
            members.append([])
        members[number].append(place)
    positions = [np.unique(np.concatenate([rows[place].asked for place in alike])) for alike in members]
    questions = [Question(rows[alike[0]].ids, asked) for alike, asked in zip(members, positions, strict=True)]
    results: list[Reals] = [np.empty(0)] * len(rows)
    device = lm.device
    for number, log_probabilities in ask(lm, questions, title=None):
        alike = members[number]
        where = np.searchsorted(positions[number], np.concatenate([rows[place].asked for place in alike]))
        targets = np.concatenate([rows[place].targets for place in alike]).astype(np.int64)
        index = torch.from_numpy(where).to(device)
        values = log_probabilities[index, torch.from_numpy(targets).to(device)].double()
        if bar_mask:
            values -= torch.log1p(-log_probabilities[index, lm.vocabulary.mask].double().exp())
        answers, begin = values.cpu().numpy(), 0
        for place in alike:
            results[place] = answers[begin : (begin := begin + len(rows[place].asked))]
    return results
