from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.corpus.read.encodings import as_utf8, check_encoding, not_decoded
from unmask.corpus.read.find import TextSource
from unmask.corpus.read.formats import Malformed, Record
from unmask.corpus.read.reader import read_source
from unmask.errors import BadInput
from unmask.records import Document


def read(path: Path, form: str, encoding: str) -> list[Record]:
    return list(read_source(TextSource(str(path), form, encoding=encoding)))


@given(st.text(st.characters(codec="utf-16"), max_size=50), st.integers(1, 9))
def test_text_is_the_same_in_utf8_however_it_is_cut(text: str, size: int) -> None:
    data = text.encode("utf-16")
    chunks = (data[start : start + size] for start in range(0, len(data), size))
    assert b"".join(as_utf8(chunks, "utf-16")).decode() == text


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "shift_jis", "UTF8", "utf-8-sig", "ISO-8859-15"])
def test_encodings_of_text_are_taken(encoding: str) -> None:
    check_encoding(encoding)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("latin1x", "did you mean latin1?"),
        ("Utf 88", "did you mean utf-8?"),
        ("base64", "such as utf-8"),
        ("klingon", "such as utf-8"),
        ("", "such as utf-8"),
        ("a\0b", "such as utf-8"),
    ],
)
def test_a_name_of_no_encoding_is_refused_with_the_nearest(name: str, remedy: str) -> None:
    with pytest.raises(BadInput) as raised:
        check_encoding(name)
    assert str(raised.value).startswith(f"encoding {name!r}: there is none of this name; {remedy}")


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("text", "Das Café.\n\nÄhnlich."),
        ("jsonl", '{"text": "Das Café."}\n{"text": "Ähnlich."}'),
        ("csv", "text\nDas Café.\nÄhnlich."),
        ("html", "<p>Das Café.<p>Ähnlich."),
        ("markdown", "Das Café.\n\nÄhnlich."),
    ],
)
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_every_format_of_text_is_read_in_the_encoding_asked_for(
    tmp_path: Path, form: str, content: str, encoding: str
) -> None:
    (path := tmp_path / "file").write_bytes(content.encode(encoding))
    texts = [record.text.strip() for record in read(path, form, encoding) if isinstance(record, Document)]
    assert "\n".join(texts) == "Das Café.\nÄhnlich."


def test_a_line_that_is_not_in_the_encoding_is_set_aside_alone(tmp_path: Path) -> None:
    (path := tmp_path / "file").write_bytes(b"Caf\xe9.\n\nbad \x81 byte\n\nFine \x80.\n")
    assert read(path, "text", "cp1252") == [
        Document("Café.\n", str(path), 1),
        Malformed(str(path), 3, "not cp1252", "bad \\x81 byte"),
        Document("Fine €.\n", str(path), 5),
    ]


def test_what_is_in_utf16_is_said_to_be() -> None:
    with pytest.raises(UnicodeDecodeError) as raised:
        "text".encode("utf-16").decode()
    assert not_decoded(raised.value, "utf-8").endswith("; if the file is utf-16, give --encoding utf-16")
