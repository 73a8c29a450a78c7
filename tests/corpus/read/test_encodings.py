from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.corpus.read.encodings import LONGEST, Recoder, check_encoding, not_decoded
from unmask.corpus.read.find import TextSource
from unmask.corpus.read.formats import Malformed, Recoded, Record
from unmask.corpus.read.reader import read_source
from unmask.errors import BadInput
from unmask.records import Document


def read(path: Path, form: str, encoding: str) -> list[Record]:
    return list(read_source(TextSource(str(path), form, encoding=encoding)))


@given(st.text(st.characters(codec="utf-16"), max_size=50), st.integers(1, 9))
def test_text_is_the_same_in_utf8_however_it_is_cut(text: str, size: int) -> None:
    data = text.encode("utf-16")
    chunks = (data[start : start + size] for start in range(0, len(data), size))
    assert b"".join(Recoder("utf-16").as_utf8(chunks)).decode() == text


@given(st.lists(st.tuples(st.text(st.characters(codec="gb18030"), max_size=9), st.booleans())), st.integers(1, 9))
def test_each_line_is_read_as_what_it_is_however_the_file_is_cut(lines: list[tuple[str, bool]], size: int) -> None:
    lines = [(text.replace("\n", "").replace("\r", ""), other) for text, other in lines]
    spelt = [(text, text.encode("gb18030" if other else "utf-8")) for text, other in lines]
    spelt = [(text, data) for text, data in spelt if data == text.encode() or not valid_utf8(data)]
    data = b"".join(data + b"\n" for _, data in spelt)
    chunks = (data[start : start + size] for start in range(0, len(data), size))
    recoder = Recoder("gb18030")
    assert b"".join(recoder.as_utf8(chunks)).decode() == "".join(text + "\n" for text, _ in spelt)
    assert recoder.recoded == any(data != text.encode() for text, data in spelt)


def valid_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_a_line_longer_than_is_looked_at_together_loses_no_character(encoding: str) -> None:
    text = "中文" * LONGEST
    data = text.encode(encoding)
    chunks = (data[start : start + 65_537] for start in range(0, len(data), 65_537))
    assert b"".join(Recoder("gb18030").as_utf8(chunks)).decode() == text


def test_what_came_before_a_file_breaks_off_is_kept() -> None:
    def chunks() -> Iterator[bytes]:
        yield b"One.\nCaf\xe9"
        raise EOFError

    taken: list[bytes] = []
    with pytest.raises(EOFError):
        taken.extend(Recoder("latin-1").as_utf8(chunks()))
    assert b"".join(taken).decode() == "One.\nCafé"


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
        Malformed(str(path), 3, "neither UTF-8 nor cp1252", "bad \\x81 byte"),
        Document("Fine €.\n", str(path), 5),
        Recoded(str(path), "cp1252"),
    ]


def test_what_is_in_utf16_is_said_to_be() -> None:
    with pytest.raises(UnicodeDecodeError) as raised:
        "text".encode("utf-16").decode()
    assert not_decoded(raised.value, "utf-8").endswith(
        "if the file is utf-16, give --encoding utf-16 (UTF-8 stays UTF-8)"
    )


@pytest.mark.parametrize("form", ["text", "jsonl", "csv", "markdown", "html"])
@pytest.mark.parametrize("encoding", ["latin-1", "gb18030", "utf-16", "utf-16-le", "utf-32", "cp037", "iso2022_jp"])
def test_what_is_utf8_is_read_as_utf8_whatever_encoding_is_given_for_the_rest(
    tmp_path: Path, form: str, encoding: str
) -> None:
    sentence = "Kinase β binds 5 µM of naïve “ligand”."
    shell = {"jsonl": '{"text": "TEXT"}', "csv": "text\nTEXT", "html": "<p>TEXT"}.get(form, "TEXT")
    (path := tmp_path / "file").write_text(shell.replace("TEXT", sentence), encoding="utf-8")
    records = read(path, form, encoding)
    assert [record.text for record in records if isinstance(record, Document)] == [sentence]
    assert not any(isinstance(record, Recoded) for record in records)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "cp037", "iso2022_jp"])
def test_a_file_in_an_encoding_without_the_bytes_of_ascii_is_read_in_it_as_a_whole(
    tmp_path: Path, encoding: str
) -> None:
    text = "日本 and more.\n" if encoding == "iso2022_jp" else "The cafe and more.\n"
    (path := tmp_path / "file").write_bytes(text.encode(encoding))
    assert read(path, "text", encoding) == [Document(text, str(path), 1), Recoded(str(path), encoding)]


def test_a_page_is_read_in_the_encoding_that_it_declares_before_the_one_given(tmp_path: Path) -> None:
    page = '<meta charset="windows-1251"><p>Привет.'
    (path := tmp_path / "file").write_bytes(page.encode("cp1251"))
    assert read(path, "html", "latin-1") == [Document("Привет.", str(path), 1)]
    (path := tmp_path / "file").write_bytes(b'<meta charset="utf-8"><p>Caf\xe9.')
    assert read(path, "html", "latin-1")[0] == Document("Café.", str(path), 1)
