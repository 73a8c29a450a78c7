from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.inference.corpus_records import TextRecord, cut_passages, read_records
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.load import load_tokenizer

Make = Callable[..., Path]


def test_ids_are_the_records_own_or_the_numbers_of_their_lines(tmp_path: Path) -> None:
    lines = [{"_id": "a", "title": "T", "text": "x"}, {"id": 7, "title": "", "text": "y"}, {"title": "U", "text": "z"}]
    packed = tmp_path / "c.jsonl.gz"
    packed.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    assert [*read_records(packed)] == [TextRecord("a", "x"), TextRecord("7", "y"), TextRecord("3", "z")]
    assert [record.text for record in read_records(packed, "title,text")] == ["T\nx", "y", "U\nz"]
    plain = tmp_path / "c.txt"
    plain.write_text("one\n\nthree\n")
    assert [*read_records(plain)] == [TextRecord("1", "one"), TextRecord("3", "three")]


def test_a_data_directory_gives_its_clean_documents(data: Path) -> None:
    records = [*read_records(data)]
    assert records[0].id == "train-1" and records[-1].id.startswith("valid-")
    assert len({record.id for record in records}) == len(records) > 250


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"body": "x"}', "no field 'text'"),
        (b'{"text": 3}', "the field 'text' is no text"),
        (b'{"text": "\\ud800"}', "the text is not valid Unicode"),
        (b"\xff", "not UTF-8 at byte 1"),
    ],
)
def test_a_bad_line_is_named_by_file_and_number(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"text": "good"}\n' + line + b"\n")
    with pytest.raises(BadInput, match=rf"c\.jsonl:2: {reason}"):
        list(read_records(path))


def test_what_is_no_corpus_is_named(tmp_path: Path, make_model: Make) -> None:
    with pytest.raises(BadInput, match="is a model directory; give a file of texts"):
        list(read_records(make_model()))
    with pytest.raises(BadInput, match=r"none\.jsonl: does not exist"):
        list(read_records(tmp_path / "none.jsonl"))


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
@pytest.mark.parametrize(("size", "overlap"), [(12, 4), (30, 0)])
def test_passages_fit_begin_with_a_word_cover_the_text_and_overlap(
    make_model: Make, kind: str, size: int, overlap: int
) -> None:
    tokenizer = load_tokenizer(make_model("roberta" if kind == "unigram" else "bert", kind))
    text = " ".join(f"The captain number {n} crosses an unbelievable bridge." for n in range(12))
    passages = [*cut_passages(tokenizer, [TextRecord("d", text), TextRecord("e", "Short.")], size, overlap)]
    assert passages.pop() == TextRecord("e", "Short.", "e", 1, 0)
    assert [passage.id for passage in passages] == [f"d#{n}" for n in range(1, len(passages) + 1)]
    ends = [0]
    for passage in passages:
        begin = text.index(passage.text, max(0, passage.begin - 1))
        assert begin == 0 or not (text[begin - 1].isalnum() and text[begin].isalnum())
        assert begin <= ends[-1] + 1 and (overlap or begin >= ends[-1])  # nothing between two of them is left out
        assert len(encode(tokenizer, [passage.text])[0].ids) <= size + 4  # a first word may be cut another way
        ends.append(begin + len(passage.text))
    assert ends[-1] == len(text) and ends == sorted(ends)
    if overlap:
        starts = [text.index(passage.text, max(0, passage.begin - 1)) for passage in passages]
        assert all(start < end for start, end in zip(starts[1:], ends[1:-1], strict=True))


def test_a_text_that_is_one_endless_word_is_cut_inside_it(make_model: Make) -> None:
    tokenizer = load_tokenizer(make_model("bert", "bpe"))
    passages = [*cut_passages(tokenizer, [TextRecord("d", "wxyz" * 60)], 20, 0)]
    assert len(passages) > 3 and "".join(passage.text for passage in passages) == "wxyz" * 60
