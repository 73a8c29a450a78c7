from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from unmask.errors import BadInput, BadLines, Interrupted, Refused
from unmask.results import Written
from unmask.verbs import lines as module
from unmask.verbs.lines import Answers, answer_texts


@dataclass(frozen=True)
class Length:
    """What stands for a model here: how long a text is."""

    text: str
    letters: int


def lengths(texts: list[str]) -> Answers[Length]:
    for text in texts:
        yield BadInput("too short") if len(text) < 2 else [Length(text, len(text))]


def letters_of(results: Iterator[Length | Written]) -> list[int]:
    return [result.letters for result in results if isinstance(result, Length)]


@pytest.mark.parametrize("name", ["missing.jsonl", "texts/missing.txt", "missing.csv.gz", "notes.md"])
def test_a_file_that_is_not_there_is_no_text(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where nothing has a name like it
    for out in (None, tmp_path / "out.jsonl"):
        with pytest.raises(BadInput, match=rf"^{name}: no file of that name is here; if it is a text, give it on"):
            list(answer_texts([name], lengths, done="measured", out=out))
    assert letters_of(answer_texts([name, "others"], lengths, done="measured")) == [
        len(name),
        6,
    ]  # of several it may be
    assert letters_of(answer_texts([f"see {name}"], lengths, done="measured")) == [len(name) + 4]


def test_a_file_that_was_misspelt_is_guessed(tmp_path: Path) -> None:
    (tmp_path / "reviews.jsonl").touch()
    with pytest.raises(
        BadInput, match=r"reveiws\.jsonl: no file of that name is here, did you mean .*reviews\.jsonl\?; if"
    ):
        list(answer_texts([str(tmp_path / "reveiws.jsonl")], lengths, done="measured"))


def test_a_binary_file_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "weights.txt"
    file.write_bytes(bytes(range(256)) * 40)
    with pytest.raises(BadInput, match=r"weights\.txt: is no text in UTF-8: it begins as binary files do"):
        list(answer_texts([str(file)], lengths, done="measured"))
    file.write_bytes(b"a stray\0byte\nand the rest\n")
    assert letters_of(answer_texts([str(file)], lengths, done="measured")) == [12, 12]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": "x" * n, "id": n}) + "\n" for n in range(2, 300)))
    return file


def test_texts_files_and_packed_files_are_read_alike(tmp_path: Path, texts: Path) -> None:
    plain, packed = tmp_path / "plain.txt", tmp_path / "packed.txt.gz"
    plain.write_text("one\n\nthree\nlast line")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    given = ["one", "three", "last line"]
    assert letters_of(answer_texts(given, lengths, done="measured")) == [3, 5, 9]
    assert letters_of(answer_texts([str(plain)], lengths, done="measured")) == [3, 5, 9]
    assert letters_of(answer_texts([str(packed)], lengths, done="measured")) == [3, 5, 9]
    assert letters_of(answer_texts([str(texts)], lengths, done="measured")) == list(range(2, 300))


def test_bad_lines_are_named_at_the_end_by_what_is_wrong_with_them(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_bytes(
        b'{"text": "good"}\n{"text": 3}\n{"other": "x"}\nnot json\n[1]\n'
        b'\xff\n{"text": "x"}\n{"text": "fine"}\n{"text": " "}\n'
    )
    results = answer_texts([str(file)], lengths, done="measured")
    assert [next(results), next(results)] == [Length("good", 4), Length("fine", 4)]
    with pytest.raises(BadLines) as error:
        next(results)
    assert error.value.lines == (
        f"{file}: line 2: the field 'text' is no text (--field names another)",
        f"{file}: line 3: no field 'text' (--field names another)",
        f"{file}: line 4: not JSON",
        f"{file}: line 5: not a JSON object",
        f"{file}: line 6: not UTF-8 at byte 1 of the line",
        f"{file}: line 7: too short",
        f"{file}: line 9: the field 'text' is empty",
        "7 of 9 lines could not be measured",
    )


def test_another_field_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"abstract": "four"}\n')
    assert letters_of(answer_texts([str(file)], lengths, done="measured", field="abstract")) == [4]


def test_a_text_that_cannot_be_used_is_named_where_it_was_given() -> None:
    with pytest.raises(BadInput, match="'x': too short"):
        list(answer_texts(["fine", "x"], lengths, done="measured"))


def test_a_file_among_texts_is_noticed(texts: Path) -> None:
    with pytest.raises(BadInput, match="is a file, and there is more than it"):
        list(answer_texts(["a text", str(texts)], lengths, done="measured"))


def test_results_of_a_file_are_written_with_the_numbers_of_their_lines(tmp_path: Path) -> None:
    file, out = tmp_path / "in.txt", tmp_path / "out.jsonl"
    file.write_text("one\n\nx\nfour")
    written = list(answer_texts([str(file)], lengths, done="measured", out=out))
    assert written == [Written(path=out, lines=3, refused=1)]
    assert [json.loads(line) for line in out.read_text().splitlines()] == [
        {"line": 1, "text": "one", "letters": 3},
        {"line": 3, "error": "too short"},
        {"line": 4, "text": "four", "letters": 4},
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.jsonl"]
    with pytest.raises(Refused, match="is there already and whole"):
        list(answer_texts([str(file)], lengths, done="measured", out=out))


@pytest.mark.parametrize("torn", [0, 7])
def test_a_command_that_was_stopped_goes_on_to_the_same_bytes(
    texts: Path, tmp_path: Path, torn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    list(answer_texts([str(texts)], lengths, done="measured", out=whole))
    monkeypatch.setattr(module, "FILE_CHUNK", 2_000)
    answered: list[int] = []

    def stopping(texts: list[str]) -> Answers[Length]:
        for text in texts:
            if len(text) == 100:
                raise KeyboardInterrupt
            yield [Length(text, len(text))]

    def going_on(texts: list[str]) -> Answers[Length]:
        answered.extend(map(len, texts))
        return lengths(texts)

    with pytest.raises(Interrupted, match="the same command goes on"):
        list(answer_texts([str(texts)], stopping, done="measured", out=out, settings={"top": 5}))
    if torn:
        out.write_bytes(out.read_bytes()[:-torn])
    with pytest.raises(Refused, match="begun with another top"):
        list(answer_texts([str(texts)], going_on, done="measured", out=out, settings={"top": 6}))
    (written,) = answer_texts([str(texts)], going_on, done="measured", out=out, settings={"top": 5})
    assert isinstance(written, Written)
    assert out.read_bytes() == whole.read_bytes()
    assert written.continued_after > 50
    assert min(answered) > 50


def test_results_are_kept_for_files_only(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="results are kept for a file of texts"):
        list(answer_texts(["a text"], lengths, done="measured", out=tmp_path / "out"))
