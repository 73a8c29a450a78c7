from __future__ import annotations

import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from office_files import docx_bytes, paragraph, pdf_bytes

from unmask.corpus.read.find import find_sources
from unmask.corpus.read.formats import Malformed, Record
from unmask.corpus.read.reader import read_source
from unmask.records import Document


def records(path: Path) -> tuple[list[Record], int]:
    taken: list[int] = []
    [source] = find_sources([str(path)])
    return list(read_source(source, on_bytes=taken.append)), sum(taken)


def parquet_bytes() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"text": ["One document.", "Another one."]}), file)
    return file.getvalue()


CONTENT: dict[str, bytes] = {
    ".txt": b"One document.\n\nAnother one.",
    ".jsonl": b'{"text": "One document."}\n{"text": "Another one."}\n',
    ".csv": b"text,n\nOne document.,1\nAnother one.,2\n",
    ".parquet": parquet_bytes(),
    ".md": b"# One document.\n\nAnother one.",
    ".html": b"<h1>One document.</h1><p>Another one.",
    ".pdf": pdf_bytes(["One document.", "Another one."]),
    ".docx": docx_bytes(paragraph("One document.") + paragraph("Another one.")),
}
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
    ".xz": lzma.compress,
}


@pytest.mark.parametrize("suffix", CONTENT)
@pytest.mark.parametrize("packing", PACK)
def test_every_format_is_read_plain_and_compressed(tmp_path: Path, suffix: str, packing: str) -> None:
    path = tmp_path / f"x{suffix}{packing}"
    path.write_bytes(data := PACK[packing](CONTENT[suffix]))
    found, taken = records(path)
    text = "\n".join(record.text.strip() for record in found)
    assert text == "One document.\nAnother one."
    assert taken == len(data)


def test_what_comes_before_the_end_of_a_truncated_file_counts(tmp_path: Path) -> None:
    documents = "".join(f"Document number {number}.\n\n" for number in range(20_000)).encode()
    path = tmp_path / "x.txt.gz"
    path.write_bytes(gzip.compress(documents)[:-10_000])
    found, _ = records(path)
    assert len(found) > 10_000
    assert found[0] == Document("Document number 0.\n", str(path), 1)
    assert isinstance(found[-1], Malformed)
    assert found[-1].line == found[-2].line > 1
    assert found[-1].reason == "breaks off (the compressed data is truncated)"


def test_a_file_that_cannot_be_opened_is_malformed_as_a_whole(tmp_path: Path) -> None:
    (path := tmp_path / "x.txt").write_text("x")
    [source] = find_sources([str(path)])
    path.unlink()
    assert list(read_source(source)) == [Malformed(str(path), 0, "No such file or directory")]


@pytest.mark.parametrize(
    ("data", "texts"),
    [(b"one\n\ntwo\n", ["one\n", "two\n"]), (b'{"text": "one"}\n', ["one"]), (b"", [])],
)
def test_standard_input_is_jsonl_when_it_begins_with_a_brace_and_else_text(
    monkeypatch: pytest.MonkeyPatch, data: bytes, texts: list[str]
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    taken: list[int] = []
    [source] = find_sources(["-"])
    found = list(read_source(source, on_bytes=taken.append))
    assert [(record.text, record.source) for record in found] == [(text, "-") for text in texts]
    assert sum(taken) == len(data)
