"""What could stand in the place of a word is what the model that a tuned one started from says."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.files import with_seal, write_json
from unmask.inference.label_words import LabelledSides
from unmask.inference.replacements import find_replacer, start_of
from unmask.runs.claim import read_sealed
from unmask.tasks.classify.classifier import Classifier

Tune, Move = Callable[..., Path], Callable[[Path], Path]


def test_replacements_are_whole_words_with_the_probabilities_of_the_start(tune_words: Tune) -> None:
    classifier = Classifier(tune_words())
    replacer, reason = find_replacer(tune_words() / "model", classifier.reader.tokenizer)
    assert replacer is not None and not reason
    sides = LabelledSides.read(classifier, ("the dog spells [MASK] again, of course.",))
    words = [word.word for word in sides.words]
    for word, found in zip(words, replacer.replacements(sides.encoded[0], words, 40), strict=True):
        shares = [each.weight for each in found]
        assert 0 < len(found) <= 40 and shares == sorted(shares, reverse=True) and 0 < sum(shares) < 1
        spelt = sides.sides[0][word.first : word.last]
        assert len(found) == 40 or not spelt.isalnum()
        assert all(each.spelt == each.spelt.strip() for each in found)
        assert {each.spelt[0].isalnum() for each in found} == {spelt.isalnum()}  # a word for a word, a sign for a sign


def test_the_start_of_a_tuning_of_a_tuning_is_the_first_that_was_not_tuned(tune_words: Tune, moved_start: Move) -> None:
    first = tune_words()
    expected = Path(read_sealed(first / "run.json")["places"]["model"])
    assert start_of(first / "model") == start_of(moved_start(first) / "model") == expected


def test_it_is_said_why_nothing_replaces(
    tune_words: Tune, moved_start: Move, tmp_path: Path, make_model: Callable[..., Path]
) -> None:
    tokenizer = Classifier(tune_words()).reader.tokenizer
    shutil.copytree(tune_words() / "model", tmp_path / "alone")
    assert "stands in no run" in find_replacer(tmp_path / "alone", tokenizer)[1]
    for place, reason in ((make_model("bert", "bpe"), "vocabulary is not that"), (tmp_path / "x", "no longer at")):
        assert reason in find_replacer(moved_start(place) / "model", tokenizer)[1]
    write_json(tmp_path / "run" / "run.json", with_seal({}))
    with pytest.raises(BadInput, match="does not tell what it started from"):
        start_of(tmp_path / "run" / "model")
