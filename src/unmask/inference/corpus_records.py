"""Texts with ids: what vectors and indexes are made of.

In: a file with a text a line, a JSONL file, packed by gzip or not, or a data directory. Out: `TextRecord`, one for each
text, and for an index one for each passage of it. An id is the record's own (`id`, or `_id` as BEIR has it), or the
number of its line.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from unmask.errors import BadInput
from unmask.files import missing_path, path_kind

if TYPE_CHECKING:  # reading a record needs no tokenizer
    from unmask.tokens.tokenizer.encode import EncodedText

JSON_LINES = (".jsonl", ".ndjson", ".json")
IDS = ("id", "_id")
SPLITS = ("train", "valid")
TOGETHER = 256  # texts that are cut at a time


class TextRecord(NamedTuple):
    """A text, or a passage of one."""

    id: str
    text: str
    document: str = ""  # of a passage: the id of the text it is from
    passage: int = 0  # and its number there, from 1
    begin: int = 0  # its first character there


def read_records(path: Path, field: str | None = None) -> Iterator[TextRecord]:
    """The texts of a file or of a data directory, those without a character left out; a bad line is named."""
    if not path.exists():
        raise missing_path(path, "give a file of texts (.txt or .jsonl) or a data directory")
    if path.is_dir():
        yield from _data_records(path)
        return
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
    fields = [name.strip() for name in (field or "text").split(",")]
    json_lines = field is not None or (suffixes[-1:] and suffixes[-1] in JSON_LINES)
    with _open_binary(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8-sig").strip()
                record = _json_record(text, number, fields) if json_lines and text else TextRecord(str(number), text)
            except UnicodeDecodeError as error:
                raise BadInput(f"{path}:{number}: not UTF-8 at byte {error.start + 1} of the line") from error
            except BadInput as error:
                raise BadInput(f"{path}:{number}: {error}") from error
            if record.text.strip():
                yield record


def _data_records(path: Path) -> Iterator[TextRecord]:
    """The clean documents of a data directory, held out or not: their split and number are their id."""
    if path_kind(path) != "a data directory":
        raise BadInput(f"{path}: is {path_kind(path)}; give a file of texts (.txt or .jsonl) or a data directory")
    from unmask.tokens.store.dataset import Dataset

    dataset = Dataset.open(path)
    for split in SPLITS:
        for number, text in zip(count(1), dataset.texts(split), strict=False):
            yield TextRecord(f"{split}-{number}", text)


def _json_record(line: str, number: int, fields: list[str]) -> TextRecord:
    try:
        record: Any = json.loads(line)
    except ValueError:
        raise BadInput("not JSON") from None
    if not isinstance(record, dict):
        raise BadInput("not a JSON object")
    texts = []
    for field in fields:
        if not isinstance(text := record.get(field), str):
            reason = f"the field {field!r} is no text" if field in record else f"no field {field!r}"
            raise BadInput(f"{reason} (--field names another, or several: title,text)")
        texts.append(text.strip())
    name = next((record[key] for key in IDS if isinstance(record.get(key), str | int)), number)
    joined = "\n".join(text for text in texts if text)
    if any("\ud800" <= character <= "\udfff" for character in joined):
        raise BadInput("the text is not valid Unicode (a lone surrogate)")
    return TextRecord(str(name), joined)


def _open_binary(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def cut_passages(tokenizer: Any, records: Iterable[TextRecord], size: int, overlap: int) -> Iterator[TextRecord]:
    """Texts as passages of at most `size` tokens, each beginning with a word, the last `overlap` of them shared.

    tokens     the cat sees ##s a dog at night      size 4, overlap 1
    passages   the cat sees ##s
                             a dog at night         (a passage begins at a word, so "##s" is not shared)
    """
    from unmask.tokens.tokenizer.encode import encode

    remaining = iter(records)
    while group := list(islice(remaining, TOGETHER)):
        rows = encode(tokenizer, [record.text for record in group], offsets=True)
        for record, row in zip(group, rows, strict=True):
            spans = _passage_spans(row, size, overlap)
            for number, (begin, end) in enumerate(spans, start=1):
                name = record.id if len(spans) == 1 else f"{record.id}#{number}"
                text = record.text[begin:end] if len(spans) > 1 else record.text
                yield TextRecord(name, text.strip(), record.id, number, begin)


def _passage_spans(row: EncodedText, size: int, overlap: int) -> list[tuple[int, int]]:
    """The first character of each passage and the one after its last."""
    assert row.offsets is not None  # asked for
    tokens, starts = len(row.ids), row.word_starts.nonzero()[0].tolist()
    if tokens <= size:
        return [(0, int(row.offsets[-1, 1]) if tokens else 0)]
    spans, begin = [], 0
    while True:
        end = min(tokens, begin + size)
        if end < tokens:  # before a word, if the passage has more than one
            end = max((start for start in starts if begin < start <= end), default=end)
        spans.append((int(row.offsets[begin, 0]), int(row.offsets[end - 1, 1])))
        if end == tokens:
            return spans
        begin = min((start for start in starts if max(begin, end - overlap - 1) < start <= end), default=end)
