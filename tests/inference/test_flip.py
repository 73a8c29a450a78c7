"""A change that flips an answer is real, likely and no larger than it must be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.inference.flip import find_flip
from unmask.inference.label_words import AskedLabel, LabelledSides
from unmask.tasks.classify.classifier import Classifier

Tune = Callable[..., Path]
TEXT = "nobody likes the dog and the cat every day."


@pytest.fixture
def asked(tune_words: Tune) -> AskedLabel:
    return AskedLabel(Classifier(tune_words()), 0)


def test_the_changed_text_is_labelled_otherwise_by_predict(tune_words: Tune) -> None:
    (explained,) = unmask.explain(tune_words(), TEXT)
    assert isinstance(explained, unmask.ExplainedLabel) and explained.flip is not None
    flip = explained.flip
    (said,) = unmask.predict(tune_words(), flip.text)
    assert isinstance(said, unmask.Predicted)
    assert said.labels == flip.labels != explained.labels
    assert said.probabilities[explained.label] == pytest.approx(flip.probability)
    text = TEXT
    for change in sorted(flip.changes, key=lambda change: -change.start):
        assert TEXT[change.start : change.end] == change.word != change.by
        text = text[: change.start] + change.by + text[change.end :]
    assert text == flip.text


def test_one_word_is_changed_where_one_will_do_and_the_likeliest_of_those(asked: AskedLabel) -> None:
    sides = LabelledSides.read(asked.classifier, ("the king sees the dog again.",))
    words = {sides.spelling(word): word for word in sides.words}
    candidates = {words["king"]: ["teacher"], words["dog"]: ["cat", "sea", "river"]}
    flip = find_flip(asked, sides, candidates, np.array([0.1, 3.0]), 3)
    assert flip is not None and flip.text == "the king sees the sea again." and flip.labels == ("place",)
    assert find_flip(asked, sides, {words["king"]: ["teacher"]}, np.array([1.0]), 3) is None


def test_no_change_that_the_flip_can_do_without_stays(asked: AskedLabel) -> None:
    sides = LabelledSides.read(asked.classifier, (TEXT,))
    words = {sides.spelling(word): word for word in sides.words}
    candidates = {words["dog"]: ["sea"], words["cat"]: ["river"], words["likes"]: ["sees"]}
    flip = find_flip(asked, sides, candidates, np.array([3.0, 2.0, 0.1]), 3)
    assert flip is not None
    for change in flip.changes:
        begin = flip.text.replace(change.by, change.word, 1)
        (said,) = asked.classifier.predict([begin])
        assert said.labels != flip.labels


def test_signs_are_not_changed(asked: AskedLabel) -> None:
    sides = LabelledSides.read(asked.classifier, ("the dog again.",))
    words = {sides.spelling(word): word for word in sides.words}
    assert find_flip(asked, sides, {words["."]: ["river", "sea"]}, np.array([9.0]), 2) is None


def test_a_word_that_is_left_out_takes_its_space_and_never_the_whole_text(asked: AskedLabel) -> None:
    sides = LabelledSides.read(asked.classifier, ("dog cat.",))
    words = {sides.spelling(word): word for word in sides.words}
    assert sides.rewritten({words["dog"]: ""}) == ("cat.",)
    assert sides.rewritten({words["cat"]: ""}) == ("dog.",)
    lone = LabelledSides.read(asked.classifier, ("dog",))
    assert find_flip(asked, lone, {lone.words[0]: [""]}, np.array([1.0]), 2) is None
