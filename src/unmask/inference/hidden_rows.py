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
from torch import Tensor

from unmask.inference.ask import Question, ask_logits
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
    for group, logits in ask_logits(lm, questions):
        asked = np.cumsum([0, *(len(positions[number]) for number in group)])
        alike = [place for number in group for place in members[number]]
        where = [
            begin + np.searchsorted(positions[number], rows[place].asked)
            for begin, number in zip(asked, group, strict=False)
            for place in members[number]
        ]
        targets = np.concatenate([rows[place].targets for place in alike])
        values = _log_probabilities(logits, np.concatenate(where), targets, lm.vocabulary.mask if bar_mask else None)
        for place, answers in zip(alike, np.split(values, np.cumsum([len(each) for each in where])[:-1]), strict=True):
            results[place] = answers
    return results


def _log_probabilities(logits: Tensor, where: Integers, targets: Ids, barred: int | None) -> Reals:
    """What the logits of some rows give to some tokens; where one is barred, it has no part in it."""
    index, tokens = (torch.from_numpy(each.astype(np.int64)).to(logits.device) for each in (where, targets))
    log_probabilities = logits.log_softmax(-1)  # faster than the sum that it takes away alone
    values = log_probabilities[index, tokens].double()
    if barred is not None:
        values -= torch.log1p(-log_probabilities[index, barred].double().exp())
    found: Reals = values.cpu().numpy()
    return found
