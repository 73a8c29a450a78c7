from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from office_files import docx_bytes, paragraph, pdf_bytes

from unmask.corpus.read import waves
from unmask.corpus.read.find import find_sources
from unmask.corpus.read.waves import CorpusReader
from unmask.errors import BadInput


def taken_in(folder: Path, *paths: Path) -> CorpusReader:
    return CorpusReader(find_sources([str(path) for path in paths]), "text", folder / "quarantine.jsonl")


def test_waves_are_bounded_and_hold_every_document_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waves, "WAVE", 1_000)
    texts = [f"Document {number} " + "word " * (number % 30) for number in range(300)]
    for number in range(3):
        lines = [json.dumps({"text": text}) for text in texts[number * 100 : number * 100 + 100]]
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines))
    reading = taken_in(tmp_path, tmp_path)
    tables = list(reading.waves())
    assert [text for wave in tables for text in wave["text"].to_pylist()] == texts
    assert [line for wave in tables for line in wave["line"].to_pylist()] == [*range(1, 101)] * 3
    assert max(sum(map(len, wave["text"].to_pylist())) for wave in tables) < 1_000 + 200
    assert reading.documents_read == 300
    assert reading.bytes == sum(path.stat().st_size for path in tmp_path.glob("*.jsonl"))


def test_malformed_lines_go_to_the_quarantine_with_their_place_and_reason(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "good"}\n{"text": "b\xff"}\n')
    (tmp_path / "b.csv").write_text("body\nno such column\n")
    reading = taken_in(tmp_path, tmp_path)
    assert [len(wave) for wave in reading.waves()] == [1]
    lines = (tmp_path / "quarantine.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "source": f"{tmp_path}/a.jsonl",
            "line": 2,
            "reason": "not UTF-8 (invalid start byte at byte 11); if the file is latin-1, give --encoding latin-1 "
            "(UTF-8 stays UTF-8)",
            "text": '{"text": "b\\xff"}',
        },
        {
            "source": f"{tmp_path}/b.csv",
            "line": 0,
            "reason": "no column 'text'; choose with --field among 'body'",
            "text": "",
        },
    ]
    assert (reading.documents_read, reading.malformed_records) == (1, 2)


def test_a_file_that_is_named_must_be_readable_as_a_whole(tmp_path: Path) -> None:
    (path := tmp_path / "b.csv").write_text("body\nno such column\n")
    with pytest.raises(BadInput, match=r"b\.csv: no column 'text'; choose with --field among 'body'$"):
        list(taken_in(tmp_path, path).waves())


def test_pages_without_text_are_counted_and_office_files_that_cannot_be_read_set_aside_even_if_named(
    tmp_path: Path,
) -> None:
    (tmp_path / "some.pdf").write_bytes(pdf_bytes(["", "Some text.", ""]))
    (tmp_path / "none.pdf").write_bytes(pdf_bytes([""]))
    (tmp_path / "damaged.pdf").write_bytes(b"no pdf")
    (tmp_path / "fine.docx").write_bytes(docx_bytes(paragraph("Fine.")))
    names = ("some.pdf", "none.pdf", "damaged.pdf", "fine.docx")
    reading = taken_in(tmp_path, *(tmp_path / name for name in names))
    [wave] = reading.waves()
    assert wave["text"].to_pylist() == ["Some text.", "Fine."]
    assert (reading.pages_without_text, reading.malformed_records, reading.documents_read) == (3, 2, 2)
    lines = [json.loads(line) for line in (tmp_path / "quarantine.jsonl").read_text().splitlines()]
    assert [(Path(line["source"]).name, line["reason"]) for line in lines] == [
        ("some.pdf", "no text on 2 of its 3 pages: scanned? OCR makes text of pictures"),
        ("none.pdf", "no text on any of its pages (1): scanned? OCR makes text of pictures"),
        ("damaged.pdf", lines[2]["reason"]),
    ]
    assert lines[2]["reason"].startswith("not a pdf, or damaged (")


def test_a_file_name_that_is_no_text_is_spelled_out(tmp_path: Path) -> None:
    name = os.fsdecode(bytes(tmp_path / "caf") + b"\xe9.txt")
    Path(name).write_text("A document.")
    [wave] = taken_in(tmp_path, tmp_path).waves()
    assert wave["source"].to_pylist() == [f"{tmp_path}/caf\\udce9.txt"]
