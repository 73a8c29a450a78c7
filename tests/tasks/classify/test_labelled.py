"""Labelled files are read as what they are, and what cannot be used is told with its file and line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.tasks.classify.labelled import FieldNames, check_labels, check_trainable, read_labelled


def jsonl(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_jsonl_csv_tsv_and_packed_files_say_the_same(tmp_path: Path) -> None:
    rows = [('A "quoted" one, with a comma.', "yes"), ("Another.", "no")]
    files = [jsonl(tmp_path / "a.jsonl", *({"text": text, "label": label} for text, label in rows))]
    files.append(tmp_path / "a.csv")
    files[-1].write_text('text,label\n"A ""quoted"" one, with a comma.",yes\nAnother.,no\n', encoding="utf-8")
    files.append(tmp_path / "a.tsv")
    files[-1].write_text("".join(f"{a}\t{b}\n" for a, b in [("text", "label"), *rows]), encoding="utf-8")
    files.append(tmp_path / "a.jsonl.gz")
    files[-1].write_bytes(gzip.compress(files[0].read_bytes()))
    for file in files:
        examples = read_labelled(file)
        assert [(example.text, example.labels) for example in examples.examples] == [(a, (b,)) for a, b in rows]
        assert examples.labels == ("no", "yes") and not examples.several


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        ({"text": "a b", "label": "x"}, FieldNames("text", None, "label")),
        ({"sentence": "a b", "intent": "x"}, FieldNames("sentence", None, "intent")),
        ({"premise": "a", "hypothesis": "b", "label": "x"}, FieldNames("premise", "hypothesis", "label")),
        ({"Question": "a", "Sentence": "b", "Class": "x"}, FieldNames("Question", "Sentence", "Class")),
        ({"words of it": "a b c", "category": "x"}, FieldNames("words of it", None, "category")),
    ],
)
def test_fields_are_known_by_their_names(record: dict[str, str], fields: FieldNames, tmp_path: Path) -> None:
    assert read_labelled(jsonl(tmp_path / "a.jsonl", record)).fields == fields


def test_fields_that_are_asked_for_are_taken(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "a.jsonl", {"text": "no", "body": "one two", "more": "three", "label": 1, "kind": "x"})
    examples = read_labelled(file, text="body", pair="more", label="kind")
    assert examples.examples[0][1:4] == ("one two", "three", ("x",))


def test_lists_are_several_labels_and_numbers_are_names_in_their_order(tmp_path: Path) -> None:
    several = read_labelled(
        jsonl(tmp_path / "a.jsonl", {"text": "a", "labels": ["y", "x"]}, {"text": "b", "labels": []})
    )
    assert several.several and several.labels == ("x", "y") and several.examples[1].labels == ()
    numbers = read_labelled(jsonl(tmp_path / "b.jsonl", *({"text": "a", "label": n} for n in (10, 9, 1))))
    assert numbers.labels == ("1", "9", "10")


def test_lines_without_text_are_left_out_and_counted(tmp_path: Path) -> None:
    records = [{"text": "a", "label": "x"}, {"text": "  ", "label": "y"}]
    examples = read_labelled(jsonl(tmp_path / "a.jsonl", *records))
    assert len(examples) == 1 and examples.empty == 1


BAD = {
    "no label in it": ([{"text": "a b"}], "a.jsonl: which field? --label-field names it, one of 'text'"),
    "not there in a line": ([{"text": "a", "label": "x"}, {"text": "b"}], "a.jsonl:2: has no field 'label'"),
    "no text": ([{"text": "a", "label": "x"}, {"text": 5, "label": "x"}], "a.jsonl:2: the field 'text' is no text"),
    "scores": ([{"text": "a", "label": 0.5}], "a.jsonl:1: the field 'label' is 0.5, a score and no label: similarity"),
    "twice": (
        [{"id": 7, "text": "a", "label": "x"}, {"id": 7, "text": "b", "label": "x"}],
        "a.jsonl:2: the id 7 is that of line 1 too; leave one out",
    ),
    "lists and not": (
        [{"text": "a", "label": "x"}, {"text": "b", "label": ["x"]}],
        "a.jsonl:2: the field 'label' is a list here and one label in line 1",
    ),
    "null": ([{"text": "a", "label": "x"}, {"text": None, "label": "x"}], "a.jsonl:2: the field 'text' is null"),
    "no number": ([{"text": "a", "label": float("nan")}], "a.jsonl:1: is not JSON; give one object a line"),
    "a list": ([["a", "x"]], "a.jsonl:1: is not a JSON object"),
    "nothing": ([], "a.jsonl: has no examples"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_is_told_with_its_line(name: str, tmp_path: Path) -> None:
    records, message = BAD[name]
    file = jsonl(tmp_path / "a.jsonl", *records)
    with pytest.raises(BadInput) as told:
        read_labelled(file)
    assert message in str(told.value)


def test_ids_may_repeat_where_they_name_a_group(tmp_path: Path) -> None:
    records = [{"id": 7, "text": "a", "label": "x"}, {"id": 7, "text": "b", "label": "x"}]
    assert len(read_labelled(jsonl(tmp_path / "a.jsonl", *records), group="id")) == 2


def test_a_ragged_table_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,x\nb, with a comma,x\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"a\.csv:3: has 3 columns, the first line 2; quote texts"):
        read_labelled(tmp_path / "a.csv")
    (tmp_path / "a.tsv").write_text("text\tlabel\na\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"a\.tsv:2: has 1 columns, the first line 2"):
        read_labelled(tmp_path / "a.tsv")


def test_a_table_without_names_a_quote_that_stays_open_and_other_encodings_are_told_with_their_line(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.tsv").write_text("What a lovely film\tgood\nHow dull\tbad\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"which field\?.*\(a table has the names in its first line\)"):
        read_labelled(tmp_path / "a.tsv")
    (tmp_path / "a.csv").write_text('text,label\na,x\n"b,x\nc,x\nd,x\n', encoding="utf-8")
    with pytest.raises(BadInput, match=r"a\.csv:3: a quote that begins in this row is not closed"):
        read_labelled(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_bytes("text,label\na,x\ncafé,x\n".encode("latin-1"))
    with pytest.raises(BadInput, match=r"b\.csv:3: is not UTF-8"):
        read_labelled(tmp_path / "b.csv")


def test_a_file_of_another_kind_and_a_misspelt_one_are_told(tmp_path: Path) -> None:
    (tmp_path / "train.parquet").write_bytes(b"")
    with pytest.raises(BadInput, match=r"give a file that ends in \.jsonl, \.csv or \.tsv"):
        read_labelled(tmp_path / "train.parquet")
    with pytest.raises(BadInput, match="did you mean"):
        read_labelled(tmp_path / "trian.parquet")
    with pytest.raises(BadInput, match="has no field 'txt'; did you mean text"):
        read_labelled(jsonl(tmp_path / "a.jsonl", {"text": "a", "label": "x"}), text="txt")


def test_three_examples_or_one_label_are_refused(tmp_path: Path) -> None:
    few = read_labelled(jsonl(tmp_path / "a.jsonl", *({"text": "a", "label": x} for x in "xyx")))
    with pytest.raises(BadInput, match="3 examples, too few to learn from; give at least 10"):
        check_trainable(few)
    empty = read_labelled(jsonl(tmp_path / "c.jsonl", {"text": "a", "label": "x"}, {"text": " ", "label": "x"}))
    with pytest.raises(BadInput, match="1 example beside 1 line without text, too few"):
        check_trainable(empty)
    same = read_labelled(jsonl(tmp_path / "b.jsonl", *({"text": "a", "label": "x"} for _ in range(20))))
    with pytest.raises(BadInput, match="every example has the label 'x', there is nothing to tell apart"):
        check_trainable(same)


def test_labels_that_were_never_learnt_are_told_with_their_line(tmp_path: Path) -> None:
    test = read_labelled(jsonl(tmp_path / "a.jsonl", *({"text": "a", "label": x} for x in ("card", "carr", "z"))))
    with pytest.raises(BadInput, match=r"a\.jsonl:2: the label 'carr' \(and 1 more like it\) .* did you mean card\?"):
        check_labels(test, ("card", "cash"), several=False)
    with pytest.raises(BadInput, match="is not a list of labels, as in training"):
        check_labels(test, ("card",), several=True)
