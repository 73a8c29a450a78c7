from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from unmask.errors import Damaged
from unmask.inference import ask as module
from unmask.inference.ask import Question, ask
from unmask.models.load import LoadedModel, load_model

Make = Callable[..., Path]


@pytest.fixture(params=("bert", "roberta", "modernbert", "deberta-v2", "electra"))
def loaded(request: pytest.FixtureRequest, make_model: Make) -> LoadedModel:
    return load_model(make_model(request.param))


def questions(loaded: LoadedModel, count: int = 9) -> list[Question]:
    draw = np.random.default_rng(0)
    rows = []
    for _ in range(count):
        ids = draw.choice(loaded.vocabulary.ordinary, draw.integers(3, 40)).astype(np.int32)
        asked = np.sort(draw.choice(len(ids), draw.integers(1, 4), replace=False))
        ids[asked] = loaded.vocabulary.mask
        rows.append(Question(ids, asked))
    return rows


def test_answers_are_the_model_s_own_log_probabilities(loaded: LoadedModel) -> None:
    rows = questions(loaded)
    answers = dict(ask(loaded, rows))
    assert sorted(answers) == list(range(len(rows)))
    for number, row in enumerate(rows):
        with torch.no_grad():
            logits = loaded.model(torch.from_numpy(row.ids).long()[None]).logits[0, row.asked]
        expected = logits.log_softmax(-1)[:, : loaded.vocabulary.size]
        torch.testing.assert_close(answers[number], expected, rtol=1e-4, atol=1e-4)


def test_budgets_change_no_answer(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = questions(loaded)
    at_once = dict(ask(loaded, rows))
    for name, value in {"TOKENS": 50, "ROWS": 2, "LOGITS": 1}.items():
        monkeypatch.setattr(module, name, value)
    for number, answer in ask(loaded, rows):
        torch.testing.assert_close(answer, at_once[number], rtol=1e-4, atol=1e-4)


def test_a_pass_has_no_more_logits_than_allowed(make_model: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_model(make_model())
    sizes: list[int] = []
    real = module.logits_at

    def measured(model: object, positions: torch.Tensor, **inputs: torch.Tensor) -> torch.Tensor:
        sizes.append(len(positions) * loaded.vocabulary.size)
        return real(model, positions, **inputs)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "logits_at", measured)
    monkeypatch.setattr(module, "LOGITS", 4 * loaded.vocabulary.size)
    rows = questions(loaded)
    assert len(dict(ask(loaded, rows))) == len(rows)
    assert max(sizes) <= 4 * loaded.vocabulary.size
    assert len(sizes) > 1


def test_weights_that_are_not_numbers_are_damage(make_model: Make) -> None:
    loaded = load_model(make_model())
    with torch.no_grad():
        next(loaded.model.parameters()).fill_(torch.nan)
    with pytest.raises(Damaged, match="not finite"):
        list(ask(loaded, questions(loaded)))
