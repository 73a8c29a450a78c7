"""What probes are asked is what it says, and no document is on both sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unmask.errors import BadInput
from unmask.evaluation import questions
from unmask.evaluation.questions import labelled_texts, order_task, punctuation_task, tagged_words

TEXTS = [
    f"The {name} walks along the old river every day, slowly. Nobody in the village has ever seen him run fast."
    for name in ("king", "cat", "dog", "boy", "man", "fox", "cow", "hen", "owl", "rat") * 6
]


def test_of_about_half_of_the_sentences_two_neighbours_are_exchanged_and_the_others_are_as_written() -> None:
    asked = order_task(TEXTS)
    written = {sentence + "." for text in TEXTS for sentence in text.rstrip(".").split(". ")}
    for sentence, label in zip(asked.items, asked.labels, strict=True):
        assert (sentence in written) == (label == "as written")
        assert sorted(str(sentence).split()) in [sorted(each.split()) for each in written]
        original = next(each for each in written if sorted(each.split()) == sorted(str(sentence).split()))
        moved = [n for n, (a, b) in enumerate(zip(original.split(), str(sentence).split(), strict=True)) if a != b]
        assert moved == [] or (len(moved) == 2 and moved[1] == moved[0] + 1)
    assert len(asked.items) == 120 and 0.35 < asked.labels.count("exchanged") / 120 < 0.65
    assert order_task(TEXTS).items == asked.items and order_task(TEXTS, seed=1).items != asked.items


def test_commas_and_full_stops_are_taken_away_and_told_by_the_word_before_them() -> None:
    asked = punctuation_task(["one two, three four. five six (seven), eight , nine ten ."])
    assert asked.items == (("one", "two", "three", "four", "five", "six", "(seven)", "eight", "nine", "ten"),)
    assert asked.labels == (("O", "COMMA", "O", "STOP", "O", "O", "COMMA", "COMMA", "O", "STOP"),)


def test_long_documents_are_cut_into_stretches_and_a_short_rest_is_left_out() -> None:
    asked = punctuation_task([" ".join(map(str, range(105))), "too short."])
    assert [len(words) for words in asked.items] == [40, 40, 25]
    assert asked.documents.tolist() == [0, 0, 0]


def test_every_item_of_a_document_is_on_one_side() -> None:
    asked = order_task(TEXTS)
    sides = {(document, side) for document, side in zip(asked.documents.tolist(), asked.is_test.tolist(), strict=True)}
    assert len(sides) == len(set(asked.documents.tolist()))
    assert asked.is_enough and 0.3 < asked.is_test.mean() < 0.5


def test_many_items_are_sampled_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(questions.MAX_ITEMS, "classification", 50)
    documents = order_task(TEXTS).documents
    assert len(documents) == 40 and np.all(np.diff(documents) >= 1)


def test_a_file_of_labelled_texts_is_read_and_a_bad_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    lines = [f'{{"text": "text {n}", "label": {n % 2}}}\n' for n in range(60)]
    file.write_text("".join([*lines[:3], "\n", *lines[3:]]))
    asked = labelled_texts(file)
    assert (asked.name, asked.kind, len(asked.items)) == ("own.jsonl", "classification", 60)
    assert asked.items[:2] == ("text 0", "text 1") and asked.labels[:2] == ("0", "1")
    file.write_text("".join(lines) + '{"text": "no label"}\n')
    with pytest.raises(BadInput, match=r"own\.jsonl:61: not .*'label'"):
        labelled_texts(file)
    file.write_text('{"text": "one", "label": "a"}\n' * 60)
    with pytest.raises(BadInput, match=r"own\.jsonl: has 60 items: give 50 or more, with two labels"):
        labelled_texts(file)
    with pytest.raises(BadInput, match=r"nowhere: cannot be read \(No such file"):
        labelled_texts(tmp_path / "nowhere")


def test_a_file_of_tagged_words_is_read_and_a_bad_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "own.conll"
    file.write_text("Anna\tB-PER\nsleeps\tO\n\n\nOslo\tB-LOC\n" * 50)
    asked = tagged_words(file)
    assert asked.items[:2] == (("Anna", "sleeps"), ("Oslo", "Anna", "sleeps"))
    assert asked.labels[:2] == (("B-PER", "O"), ("B-LOC", "B-PER", "O"))
    file.write_text("Anna\tB-PER\nsleeps O\n")
    with pytest.raises(BadInput, match=r"own\.conll:2: not a token, a tab and its tag"):
        tagged_words(file)
