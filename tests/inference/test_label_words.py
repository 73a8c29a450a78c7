"""Texts that are nearly alike are asked about as each would be alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unmask.inference.label_words import AskedLabel, LabelledSides, shared_logits
from unmask.tasks.classify.classifier import Classifier
from unmask.tasks.text_rows import TextRows

Tune = Callable[..., Path]


def test_shared_rows_are_computed_once_and_change_nothing(tune_words: Tune, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = Classifier(tune_words())
    text = "music and bread again. " * 40
    variants = [text, text.replace("bread", "music", 1), text, "the dog."]
    rows = classifier.read(variants)
    computed: list[int] = []
    alone = classifier.logits

    def counted(rows: TextRows) -> np.ndarray:
        computed.append(len(rows.ends))
        return alone(rows)

    expected = alone(rows)
    monkeypatch.setattr(classifier, "logits", counted)
    np.testing.assert_allclose(shared_logits(classifier, rows), expected, atol=1e-5)
    windows = rows.windows.tolist()
    assert windows[0] > 3 and computed[0] <= windows[0] + 3 < len(rows.ends)


def test_log_odds_and_decisions_are_those_of_predict(tune_words: Tune) -> None:
    classifier = Classifier(tune_words())
    texts = ["the dog again.", "nobody sees the river."]
    answer = AskedLabel(classifier, 1).of_texts([(text,) for text in texts])
    said = classifier.predict(texts)
    shares = np.array([each.probabilities["place"] for each in said])
    np.testing.assert_allclose(answer.probability, shares, atol=1e-6)
    np.testing.assert_allclose(answer.log_odds, np.log(shares / (1 - shares)), atol=1e-3)
    assert answer.said.tolist() == [each.label == "place" for each in said]


def test_a_hidden_word_is_a_mask_for_each_of_its_pieces(tune_words: Tune) -> None:
    classifier = Classifier(tune_words())
    sides = LabelledSides.read(classifier, ("the zebrabridge sees.",))
    mask = classifier.reader.vocabulary.mask
    for word in sides.words:
        (ids,) = sides.hidden([word], mask)
        changed = np.flatnonzero(ids != sides.encoded[0].ids)
        assert changed.tolist() == list(range(word.word.begin, word.word.end)) and (ids[changed] == mask).all()
    assert max(word.word.end - word.word.begin for word in sides.words) > 1
