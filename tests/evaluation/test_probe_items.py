from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from unmask.errors import BadInput, BadLines
from unmask.evaluation.probe_items import BUILT_IN, check_items, read_item


@pytest.mark.parametrize(
    ("line", "phenomenon", "choices"),
    [
        ('{"sentence_good": "A.", "sentence_bad": "B.", "UID": "u", "linguistics_term": "t"}', "t", ("A.", "B.")),
        ('{"good": "A.", "bad": "B.", "template": "prep"}', "prep", ("A.", "B.")),
        ("A.\tB.", "all", ("A.", "B.")),
        ("A.\tB.\tcase", "case", ("A.", "B.")),
        ('{"masked_sentences": ["x [MASK]."], "obj_label": "y", "predicate_id": "P1"}', "P1", ("y",)),
        ('{"text": "x [MASK].", "answer": "y", "candidates": ["z", "y"]}', "all", ("y", "z")),
        ('{"text": "x [MASK].", "good": "y", "bad": "z", "phenomenon": "p"}', "p", ("y", "z")),
    ],
)
def test_every_form_of_an_item_is_read_and_its_first_choice_is_right(
    line: str, phenomenon: str, choices: tuple[str, ...]
) -> None:
    item = read_item(line)
    assert (item.phenomenon, item.choices) == (phenomenon, choices)
    assert item.sentences == ("[MASK]" not in line)
    if not item.sentences:
        assert (item.before, item.after) == ("x ", ".")


def test_another_field_can_count_items() -> None:
    line = '{"sentence_good": "A.", "sentence_bad": "B.", "UID": "u", "linguistics_term": "t"}'
    assert read_item(line, by="UID").phenomenon == "u"
    with pytest.raises(BadInput, match="no field 'topic', which --by names"):
        read_item(line, by="topic")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("one column", "neither JSON nor two columns"),
        ("{broken", "not JSON"),
        ('{"sentence_good": "A."}', "give sentence_good and sentence_bad"),
        ('{"sentence_good": "A.", "sentence_bad": "A."}', "are the same"),
        ("A.\tA.", "are the same"),
        ('{"sentence_good": "A.", "sentence_bad": 3}', "are no texts"),
        ('{"text": "no blank", "answer": "y"}', r"no text with one \[MASK\]"),
        ('{"text": "[MASK] [MASK]", "answer": "y"}', r"no text with one \[MASK\]"),
        ('{"text": "[MASK]", "answer": "y"}', "nothing but"),
        ('{"text": "x [MASK]"}', "no 'answer'"),
        ('{"text": "x [MASK]", "answer": "y", "candidates": "z"}', "no list of words"),
    ],
)
def test_what_is_no_item_says_why(line: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        read_item(line)


def test_lines_that_are_no_items_are_named_together(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "items.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("A.\tB.\n\nonly one\n{broken\n")
    with pytest.raises(BadLines) as told:
        check_items(tmp_path / "items.tsv.gz")
    assert [line.partition(".gz")[2][:3] for line in told.value.lines[:2]] == [":3:", ":4:"]
    assert told.value.lines[-1].startswith("2 of 3 lines")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(BadInput, match="is empty"):
        check_items(tmp_path / "empty.jsonl")
    with pytest.raises(BadInput, match="does not exist"):
        check_items(tmp_path / "nowhere.jsonl")


def test_the_built_in_items_are_many_different_and_of_ten_phenomena_or_more() -> None:
    lines = BUILT_IN.read_text(encoding="utf-8").splitlines()
    assert check_items(BUILT_IN) == len(lines) == len(set(lines)) >= 200
    items = [read_item(line) for line in lines]
    counts = Counter(item.phenomenon for item in items)
    assert len(counts) >= 10 and min(counts.values()) >= 20
    for line, item in zip(lines, items, strict=True):
        assert len(set(item.choices)) == len(item.choices) >= 2
        whole = [f"{item.before}{choice}{item.after}" for choice in item.choices]
        assert all(text[0].isupper() or text.startswith("[MASK]") for text in whole), line
        assert all(text[-1] in ".?!" and "  " not in text for text in whole), line
        assert json.loads(line)["phenomenon"] == item.phenomenon
