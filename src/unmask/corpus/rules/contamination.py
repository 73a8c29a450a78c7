"""Documents that contain what a model is to be measured on: left out, with the item that they contain.

In: files of items (questions, sentences, passages). Out: of each document, the item that it contains, or which it
merely touches. Words are compared in lower case, without what stands between them.

    contains    thirteen words in a row of an item (Brown et al. 2020), or the whole of one of five to twelve words
    touches     eight words in a row, and no more: it stays, and is counted

Where there are no spaces twice as many characters stand for words. Most sentences of BLiMP have fewer than thirteen
words, which runs of thirteen alone would never find.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from unmask.corpus.overlap import RUN, SHORTEST, Runs
from unmask.corpus.read.byte_reader import open_bytes, open_source
from unmask.corpus.read.find import COMPRESSIONS, TextSource, find_sources
from unmask.corpus.read.reader import read_source
from unmask.corpus.rules.figures import CHARACTER
from unmask.errors import BadInput
from unmask.records import Document
from unmask.words import spelt_words

CONTAINED = 13  # words in a row
MOST_PLACES = 1_000  # that a run of words is looked up at: a test set may be one sentence said in many ways


class Item(NamedTuple):
    """A text that is to be measured on, and where it stands."""

    name: str
    text: str


@dataclass(frozen=True)
class Contamination:
    """What a document has of the items."""

    contains: str | None  # the item, and the words
    touches: str | None
    runs: tuple[int, ...]  # the numbers of the runs of words that it shares


class HeldOutItems:
    """Items to be looked for in any number of documents."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self._runs = Runs([item.text for item in items])
        self._words = [spelt_words(item.text) for item in items]
        self._scales = [2 if 2 * len(CHARACTER.findall(item.text)) > len(item.text) else 1 for item in items]
        self._places: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for number in range(len(items)):
            length, runs = self._runs.runs_of(number)
            for place, run in enumerate(runs.tolist()):
                if len(places := self._places[length, run]) < MOST_PLACES:
                    places.append((number, place))
        self._first = dict(zip(counts := self._runs.counts, _sums_before(list(counts.values())), strict=True))

    @property
    def runs(self) -> int:
        """How many different runs of words the items have."""
        return sum(self._runs.counts.values())

    @property
    def too_short(self) -> int:
        """How many items have so few words that nobody can say."""
        return sum(len(words) < SHORTEST * scale for words, scale in zip(self._words, self._scales, strict=True))

    def look_in(self, text: str) -> Contamination | None:
        """What a document has of the items; none where it shares no run of words with one."""
        words = spelt_words(text)
        seen: Counter[int] = Counter()
        touched: int | None = None
        contained: tuple[int, int] | None = None
        for length, places, runs in self._runs.matches(self._runs.numbers_of(words)):
            for place, run in zip(places.tolist(), runs.tolist(), strict=True):
                seen[self._first[length] + run] += 1
                contained = contained or self._contained(words, place, self._places[length, run])
                if touched is None and length == RUN:
                    touched = self._places[length, run][0][0]
        if not seen:
            return None
        said = None
        if contained is not None:
            number, place = contained
            count = self._needed(number)
            said = f"{self.items[number].name}: {' '.join(words[place : place + count])}"
        return Contamination(said, self.items[touched].name if touched is not None else None, tuple(sorted(seen)))

    def _needed(self, number: int) -> int:
        """How many words in a row of an item count as containing it."""
        return min(CONTAINED * self._scales[number], len(self._words[number]))

    def _contained(
        self, words: Sequence[str], place: int, candidates: Sequence[tuple[int, int]]
    ) -> tuple[int, int] | None:
        """The first of the items that goes on as the document does, and where in it."""
        for number, begin in candidates:
            needed = self._needed(number)
            item = self._words[number]
            long_enough = len(item) >= SHORTEST * self._scales[number] and begin + needed <= len(item)
            if long_enough and item[begin : begin + needed] == words[place : place + needed]:
                return number, place
        return None


def _sums_before(counts: Sequence[int]) -> list[int]:
    return [sum(counts[:number]) for number in range(len(counts))]


def read_items(paths: Sequence[str]) -> list[Item]:
    """The items of files: every string of a JSON line or file, every cell of a table, every line of a text."""
    items = [item for source in _item_files(paths) for item in _items_of(source)]
    if not items:
        raise BadInput(f"--decontaminate {' '.join(paths)}: there is no text in it")
    return items


@lru_cache(maxsize=2)
def held_out_items(paths: tuple[str, ...], digest: str) -> HeldOutItems:
    """The items of files, once a process; that they are still what they were is looked at."""
    if items_digest(paths) != digest:
        raise BadInput(f"--decontaminate {' '.join(paths)}: changed while it was used")
    return HeldOutItems(read_items(paths))


def items_digest(paths: Sequence[str]) -> str:
    """What the files of items are told by."""
    sums = []
    for source in _item_files(paths):
        with open_bytes(source.name) as file:
            sums.append(hashlib.sha256(file.read()).hexdigest())
    return hashlib.sha256(" ".join(sums).encode()).hexdigest()


def _item_files(paths: Sequence[str]) -> Iterator[TextSource]:
    """What can be read as text, and JSON that is one value, as SQuAD's files are, which is no format of a corpus."""
    for path in paths:
        compression = COMPRESSIONS.get(Path(path).suffix.lower())
        inner = Path(path).with_suffix("") if compression else Path(path)
        if inner.suffix.lower() == ".json" and Path(path).is_file():
            yield TextSource(path, "json", compression)
        else:
            yield from find_sources([path])


def _items_of(source: TextSource) -> Iterator[Item]:
    name = Path(source.name).name
    if source.format not in ("json", "jsonl", "csv", "tsv", "text"):
        for record in read_source(source):
            if isinstance(record, Document):
                yield Item(f"{name}:{record.line}", record.text)
        return
    with open_source(source) as (content, _):
        lines = io.TextIOWrapper(content, encoding="utf-8-sig", errors="replace")
        rows: Iterable[Any]
        if source.format == "json":
            rows = _whole_texts(_parsed(lines.read()))
        elif source.format in ("csv", "tsv"):
            rows = csv.reader(lines, delimiter="\t" if source.format == "tsv" else ",")
        else:
            rows = (_parsed(line) if source.format == "jsonl" else line for line in lines)
        for number, row in enumerate(rows, start=1):
            yield from (Item(f"{name}:{number}", text) for text in _whole_texts(row))


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line  # a line of something else is a text all the same


def _whole_texts(value: Any) -> list[str]:
    """The strings of a value, but for short ones that stand in a long one of it: an answer is a part of its passage.

    >>> passage = "In the year after the war had ended she met the King of the Belgians in Paris."
    >>> _whole_texts({"context": passage, "answer": "the King of the Belgians"}) == [passage]
    True
    """
    texts = [text for text in _strings(value) if text.strip()]
    is_long = [len(text.split()) > CONTAINED for text in texts]
    passages = "\n".join(text for text, long in zip(texts, is_long, strict=True) if long).lower()
    return [text for text, long in zip(texts, is_long, strict=True) if long or text.lower() not in passages]


def _strings(value: Any) -> Iterator[str]:
    """Every string in a value of JSON.

    >>> [*_strings({"q": "Who?", "a": ["she", 3, {"b": "he"}]})]
    ['Who?', 'she', 'he']
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for each in value.values() for text in _strings(each))
    elif isinstance(value, list):
        yield from (text for each in value for text in _strings(each))
