"""Files in columns, as CoNLL has them: a word a line with its tag, an empty line between sentences.

    Angela   B-PER          or    Angela  NNP  B-NP  B-PER
    Merkel   I-PER                Merkel  NNP  I-NP  I-PER
    …

In: such a file, plain or packed (.gz). Out: sentences with the numbers of their lines. The word is in the first column
and the tag in the last, or in those that are asked for; -DOCSTART- lines are left out. Words can be read alone too, of
files without tags.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from unmask.errors import BadInput
from unmask.tasks.examples import open_examples

FIRST, LAST = "1", "last"  # the columns of the word and of the tag, if none are asked for
DOCUMENT = "-DOCSTART-"


class Sentence(NamedTuple):
    """Words with their tags, and the line that the first stands in."""

    line: int
    words: tuple[str, ...]
    tags: tuple[str, ...]
    group: str | None = None  # sentences of one group stay together


def read_sentences(path: Path, word: str | None = None, tag: str | None = None) -> Iterator[Sentence]:
    """The sentences of a file; columns are counted from 1."""
    chosen = (_column_number(word or FIRST, "--text-field"), _column_number(tag or LAST, "--label-field"))
    for line, rows in _read_rows(path, chosen, ("word", "tag"), "a word and its tag a line, or JSON lines"):
        words, tags = zip(*rows, strict=True)
        yield Sentence(line, words, tags)


def read_words(path: Path, word: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """The words of each sentence, with the line of the first; tags may be there or not."""
    for line, rows in _read_rows(path, (_column_number(word or FIRST, "--field"),), ("word",), "a word a line"):
        yield line, [word for (word,) in rows]


def _read_rows(
    path: Path, chosen: tuple[int, ...], names: tuple[str, ...], wanted: str
) -> Iterator[tuple[int, list[tuple[str, ...]]]]:
    """The chosen columns of each sentence's words, with the line of the first."""
    count = begin = 0
    rows: list[tuple[str, ...]] = []
    with open_examples(path, wanted) as file:
        for line, text in enumerate(file, start=1):
            columns = _columns_of(text)
            if not columns or columns[0] == DOCUMENT:
                if rows:
                    yield begin, rows
                rows = []
                continue
            count = count or _checked_count(path, line, len(columns), chosen)
            if len(columns) != count:
                raise BadInput(f"{path}:{line}: has {_count_columns(len(columns))}, the first line {count}")
            row = tuple(columns[column] for column in chosen)
            if not all(row):
                raise BadInput(f"{path}:{line}: has an empty {names[row.index('')]}")
            begin = begin if rows else line
            rows.append(row)
    if rows:
        yield begin, rows


def _columns_of(line: str) -> list[str]:
    """What stands in a line: between tabs where there are some, else between spaces."""
    inside = line.strip(" \r\n")
    if not inside.strip("\t"):
        return []
    return inside.split("\t") if "\t" in inside else [part for part in inside.split(" ") if part]


def _column_number(name: str, flag: str) -> int:
    """The place of a column by what it is called: a number from 1, or last."""
    if name == LAST:
        return -1
    if not name.isdecimal() or int(name) < 1:
        raise BadInput(f"{flag} {name}: columns have no names; give a number from 1, or {LAST}")
    return int(name) - 1


def _checked_count(path: Path, line: int, count: int, chosen: tuple[int, ...]) -> int:
    """How many columns there are, where those that are asked for are among them, and are not one."""
    if max(chosen) >= count:
        raise BadInput(f"{path}:{line}: has {_count_columns(count)}, and column {max(chosen) + 1} is asked for")
    if len({column % count for column in chosen}) < len(chosen):
        raise BadInput(f"{path}:{line}: has {_count_columns(count)}; give a word and its tag a line")
    return count


def _count_columns(count: int) -> str:
    return f"{count} column{'' if count == 1 else 's'}"
