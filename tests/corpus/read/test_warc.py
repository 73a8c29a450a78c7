from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import pytest

from unmask.corpus.collect import collect_corpus
from unmask.corpus.read import warc
from unmask.corpus.read.find import find_sources
from unmask.corpus.read.formats import Malformed, PassedOver
from unmask.corpus.read.reader import read_source
from unmask.errors import BadInput
from unmask.records import Document

PAGE = "<html><body><nav>Home</nav><p>{}</p></body></html>"


def record(kind: str, block: bytes, content_type: str, address: str = "https://example.org/") -> bytes:
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {address}\r\nContent-Type: {content_type}\r\n"
    return f"{head}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n"


def response(body: bytes, header: str = "Content-Type: text/html", status: int = 200) -> bytes:
    answer = f"HTTP/1.1 {status} OK\r\n{header}\r\n\r\n".encode() + body
    return record("response", answer, "application/http; msgtype=response")


def page(text: str) -> bytes:
    return response(PAGE.format(text).encode())


def chunked(body: bytes) -> bytes:
    pieces = (body[n : n + 7] for n in range(0, len(body), 7))
    return b"".join(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces)


RECORDS = [
    record("warcinfo", b"software: crawler\r\n", "application/warc-fields"),
    record("request", b"GET / HTTP/1.1\r\n\r\n", "application/http; msgtype=request"),
    page("A page of prose."),
    record("conversion", "Text of a WET file, déjà.".encode(), "text/plain"),
    response(PAGE.format("café, as its server says").encode("latin-1"), "Content-Type: text/html; charset=iso-8859-1"),
    response(
        chunked(gzip.compress(b"<p>In chunks and packed.")) + b"0\r\n\r\n",
        "Content-Type: text/html\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip",
    ),
    response(b"<p>Said to be packed.", "Content-Type: text/html\r\nContent-Encoding: gzip"),
    response(b"GIF89a", "Content-Type: image/gif"),
    response(b"<p>Gone.", status=404),
    response(b"Plain text.", "Content-Type: text/plain"),
    record("resource", b"<p>A file of the crawler.", "text/html"),
    record("revisit", b"", "application/http"),
]
TEXTS = {
    3: "A page of prose.",
    4: "Text of a WET file, déjà.",
    5: "café, as its server says",
    6: "In chunks and packed.",
    7: "Said to be packed.",
    10: "Plain text.",
    11: "A file of the crawler.",
}


def read(path: Path, data: bytes) -> list[object]:
    path.write_bytes(data)
    (source,) = find_sources([str(path)])
    return list(read_source(source))


def texts(records: list[object]) -> dict[int, str]:
    return {each.line: each.text for each in records if isinstance(each, Document)}


PACKED = {
    "in.warc": b"".join(RECORDS),
    "in.warc.gz": b"".join(map(gzip.compress, RECORDS)),
    "in.warc.wet.gz": gzip.compress(b"".join(RECORDS)),  # packed as one, as some do
    "in.wet.bz2": bz2.compress(b"".join(RECORDS)),
}


@pytest.mark.parametrize("name", PACKED)
def test_pages_and_texts_of_a_web_archive_are_read_and_what_is_none_is_counted(tmp_path: Path, name: str) -> None:
    records = read(tmp_path / name, PACKED[name])
    assert texts(records) == TEXTS
    assert [each.kind for each in records if isinstance(each, PassedOver)] == ["image/gif", "status 404", "revisit"]
    assert not [each for each in records if isinstance(each, Malformed)]


def test_a_damaged_gzip_member_costs_its_record_and_no_other(tmp_path: Path) -> None:
    members = [bytearray(gzip.compress(page(f"Page {number} of prose."))) for number in range(1, 9)]
    members[2][len(members[2]) // 2] ^= 0xFF  # the data
    members[4][-6] ^= 0xFF  # the checksum alone: all of it unpacks
    members[5] = members[5][:-20]  # cut off
    records = read(tmp_path / "in.warc.gz", b"".join(members))
    assert list(texts(records).values()) == [f"Page {number} of prose." for number in (1, 2, 4, 7, 8)]
    malformed = [(each.line, each.reason) for each in records if isinstance(each, Malformed)]
    assert [line for line, _ in malformed] == [3, 5, 6]
    assert all("packed wrongly" in reason for _, reason in malformed)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"nothing like a record\r\n\r\n", "no record where one should begin: 'nothing like a record'"),
        (b"WARC/1.0\r\nWARC-Type: response\r\n\r\n", "a record without its length (Content-Length '')"),
        (page("Short.").replace(b"Content-Length: ", b"Content-Length: 0\r\nX: "), "a record that does not end where"),
        (page("Long.").replace(b"Content-Length: ", b"Content-Length: 999999999"), "a record of more than 64 MB"),
        (record("response", b"no answer", "application/http"), "an answer that is no HTTP"),
        (response(b"\x8b\x01br", "Content-Type: text/html\r\nContent-Encoding: br"), "a page packed with br"),
        (response(b"zzz", "Content-Type: text/html\r\nContent-Encoding: gzip"), "a page that is packed wrongly"),
        (response(b"7\r\nabc", "Content-Type: text/html\r\nTransfer-Encoding: chunked"), "a page whose chunks do not"),
        (record("conversion", b"caf\xe9", "text/plain"), "not UTF-8"),
        (b"WARC/1.0\r\n" + b"x" * 100_000, "a header that does not end"),
    ],
)
def test_a_bad_record_is_named_by_its_number_and_the_next_one_is_read(tmp_path: Path, bad: bytes, reason: str) -> None:
    records = read(tmp_path / "in.warc", page("The first.") + bad + b"\r\n" + page("The last."))
    assert list(texts(records).values()) == ["The first.", "The last."]
    (problem,) = [each for each in records if isinstance(each, Malformed)]
    assert problem.line == 2
    assert problem.reason.startswith(reason)


def test_an_archive_that_breaks_off_gives_what_came_before(tmp_path: Path) -> None:
    for name, data in {
        "in.warc": page("One.") + page("Two.")[:-40],
        "in.warc.gz": gzip.compress(page("One.")) + gzip.compress(page("Two."))[:-40],
    }.items():
        records = read(tmp_path / name, data)
        assert list(texts(records).values()) == ["One."]
        (problem,) = [each for each in records if isinstance(each, Malformed)]
        assert (problem.line, "breaks off" in problem.reason) == (2, True)


def test_a_record_that_is_a_bomb_costs_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc, "UNSUSPECTED", 1 << 20)
    bomb = gzip.compress(record("conversion", bytes(8 << 20), "text/plain"))
    records = read(tmp_path / "in.warc.gz", gzip.compress(page("One.")) + bomb + gzip.compress(page("Two.")))
    assert list(texts(records).values()) == ["One.", "Two."]
    assert [each.reason for each in records if isinstance(each, Malformed)] == [
        "a record that unpacks to more than 250 times its size, which text does not"
    ]


def test_what_is_no_archive_is_one_line_and_what_is_lost_of_one_is_in_the_quarantine(tmp_path: Path) -> None:
    for name in ("text.warc", "text.warc.gz"):
        (tmp_path / name).write_bytes(b"Just a text, whatever its name says.\n" * 9)
        with pytest.raises(BadInput, match=f"{name}: not a web archive, or damaged: "):
            collect_corpus([str(tmp_path / name)], tmp_path / "corpus")
    pages = [page(f"Page number {n} of the archive, with prose.") for n in range(30)]
    pages[7] = response(b"x", "Content-Type: text/html\r\nContent-Encoding: br")
    (tmp_path / "good.warc.gz").write_bytes(b"".join(map(gzip.compress, pages)))
    result = collect_corpus([str(tmp_path / "good.warc.gz")], tmp_path / "corpus")
    assert result.counts["read"] == 29
    (line,) = (result.path / "quarantine.jsonl").read_text().splitlines()
    assert json.loads(line) == {
        "source": str(tmp_path / "good.warc.gz"),
        "line": 8,
        "reason": "a page packed with br, which is not read",
        "text": "https://example.org/",
    }
