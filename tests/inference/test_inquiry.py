"""Laws of searches that share their rounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from unmask.inference import ask as ask_module
from unmask.inference.ask import Question
from unmask.inference.inquiry import Inquiry, Search, run_searches
from unmask.models.load import LoadedModel, load_model

Make = Callable[..., Path]


def greedy(loaded: LoadedModel, length: int, rounds: int) -> Search[list[int]]:
    """Fills one mask after the other with the likeliest token."""
    ids = np.full(length, loaded.vocabulary.mask, np.int32)
    for place in range(rounds):
        (best,) = yield [Inquiry(Question(ids.copy(), np.array([place])), lambda row: int(row[0].argmax()))]
        ids[place] = best
    return ids[:rounds].tolist()


def test_searches_side_by_side_find_what_they_find_alone(make_model: Make) -> None:
    loaded = load_model(make_model())
    sizes = [(5, 3), (9, 5), (4, 0), (5, 3), (7, 1)]
    alone = [run_searches(loaded, [greedy(loaded, *size)])[0] for size in sizes]
    assert run_searches(loaded, [greedy(loaded, *size) for size in sizes]) == alone
    assert [len(each) for each in alone] == [3, 5, 0, 3, 1]


def test_the_same_row_is_computed_once_however_many_ask(make_model: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, rows = load_model(make_model()), []
    forward = ask_module._forward

    def counted(lm: LoadedModel, questions: list[Question]) -> list[torch.Tensor]:
        rows.extend(questions)
        return forward(lm, questions)

    monkeypatch.setattr(ask_module, "_forward", counted)
    ids = np.array([2, 4, 9, 4, 3], np.int32)

    def asking(*places: int) -> Search[torch.Tensor]:
        (said,) = yield [Inquiry(Question(ids, np.array(places)), lambda row: row.clone())]
        return said

    both, first, again = run_searches(loaded, [asking(3, 1), asking(1), asking(3, 1)])
    assert len(rows) == 1 and both.shape == (2, loaded.vocabulary.size)
    assert torch.equal(both[1], first[0]) and torch.equal(both, again)
