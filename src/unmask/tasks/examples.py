"""Files of examples, whatever the task: JSONL, CSV or TSV, plain or packed (.gz), to records with their lines.

What cannot be used is told in one line that names the file, the line and the field.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, cast

from unmask.errors import BadInput
from unmask.files import missing_path
from unmask.quantities import quoted

IDS = ("id", "idx", "guid", "uid")
SUFFIXES = {".jsonl": "json", ".ndjson": "json", ".json": "json", ".csv": "csv", ".tsv": "tsv"}
LONGEST = 1 << 24  # characters in a field of CSV

Record = Mapping[str, Any]


def read_records(path: Path, wanted: str = "a labelled text a line") -> Iterator[tuple[int, Record]]:
    """The records of a file, with the numbers of their lines."""
    with open_examples(path, f"{wanted}: JSONL, CSV or TSV") as file:
        suffix = suffix_of(path)
        if suffix not in SUFFIXES:
            raise BadInput(f"{path}: what is in it? give a file that ends in .jsonl, .csv or .tsv (or that and .gz)")
        yield from _json_records(path, file) if SUFFIXES[suffix] == "json" else _table(path, file, SUFFIXES[suffix])


def suffix_of(path: Path) -> str:
    """What a file's name says of its format, packed or not."""
    return next((suffix for suffix in reversed(path.suffixes) if suffix != ".gz"), "").lower()


@contextmanager
def open_examples(path: Path, wanted: str) -> Iterator[IO[str]]:
    """A file of examples, packed or not; what is wrong with it as a file is told in one line."""
    if not path.exists():
        raise missing_path(path, f"give a file with {wanted}")
    if path.is_dir():
        raise BadInput(f"{path}: is a folder; give a file with {wanted}")
    with _open_text(path) as file:
        try:
            yield file
        except UnicodeDecodeError as error:
            raise BadInput(f"{path}:{_undecodable_line(path)}: is not UTF-8; convert the file first") from error
        except (OSError, EOFError) as error:
            raise BadInput(f"{path}: cannot be read ({error})") from error


def _undecodable_line(path: Path) -> int:
    """The first line of a file that is not UTF-8, of which there is one."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        lines = enumerate(file, start=1)
        return next(line for line, content in lines if content.decode(errors="ignore").encode() != content)


def _open_text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return TextIOWrapper(cast(IO[bytes], gzip.open(path)), encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _json_records(path: Path, file: IO[str]) -> Iterator[tuple[int, Record]]:
    for line, text in enumerate(file, start=1):
        if not text.strip():
            continue
        try:
            record = json.loads(text, parse_constant=_no_number)
        except ValueError as error:
            raise BadInput(f"{path}:{line}: is not JSON; give one object a line") from error
        if not isinstance(record, dict):
            raise BadInput(f"{path}:{line}: is not a JSON object; give one with a text and a label a line")
        yield line, record


def _no_number(name: str) -> Any:
    """NaN and Infinity, which Python reads and JSON does not have."""
    raise ValueError(name)


def _table(path: Path, file: IO[str], kind: str) -> Iterator[tuple[int, Record]]:
    """Rows under the names of the first; TSV has no quotes, for its texts have them."""
    csv.field_size_limit(LONGEST)
    if kind == "tsv":
        reader = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(file, delimiter=",", strict=True)
    heads: list[str] | None = None
    read = 0  # lines of whole rows
    try:
        for row in reader:
            read = reader.line_num
            if not row:
                continue
            if heads is None:
                heads = row
            elif len(row) != len(heads):
                hint = "; quote texts that have commas or line breaks" if kind == "csv" else ""
                raise BadInput(f"{path}:{reader.line_num}: has {len(row)} columns, the first line {len(heads)}{hint}")
            else:
                yield reader.line_num, dict(zip(heads, row, strict=True))
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise BadInput(f"{path}:{read + 1}: a quote that begins in this row is not closed") from error
        raise BadInput(f"{path}:{reader.line_num}: {error}") from error


def and_empty(empty: int) -> str:
    """What a message says of lines without text, which were left out.

    >>> and_empty(0), and_empty(1), and_empty(60)
    ('', ' beside 1 line without text', ' beside 60 lines without text')
    """
    return f" beside {empty:,} line{'s' * (empty > 1)} without text" if empty else ""


def quoted_names(record: Record) -> str:
    """The names of fields as a message gives them; of a table it may be its first row that was taken for them."""
    names = ", ".join(map(quoted, record))
    return f"{names} (a table has the names in its first line)" if any(" " in name for name in record) else names


def present_value(path: Path, line: int, record: Record, name: str) -> Any:
    """The value of a field that must be there."""
    if record.get(name) is None:
        lacks = f"the field {name!r} is null" if name in record else f"has no field {name!r}"
        raise BadInput(f"{path}:{line}: {lacks}")
    return record[name]


def text_in(path: Path, line: int, record: Record, name: str) -> str:
    """The text of a field that must be there."""
    value = present_value(path, line, record, name)
    if not isinstance(value, str):
        raise BadInput(f"{path}:{line}: the field {name!r} is no text")
    return value


def check_id(path: Path, line: int, record: Record, field: str | None, seen: dict[str, int]) -> None:
    """Refuse an example that is there twice."""
    if field is None or record.get(field) in (None, ""):
        return
    before = seen.setdefault(str(record[field]), line)
    if before != line:
        raise BadInput(
            f"{path}:{line}: the {field} {record[field]!r} is that of line {before} too; leave one out, or, where it "
            f"names a group of examples, give --group-field {field}"
        )


def first_named(names: Iterable[str], spelt: Mapping[str, str], without: tuple[str | None, ...]) -> str | None:
    """The field of the first of these names that there is; `spelt` has fields by their names in small letters."""
    return next((spelt[name] for name in names if name in spelt and spelt[name] not in without), None)


def count_examples(path: Path) -> int:
    """How many records a file has."""
    return sum(1 for _ in read_records(path))
