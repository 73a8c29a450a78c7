from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.corpus.read import formats
from unmask.corpus.read.find import TextSource
from unmask.corpus.read.formats import MAX_CHARACTERS, Malformed, Record
from unmask.records import Document

REMEDY = "if the file is latin-1, give --encoding latin-1 (UTF-8 stays UTF-8)"
Reader = Callable[[io.BufferedReader, TextSource, str], Iterator[Record]]


def read(reader: Reader, data: bytes, form: str = "text", field: str = "text") -> list[Record]:
    content = io.BufferedReader(io.BytesIO(data))  # type: ignore[arg-type]
    return list(reader(content, TextSource("file", form), field))


def document(text: str, line: int) -> Document:
    return Document(text, "file", line)


def problems(records: list[Record]) -> list[tuple[int, str]]:
    return [(record.line, record.reason) for record in records if isinstance(record, Malformed)]


def test_text_is_a_paragraph_per_line_and_a_blank_line_between_documents() -> None:
    data = b"\xef\xbb\xbffirst\nstill first\n\n \t\r\n\nsecond\r\n\nthird"
    assert read(formats.read_text, data) == [
        document("first\nstill first\n", 1),
        document("second\r\n", 6),
        document("third", 8),
    ]


def test_a_line_that_is_not_utf8_is_left_out_of_its_document_alone() -> None:
    records = read(formats.read_text, b"good\nb\xffd\nfine\n\nnext\n\n\xfe\n")
    assert records == [
        Malformed("file", 2, f"not UTF-8 (invalid start byte at byte 1); {REMEDY}", "b\\xffd"),
        document("good\nfine\n", 1),
        document("next\n", 5),
        Malformed("file", 7, f"not UTF-8 (invalid start byte at byte 0); {REMEDY}", "\\xfe"),
    ]


def test_a_surrogate_in_utf8_is_malformed() -> None:
    assert problems(read(formats.read_text, "a\ud800".encode("utf-8", "surrogatepass"))) == [
        (1, f"not UTF-8 (invalid continuation byte at byte 1); {REMEDY}")
    ]


@pytest.mark.parametrize("word", ["word ", "é", "a\n", "日本語 の ", "x" * 70_000 + " "])
def test_an_over_long_text_comes_in_parts_and_nothing_is_lost(word: str) -> None:
    text = word * (350_000 // len(word))
    records = read(formats.read_text, text.encode())
    assert all(isinstance(record, Document) and len(record.text.encode()) <= MAX_CHARACTERS for record in records)
    assert "".join(record.text for record in records if isinstance(record, Document)) == text
    if " " in word:
        assert all(record.text.endswith(" ") for record in records if isinstance(record, Document))


@given(st.text(st.sampled_from("a é\n\t"), max_size=60), st.integers(4, 12))
def test_parts_joined_are_the_whole(text: str, longest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formats, "MAX_CHARACTERS", longest)
        cut = [part.text for part in formats.cut_long_text(text, "file", 3)]
    assert "".join(cut) == text
    assert all(len(part) <= longest for part in cut)


def test_jsonl_takes_its_text_from_a_field() -> None:
    data = b'{"text": "one", "id": 1}\n\n{"text": "tw\\u00f6"}\n{"text": ""}'
    assert read(formats.read_jsonl, data) == [document("one", 1), document("twö", 3), document("", 4)]
    assert read(formats.read_jsonl, b'{"body": "x"}\n', field="body") == [document("x", 1)]


def test_each_malformed_json_line_is_named_with_its_reason_and_the_rest_goes_on() -> None:
    lines = [
        b'{"text": "good"}',
        b'{"text": "cut',
        b"[1, 2]",
        b'{"body": "b", "id": 3}',
        b'{"text": 7}',
        b'{"text": null}',
        b'{"text": "\\ud800"}',
        b'{"text": "\xff"}',
        b"[" * 100_000,
        b'{"text": ' + b"9" * 5000 + b"}",
        b'{"text": "also good"}',
    ]
    records = read(formats.read_jsonl, b"\n".join(lines))
    assert [record for record in records if isinstance(record, Document)] == [
        document("good", 1),
        document("also good", 11),
    ]
    assert problems(records)[:7] == [
        (2, "not JSON (Unterminated string starting at character 9)"),
        (3, "not a JSON object"),
        (4, "no field 'text'; there are 'body', 'id'"),
        (5, "field 'text' is not a string"),
        (6, "field 'text' is not a string"),
        (7, "a lone surrogate, which is no character"),
        (8, f"not UTF-8 (invalid start byte at byte 10); {REMEDY}"),
    ]
    assert problems(records)[7] == (9, "nested too deeply")
    assert problems(records)[8][0] == 10


def test_an_endless_json_line_is_passed_over_without_being_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "ROW", 100)
    data = b'{"text": "' + b"x" * 1000 + b'"}\n{"text": "good"}\n'
    records = read(formats.read_jsonl, data)
    assert [(type(record), record.line) for record in records] == [(Malformed, 1), (Document, 2)]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=8))
def test_csv_gives_back_what_was_written(texts: list[str]) -> None:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerows([["id", "text"], *([str(number), text] for number, text in enumerate(texts))])
    records = read(formats.read_delimited, file.getvalue().encode(), "csv")
    assert [record.text for record in records] == texts


def test_csv_rows_have_the_line_they_begin_on_and_bad_ones_are_named() -> None:
    data = b'text,n\n"two\nlines",1\nb\xffd,2\n\n"good",3\n'
    assert read(formats.read_delimited, data, "csv") == [
        document("two\nlines", 2),
        Malformed("file", 4, f"not UTF-8; {REMEDY}", "b\\xffd,2"),
        document("good", 6),
    ]


def test_a_row_that_ends_before_its_text_is_malformed() -> None:
    records = read(formats.read_delimited, b"n\ttext\n1\tone\n2\n", "tsv")
    assert problems(records) == [(3, "no field 'text'; there are 'n'")]


def test_a_table_without_the_column_is_malformed_as_a_whole(tmp_path: Path) -> None:
    reason = "no column 'text'; choose with --field among 'id', 'body'"
    assert read(formats.read_delimited, b"id,body\n1,x\n", "csv") == [Malformed("file", 0, reason)]
    pq.write_table(pa.table({"id": [1], "body": ["x"]}), tmp_path / "t.parquet")
    assert parquet(tmp_path / "t.parquet") == [Malformed(str(tmp_path / "t.parquet"), 0, reason)]


def parquet(path: Path) -> list[Record]:
    with path.open("rb") as content:
        return list(formats.read_parquet(content, TextSource(str(path), "parquet"), "text"))


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.binary(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
)
def test_parquet_gives_a_document_a_row_whatever_kind_of_string(tmp_path: Path, kind: pa.DataType) -> None:
    texts = [f"document {number}" for number in range(2_500)]
    table = pa.table({"text": pa.array(texts).cast(kind), "n": range(2_500)})
    pq.write_table(table, path := tmp_path / "t.parquet", row_group_size=1_000)
    assert parquet(path) == [Document(text, str(path), line) for line, text in enumerate(texts, 1)]


def test_parquet_rows_that_are_null_or_not_utf8_are_malformed(tmp_path: Path) -> None:
    data = pa.array([b"good", None, b"b\xff"], type=pa.binary())
    pq.write_table(pa.table({"text": data}), path := tmp_path / "t.parquet")
    assert problems(parquet(path)) == [
        (2, "null, not a string"),
        (3, "not UTF-8 (invalid start byte at byte 1)"),
    ]


def test_a_parquet_column_of_numbers_and_a_file_that_is_not_parquet_are_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": [1, 2]}), path := tmp_path / "t.parquet")
    assert problems(parquet(path)) == [(0, "column 'text' is int64, not strings")]
    path.write_bytes(path.read_bytes()[:-20])
    [(line, reason)] = problems(parquet(path))
    assert line == 0
    assert reason.startswith("not parquet, or damaged (")
