"""Laws of which words mattered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import unmask
from unmask.inference import explain as module
from unmask.inference.fill import fill_blanks
from unmask.models.load import LoadedModel, load_model

Make = Callable[..., Path]
TEXT = "The dog sees [MASK]."


@pytest.fixture(params=("wordpiece", "bpe", "unigram"))
def loaded(request: pytest.FixtureRequest, make_model: Make) -> LoadedModel:
    return load_model(make_model(kind=request.param))


def test_relevance_is_what_the_answer_loses_when_other_words_stand_there(
    make_model: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load_model(make_model())
    monkeypatch.setattr(module, "REPLACEMENTS", 4)
    (filled,) = fill_blanks(loaded, [TEXT], explain=True)
    (explained,) = filled.explained
    assert explained.replacements == 4 and 0 < explained.covered < 1
    tokenizer, model = loaded.tokenizer, loaded.model
    row = tokenizer(TEXT, return_tensors="pt")["input_ids"]
    tokens = tokenizer.convert_ids_to_tokens(row[0].tolist())
    blank, dog = tokens.index("[MASK]"), tokens.index("dog")
    answer = tokenizer.get_vocab()[explained.answer[0]]

    def log_probability(ids: torch.Tensor) -> float:
        with torch.no_grad():
            return float(model(ids).logits[0, blank].log_softmax(-1)[answer])

    hidden = row.clone()
    hidden[0, dog] = tokenizer.mask_token_id
    with torch.no_grad():
        others = model(hidden).logits[0, dog].softmax(-1)
    fitting = [number for token, number in tokenizer.get_vocab().items() if not token.startswith(("##", "["))]
    best = sorted(fitting, key=lambda number: -float(others[number]))[:4]
    weights = np.array([float(others[number]) for number in best])
    replaced = []
    for number in best:
        changed = row.clone()
        changed[0, dog] = number
        replaced.append(log_probability(changed))
    expected = log_probability(row) - float(weights @ np.array(replaced) / weights.sum())
    (found,) = [word.relevance for word in explained.words if word.word == "dog"]
    assert found == pytest.approx(expected, abs=1e-3)
    assert explained.log_probability == pytest.approx(log_probability(row), abs=1e-3)


def test_words_are_told_in_the_order_and_at_the_place_they_have_in_the_completed_text(loaded: LoadedModel) -> None:
    text = "  The dog, (and [MASK]) sees un[MASK]able music in [MASK:word]."
    (filled,) = fill_blanks(loaded, [text], explain=True)
    (explained,) = filled.explained
    assert explained.blanks == (0, 1, 2)
    assert [filled.completed[word.start : word.end] for word in explained.words] == [
        word.word for word in explained.words
    ]
    starts = [word.start for word in explained.words]
    assert starts == sorted(starts)
    whole = "".join(word.word for word in explained.words)
    assert all(word in whole for word in ("dog", "music", "able", "and"))
    assert explained.answer == tuple(filled.completed[start:end] for start, end in filled.places)


def test_the_work_is_bounded_and_what_was_left_out_is_counted(
    make_model: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load_model(make_model())
    monkeypatch.setattr(module, "WORDS", 5)
    monkeypatch.setattr(module, "WORK", 1)
    (filled,) = fill_blanks(loaded, ["The king likes the dog and the sea and the [MASK] again."], explain=True)
    (explained,) = filled.explained
    assert len(explained.words) == 5 and explained.replacements == module.FEWEST and explained.left_out == 7
    near = filled.places[0][0]
    assert all(abs(word.start - near) < 25 for word in explained.words)


def test_a_warm_model_explains(make_model: Make) -> None:
    model = unmask.load(make_model())
    assert model.explain(TEXT) == model.fill(TEXT, explain=True)[0].explained
    assert model.fill(TEXT)[0].explained == ()
    (alone,) = model.explain("[MASK]")
    assert alone.words == ()
