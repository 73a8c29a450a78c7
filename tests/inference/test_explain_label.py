"""Laws of which words mattered for a label."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import unmask
from unmask.errors import BadInput
from unmask.inference import explain_label as module
from unmask.models.load import load_model

Tune = Callable[..., Path]
TEXT = "nobody likes the dog every day."


def explained(run: Path, *texts: str, **settings: object) -> unmask.ExplainedLabel:
    (result,) = unmask.explain(run, *texts, **settings)  # type: ignore[arg-type]
    assert isinstance(result, unmask.ExplainedLabel)
    return result


def test_relevance_is_what_the_label_loses_when_other_words_stand_there(
    tune_words: Tune, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REPLACEMENTS", 4)
    run = tune_words()
    result = explained(run, TEXT)
    assert result.label == "animal" and result.method == "replaced" and result.replacements == 4
    start = json.loads((run / "run.json").read_text())["places"]["model"]
    assert str(result.start) == start and 0 < result.covered < 1
    lm = load_model(Path(start))
    row = lm.tokenizer(TEXT, return_tensors="pt")["input_ids"]
    place = lm.tokenizer.convert_ids_to_tokens(row[0].tolist()).index("dog")
    row[0, place] = lm.tokenizer.mask_token_id
    with torch.no_grad():
        shares = lm.model(row).logits[0, place].softmax(-1)
    words = [token for token in lm.tokenizer.get_vocab() if token[0].isalnum()]
    best = sorted(words, key=lambda word: -float(shares[lm.tokenizer.get_vocab()[word]]))[:4]
    weights = np.array([float(shares[lm.tokenizer.get_vocab()[word]]) for word in best])
    said = unmask.predict(run, TEXT, *(TEXT.replace("dog", word) for word in best))
    odds = np.array([np.log(each.probabilities["animal"] / each.probabilities["place"]) for each in said])  # type: ignore
    (dog,) = [word for word in result.words if word.word == "dog"]
    assert dog.relevance == pytest.approx(odds[0] - weights @ odds[1:] / weights.sum(), abs=1e-3)
    after = weights @ [each.probabilities["animal"] for each in said[1:]] / weights.sum()  # type: ignore[union-attr]
    assert dog.drop == pytest.approx(said[0].probabilities["animal"] - after, abs=1e-4)  # type: ignore[union-attr]
    assert [TEXT[word.start : word.end] for word in result.words] == [word.word for word in result.words]


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_the_word_that_decides_matters_most(tune_words: Tune, kind: str) -> None:
    result = explained(tune_words(kind), TEXT)
    strongest = max(result.words, key=lambda word: word.relevance)
    assert result.label == "animal" and strongest.word == "dog" and strongest.drop > 0.05


def test_another_label_can_be_asked_for_and_an_unknown_one_is_refused(tune_words: Tune) -> None:
    likeliest, other = (explained(tune_words(), TEXT, label=label) for label in (None, "place"))
    assert other.label == "place" and other.labels == ("animal",)
    assert [word.relevance for word in other.words] == pytest.approx([-word.relevance for word in likeliest.words])
    assert other.flip is not None and other.flip.labels == ("place",)
    with pytest.raises(BadInput, match="--label plaice: this model does not know it; did you mean place"):
        unmask.explain(tune_words(), TEXT, label="plaice")


def test_without_its_start_words_are_hidden_and_it_is_said(moved_start: Callable[[Path], Path], tmp_path: Path) -> None:
    result = explained(moved_start(tmp_path / "gone"), TEXT)
    assert result.method == "hidden" and result.start is None and "no longer at" in result.notes[0]
    assert max(result.words, key=lambda word: word.relevance).word == "dog"
    assert result.flip is None or all(change.by == "" for change in result.flip.changes)


def test_of_a_long_text_all_is_read_and_what_matters_most_is_replaced(tune_words: Tune) -> None:
    text = "music and music again. " * 60 + "the dog sees the dog and the dog."
    result = explained(tune_words(), text, words=6, changes=0)
    assert result.windows > 1 and result.tokens_read > 200 and result.flip is None
    assert len(result.words) == 6 and result.left_out > 200
    assert [text[word.start : word.end] for word in result.words] == [word.word for word in result.words]
    assert "dog" in {word.word for word in result.words}


def test_of_a_very_long_text_stretches_are_hidden_first_and_the_word_that_decides_is_found(
    tune_words: Tune, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SCREENED", 40)
    text = "music and music again. " * 12 + "nobody sees the dog and the dog. " + "music and music again. " * 12
    result = explained(tune_words(), text, words=4, changes=0)
    assert len(result.words) == 4 and result.left_out == 5 * 24 + 8 - 4
    assert "dog" in {word.word for word in result.words}


def test_both_texts_of_a_pair_are_explained(tune_words: Tune) -> None:
    result = explained(tune_words(pairs=True), "nobody likes music.", "the dog again.")
    assert result.pair == "the dog again." and {word.second for word in result.words} == {False, True}
    strongest = max(result.words, key=lambda word: word.relevance)
    assert strongest.word == "dog" and strongest.second
    with pytest.raises(BadInput, match="takes pairs of texts"):
        unmask.explain(tune_words(pairs=True), "one text")


def test_of_several_labels_the_likeliest_is_explained_by_its_own_odds(tune_words: Tune) -> None:
    run = tune_words(several=True)
    result = explained(run, TEXT)
    (said,) = unmask.predict(run, TEXT)
    assert result.label == said.label and result.probability == pytest.approx(said.probability)  # type: ignore
    if result.flip is not None:
        assert result.label not in result.flip.labels or result.label not in result.labels


def test_a_tuned_model_in_memory_explains_its_label_and_a_masked_one_its_blank(
    tune_words: Tune, make_model: Callable[..., Path]
) -> None:
    label = unmask.load(tune_words()).explain(TEXT, changes=0)
    assert isinstance(label, unmask.ExplainedLabel) and label.label == "animal"
    (blank,) = unmask.load(make_model()).explain("The dog sees [MASK].")
    assert isinstance(blank, unmask.Explained)
    with pytest.raises(BadInput, match="an empty text has no label"):
        unmask.load(tune_words()).explain(" ")
    with pytest.raises(BadInput, match="--words 0: give 1 or more"):
        unmask.load(tune_words()).explain(TEXT, words=0)
