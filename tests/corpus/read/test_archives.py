from __future__ import annotations

import bz2
import gzip
import io
import json
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from office_files import docx_bytes, paragraph

from unmask.corpus.collect import collect_corpus
from unmask.corpus.read.find import find_sources
from unmask.corpus.read.formats import Malformed, PassedOver
from unmask.corpus.read.reader import read_source
from unmask.records import Document


def packed() -> bytes:
    """An archive of all sorts of files, with names and links that lead out of it."""
    buffer, rows = io.BytesIO(), io.BytesIO()
    pq.write_table(pa.table({"text": ["A row of parquet."]}), rows)
    files = {
        "a.txt": b"One document.\n\nAnother document.\n",
        "../../b.jsonl": json.dumps({"text": "Of a name that leads out."}).encode() + b"\nbroken\n",
        "/etc/c.txt.gz": gzip.compress(b"Of a compressed file."),
        "d.parquet": rows.getvalue(),
        "e.docx": docx_bytes(paragraph("Of a docx.")),
        "f.bin": b"x",
        "inner.tar.gz": gzip.compress(b"y"),
        ".hidden.txt": b"No.",
    }
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("passwd.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return buffer.getvalue()


PACK = {".tar": bytes, ".tar.gz": gzip.compress, ".tgz": gzip.compress, ".tar.bz2": bz2.compress}
PACK[".tar.zst"] = zstandard.ZstdCompressor().compress


@pytest.mark.parametrize("suffix", PACK)
def test_the_files_of_an_archive_are_read_where_they_are_and_what_leads_out_is_a_name(
    tmp_path: Path, suffix: str
) -> None:
    (path := tmp_path / f"in{suffix}").write_bytes(PACK[suffix](packed()))
    (source,) = find_sources([str(path)])
    records = list(read_source(source))
    texts = [
        (record.source.removeprefix(f"{path}/"), record.text.strip())
        for record in records
        if isinstance(record, Document)
    ]
    assert texts == [
        ("a.txt", "One document."),
        ("a.txt", "Another document."),
        ("../../b.jsonl", "Of a name that leads out."),
        ("/etc/c.txt.gz", "Of a compressed file."),
        ("d.parquet", "A row of parquet."),
        ("e.docx", "Of a docx."),
    ]
    assert [record.line for record in records if isinstance(record, Malformed)] == [2]
    assert [record.kind for record in records if isinstance(record, PassedOver)] == [
        ".bin",
        ".tar.gz",
        "hidden",
        "link",
    ]
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_an_archive_that_is_cut_off_gives_what_came_before_and_counts_what_it_passed_over(tmp_path: Path) -> None:
    (folder := tmp_path / "in").mkdir()
    (folder / "whole.tar").write_bytes(packed())
    (folder / "cut.tar").write_bytes(packed()[:3_000])
    result = collect_corpus([str(folder)], tmp_path / "corpus")
    assert result.passed_over == {".bin": 1, ".tar.gz": 1, "hidden": 1, "link": 1}
    told = [json.loads(line) for line in (result.path / "quarantine.jsonl").read_text().splitlines()]
    assert any("cut off" in line["reason"] and line["source"].endswith("cut.tar") for line in told)


def pax(name: str, headers: dict[str, str], content: bytes = b"A document of some words.\n") -> bytes:
    """An archive of one file, with headers of pax before it."""
    buffer = io.BytesIO()
    with tarfile.open(
        fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"comment": "of all"}
    ) as archive:
        member = tarfile.TarInfo(name)
        member.size, member.pax_headers = len(content), headers
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


LONG = "déjà/" * 60 + "name.txt"


@pytest.mark.parametrize(
    ("name", "headers", "read"),
    [
        (LONG, {}, LONG),
        ("a.txt", {"path": "../../etc/b.txt"}, "../../etc/b.txt"),
        ("a.txt", {"comment": "x" * 100_000, "mtime": "1e400", "uid": "-5", "SCHILY.xattr.user": "\0"}, "a.txt"),
        ("a.txt", {"size": "5"}, "a.txt"),  # less than there is
    ],
)
def test_headers_of_pax_are_names_and_figures_and_nothing_else(
    tmp_path: Path, name: str, headers: dict[str, str], read: str
) -> None:
    (path := tmp_path / "in.tar").write_bytes(pax(name, headers))
    (source,) = find_sources([str(path)])
    documents = [record for record in read_source(source) if isinstance(record, Document)]
    assert [each.source for each in documents] == [f"{path}/{read}"]
    assert [each.name for each in tmp_path.iterdir()] == ["in.tar"]


@pytest.mark.parametrize("headers", [{"size": "999999999999"}, {"comment": "x" * (2 << 20)}, {"size": "many"}])
def test_headers_of_pax_that_lie_cost_the_archive_and_no_memory(tmp_path: Path, headers: dict[str, str]) -> None:
    (path := tmp_path / "in.tar").write_bytes(pax("a.txt", headers))
    (source,) = find_sources([str(path)])
    assert any(isinstance(record, Malformed) for record in read_source(source))
