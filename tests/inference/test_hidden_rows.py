from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from unmask.inference import hidden_rows as module
from unmask.inference.hidden_rows import HiddenRow, answer_rows
from unmask.models.load import LoadedModel, load_model

Make = Callable[..., Path]


@pytest.fixture
def loaded(make_model: Make) -> LoadedModel:
    return load_model(make_model())


def rows_of(lm: LoadedModel, count: int = 20) -> Iterator[HiddenRow]:
    draw = np.random.default_rng(0)
    for number in range(count):
        ids = draw.choice(lm.vocabulary.ordinary, draw.integers(3, 30)).astype(np.int32)
        asked = np.sort(draw.choice(len(ids), 2, replace=False))
        targets = ids[asked].copy()
        ids[asked] = lm.vocabulary.mask
        yield HiddenRow(number, ids, asked, targets, asked)


def test_answers_come_in_the_order_of_the_rows_whatever_a_chunk_holds(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = list(answer_rows(loaded, rows_of(loaded)))
    monkeypatch.setattr(module, "CHUNK", 40)
    chunked = list(answer_rows(loaded, rows_of(loaded)))
    assert [row.passage for row, _ in chunked] == [row.passage for row, _ in at_once] == list(range(20))
    for (_, one), (_, other) in zip(at_once, chunked, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


def test_rows_are_made_a_chunk_at_a_time(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 60)
    made = []

    def counted() -> Iterator[HiddenRow]:
        for row in rows_of(loaded):
            made.append(row)
            yield row

    answers = answer_rows(loaded, counted())
    next(answers)
    assert 0 < len(made) < 10
    assert len(list(answers)) == 19


def test_rows_that_look_alike_are_asked_once(
    loaded: LoadedModel, recorded: Callable[..., list[dict[str, object]]]
) -> None:
    (row, *_) = rows_of(loaded)
    other = row._replace(passage=1, targets=row.targets[::-1].copy())
    third = row._replace(passage=2, asked=row.asked[:1], targets=row.targets[:1], places=row.places[:1])
    calls = recorded(module, "ask_logits")
    answers = [answer for _, answer in answer_rows(loaded, [row, other, third])]
    assert [len(call["questions"]) for call in calls] == [1]  # type: ignore[arg-type]
    assert answers[0][0] == answers[2][0] and answers[0].tolist() != answers[1].tolist()


def test_where_the_mask_is_barred_its_probability_is_shared_out(loaded: LoadedModel) -> None:
    (row, *_) = rows_of(loaded)
    everything = [
        row._replace(targets=np.full(2, token, np.int32))
        for token in range(loaded.vocabulary.size)
        if token != loaded.vocabulary.mask
    ]
    barred = np.stack([answer for _, answer in answer_rows(loaded, everything, bar_mask=True)])
    assert np.exp(barred).sum(0) == pytest.approx([1, 1], abs=1e-4)
    free = np.stack([answer for _, answer in answer_rows(loaded, everything)])
    assert (np.exp(free).sum(0) < 1 - 1e-5).all()
