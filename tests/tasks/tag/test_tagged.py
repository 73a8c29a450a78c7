"""Columns, words with tags and texts with spans are the same examples; what cannot be used is told in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unmask.errors import BadInput
from unmask.tasks.tag.tagged import LabelledSpan, check_known_labels, check_taggable, read_tagged

WORDS, TAGS = ["Angela", "Merkel", "visited", "Paris"], ["B-PER", "I-PER", "O", "B-LOC"]
TEXT = "Angela Merkel visited Paris"
SPANS = [{"start": 0, "end": 13, "label": "PER"}, {"start": 22, "end": 27, "label": "LOC"}]


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_three_ways_of_writing_are_the_same_text_and_entities(tmp_path: Path) -> None:
    columns = tmp_path / "a.conll"
    columns.write_text("".join(f"{word} {tag}\n" for word, tag in zip(WORDS, TAGS, strict=True)))
    files = [
        columns,
        write(tmp_path / "b.jsonl", {"tokens": WORDS, "ner_tags": TAGS}),
        write(tmp_path / "c.jsonl", {"text": TEXT, "entities": SPANS}),
        write(tmp_path / "d.jsonl", {"text": TEXT, "label": [[22, 27, "LOC"], [0, 14, "PER"]]}),
    ]
    for path in files:
        (example,) = read_tagged(path).examples
        assert example.text == TEXT and example.spans == (LabelledSpan(0, 13, "PER"), LabelledSpan(22, 27, "LOC"))
        assert (example.words is None) == (path.name in ("c.jsonl", "d.jsonl"))
    assert [each and each.name for each in (read_tagged(path).scheme for path in files)] == ["IOB2", "IOB2", None, None]
    assert read_tagged(files[0]).labels == ("LOC", "PER")


@pytest.mark.parametrize(
    ("records", "asked", "told"),
    [
        (
            [{"text": "ab", "entities": [{"start": 0, "end": 3, "label": "X"}]}],
            {},
            "span 0–3 is not in its text, which",
        ),
        ([{"text": "ab", "entities": [{"start": -1, "end": 1, "label": "X"}]}], {}, "span -1–1 is not in its text"),
        ([{"text": TEXT, "entities": [[0, 8, "A"], [7, 13, "B"]]}], {}, "spans 0–8 (A) and 7–13 (B) overlap; keep one"),
        ([{"text": "a b", "entities": [[1, 2, "X"]]}], {}, "span 1–2 has no word"),
        ([{"text": "a b", "entities": [{"start": 0}]}], {}, "is no span; give start, end and label"),
        ([{"text": "a b", "entities": {}}], {}, "the field 'entities' is no list of spans"),
        ([{"tokens": WORDS, "tags": TAGS[1:]}], {}, "has 4 words in 'tokens', 3 tags in 'tags'"),
        (
            [{"tokens": WORDS, "tags": [1, 2, 0, 3]}],
            {},
            "the field 'tags' is no list of strings; give the names of tags",
        ),
        ([{"tokens": ["a"], "tags": ["PER"]}], {}, "the tag 'PER' is of no scheme that is known"),
        ([{"tokens": ["a", "b"], "tags": ["S-X", "U-X"]}], {}, "the tag 'U-X' is of no scheme that is known"),
        ([{"id": 1, "tokens": ["a"], "tags": ["O"]}] * 2, {}, "x.jsonl:2: the id 1 is that of line 1 too"),
        ([{"words": "a b", "x": []}], {}, "which field? --label-field names it, one of 'words', 'x'"),
        ([{"text": "a b", "entities": []}], {"label": "entitis"}, "has no field 'entitis'; did you mean entities?"),
        ([{"text": "a b", "entities": []}], {"pair": "b"}, "--pair-field b: entities are found in single texts"),
        ([], {}, "x.jsonl: has no examples"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(
    records: list[Any], asked: dict[str, str], told: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput) as caught:
        read_tagged(write(tmp_path / "x.jsonl", *records), **asked)
    assert told in str(caught.value) and "\n" not in str(caught.value)


def test_an_unknown_tag_in_columns_is_told_with_its_own_line(tmp_path: Path) -> None:
    (tmp_path / "x.conll").write_text("a O\n\nb O\nc Z-PER\n")
    with pytest.raises(BadInput, match=r"x\.conll:4: the tag 'Z-PER' is of no scheme that is known"):
        read_tagged(tmp_path / "x.conll")
    (tmp_path / "empty.conll").write_text("\n\n")
    with pytest.raises(BadInput, match=r"empty\.conll: has no examples"):
        read_tagged(tmp_path / "empty.conll")
    with pytest.raises(BadInput, match=r"nothing\.conll: does not exist"):
        read_tagged(tmp_path / "nothing.conll")
    with pytest.raises(BadInput, match="--group-field doc: columns have no groups"):
        read_tagged(tmp_path / "x.conll", group="doc")


def test_too_few_texts_no_entity_and_unknown_labels_are_refused(tmp_path: Path) -> None:
    three = read_tagged(write(tmp_path / "a.jsonl", *[{"tokens": WORDS, "tags": TAGS}] * 3))
    with pytest.raises(BadInput, match=r"a\.jsonl: 3 texts, too few to learn from; give at least 10"):
        check_taggable(three)
    outside = read_tagged(write(tmp_path / "b.jsonl", *[{"tokens": WORDS, "tags": ["O"] * 4}] * 10))
    with pytest.raises(BadInput, match=r"b\.jsonl: every word is outside, there is no entity to learn"):
        check_taggable(outside)
    with pytest.raises(BadInput, match=r"a\.jsonl:1: the label 'LOC' \(and 2 more like it\) is none that was learnt"):
        check_known_labels(three, ["PER", "ORG"])
    check_known_labels(three, ["LOC", "PER"])


def test_texts_without_a_word_are_left_out_and_counted(tmp_path: Path) -> None:
    texts = write(tmp_path / "a.jsonl", {"text": " ", "entities": []}, {"text": "a", "entities": []})
    words = write(tmp_path / "b.jsonl", {"tokens": [], "tags": []}, {"tokens": ["a"], "tags": ["O"]})
    assert [(len(each), each.empty) for each in map(read_tagged, (texts, words))] == [(1, 1), (1, 1)]
