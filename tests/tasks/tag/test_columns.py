"""Columns are read as CoNLL has them, and what is wrong with a line is told with its number."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.tasks.tag.columns import Sentence, read_sentences

CONLL = "-DOCSTART- -X- -X- O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\n\nPeter NNP I-NP I-PER\n"


def test_the_word_is_in_the_first_column_and_the_tag_in_the_last(tmp_path: Path) -> None:
    (tmp_path / "x.conll").write_text(CONLL)
    expected = [Sentence(3, ("EU", "rejects"), ("I-ORG", "O")), Sentence(7, ("Peter",), ("I-PER",))]
    assert list(read_sentences(tmp_path / "x.conll")) == expected
    assert [each.tags for each in read_sentences(tmp_path / "x.conll", "1", "2")] == [("NNP", "VBZ"), ("NNP",)]
    with gzip.open(tmp_path / "x.conll.gz", "wt") as file:
        file.write(CONLL.replace("\n", "\r\n"))
    assert list(read_sentences(tmp_path / "x.conll.gz")) == expected


def test_between_tabs_a_word_may_have_spaces(tmp_path: Path) -> None:
    (tmp_path / "x.conll").write_text("New York\tB-LOC\n\u00a0\tO\n")
    assert list(read_sentences(tmp_path / "x.conll")) == [Sentence(1, ("New York", "\u00a0"), ("B-LOC", "O"))]


@pytest.mark.parametrize(
    ("text", "columns", "told"),
    [
        ("a O\nb\n", {}, "x.conll:2: has 1 column, the first line 2"),
        ("a X O\n\nb O\n", {}, "x.conll:3: has 2 columns, the first line 3"),
        ("a\nb\n", {}, "x.conll:1: has 1 column; give a word and its tag a line"),
        ("a\tO\n\tO\n", {}, "x.conll:2: has an empty word"),
        ("a O\n", {"tag": "3"}, "x.conll:1: has 2 columns, and column 3 is asked for"),
        ("a O\n", {"tag": "ner"}, "--label-field ner: columns have no names; give a number from 1, or last"),
    ],
)
def test_what_cannot_be_columns_is_told(text: str, columns: dict[str, str], told: str, tmp_path: Path) -> None:
    (tmp_path / "x.conll").write_text(text)
    with pytest.raises(BadInput) as caught:
        list(read_sentences(tmp_path / "x.conll", **columns))
    assert str(caught.value).endswith(told) and "\n" not in str(caught.value)
