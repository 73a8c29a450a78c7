"""Spans that a corpus brings with its texts: read, cut with their documents, moved as cleaning moves the text.

In: the field `spans` of a JSON line, in characters of the raw text. Out: the same spans in characters of the clean one.

    {"text": "She flew to  New York.", "spans": [[13, 21, "entity"]]}        raw, with two spaces
    {"text": "She flew to New York.", "spans": [[12, 20, "entity"]]}         clean
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

from unmask.corpus.clean import RULES
from unmask.records import SPAN_KINDS, Mark

MARKS_TYPE = pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32()), ("kind", pa.string())]))
# The patterns of cleaning, as Python spells characters.
PATTERNS = [
    (re.compile(re.sub(r"\\x\{([0-9a-f]+)\}", lambda match: f"\\u{int(match[1], 16):04x}", pattern)), replacement)
    for pattern, replacement in RULES
]
CLUSTER = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]*")  # what composes does so within one: ASCII joins nothing before it


def read_marks(value: Any, text: str) -> tuple[Mark, ...]:
    """The spans of a JSON line, checked: [start, end, kind] or {"start": …, "end": …, "kind": …} each.

    >>> read_marks([[0, 5, "entity"], {"start": 9, "end": 14, "kind": "phrase"}], "Paris is quite large")
    ((0, 5, 'entity'), (9, 14, 'phrase'))
    """
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ValueError("field 'spans' is not a list")
    return tuple(_mark(mark, number, len(text)) for number, mark in enumerate(value, start=1))


def _mark(value: Any, number: int, size: int) -> Mark:
    triple = [value.get(name) for name in ("start", "end", "kind")] if isinstance(value, dict) else value
    if not isinstance(triple, list) or len(triple) != 3 or [*map(type, triple)] != [int, int, str]:
        raise ValueError(f"span {number} is neither [start, end, kind] nor an object with these")
    start, end, kind = triple
    if not 0 <= start < end <= size:
        raise ValueError(f"span {number} is from {start} to {end}, and the text has {size} characters")
    if kind not in SPAN_KINDS:
        raise ValueError(f"span {number} is of kind {kind!r}, which is none of {', '.join(SPAN_KINDS)}")
    return start, end, kind


def marks_within(marks: Iterable[Mark], start: int, end: int) -> tuple[Mark, ...]:
    """The spans of a stretch of the text; one that the cut goes through is left out.

    >>> marks_within([(0, 5, "entity"), (6, 9, "entity"), (8, 12, "phrase")], 6, 10)
    ((0, 3, 'entity'),)
    """
    return tuple((a - start, b - start, kind) for a, b, kind in marks if start <= a and b <= end)


def marks_column(marks: Iterable[Sequence[Mark] | None]) -> pa.Array:
    """Spans as a column; null where there are none."""
    names = ("start", "end", "kind")
    rows = [
        [dict(zip(names, mark, strict=True)) for mark in text_marks] if text_marks else None for text_marks in marks
    ]
    return pa.array(rows, MARKS_TYPE)


def marks_of(column: pa.Array | pa.ChunkedArray) -> list[tuple[Mark, ...]]:
    """The spans of each text in such a column."""
    return [tuple(tuple(mark.values()) for mark in marks or ()) for marks in column.to_pylist()]


def move_marks(texts: pa.Array, marks: pa.Array) -> pa.Array:
    """The spans of raw texts, in their clean ones; of a span that is nothing but space, nothing is left.

    >>> move_marks(pa.array(["She flew to  New York."]), marks_column([[(13, 21, "entity")]])).to_pylist()
    [[{'start': 12, 'end': 20, 'kind': 'entity'}]]
    """
    pairs = zip(texts.to_pylist(), marks_of(marks), strict=True)
    return marks_column(_move_text_marks(text, text_marks) if text_marks else None for text, text_marks in pairs)


def _move_text_marks(text: str, marks: Sequence[Mark]) -> list[Mark]:
    text, places = clean_with_places(text, sorted({place for start, end, _ in marks for place in (start, end)}))
    marks_after = [(places[start], places[end], kind) for start, end, kind in marks]
    return [mark for mark in (trim_mark(text, *mark) for mark in marks_after) if mark[0] < mark[1]]


def trim_mark(text: str, start: int, end: int, kind: str) -> Mark:
    """A span without the space at its edges; of nothing but space, one that ends before it begins."""
    inside = text[start:end]
    return start + len(inside) - len(inside.lstrip()), end - len(inside) + len(inside.rstrip()), kind


def clean_with_places(text: str, places: Sequence[int]) -> tuple[str, dict[int, int]]:
    """One text as `clean_texts` cleans it, and where ascending places of the raw one are in it."""
    clean_places = list(places)
    for pattern, replacement in PATTERNS:
        if stretches := [match.span() for match in pattern.finditer(text)]:
            text, clean_places = pattern.sub(replacement, text), _after(clean_places, stretches, len(replacement))
    if not unicodedata.is_normalized("NFC", text):
        text, clean_places = _compose(text, clean_places)
    return text, dict(zip(places, clean_places, strict=True))


def _after(places: Sequence[int], stretches: list[tuple[int, int]], size: int) -> list[int]:
    """Places after each of these stretches has become `left` characters; one inside of a stretch goes to its start."""
    ends = [end for _, end in stretches]
    shifts = [0, *accumulate(end - start - size for start, end in stretches)]
    places_after = []
    for place in places:
        before = bisect_right(ends, place)
        inside = before < len(stretches) and stretches[before][0] < place
        places_after.append((stretches[before][0] if inside else place) - shifts[before])
    return places_after


def _compose(text: str, places: Sequence[int]) -> tuple[str, list[int]]:
    """The text in NFC, and its places; one between a letter and its accent goes behind both."""
    clusters = [match.span() for match in CLUSTER.finditer(text) if match[0]]
    texts = [unicodedata.normalize("NFC", text[start:end]) for start, end in clusters]
    begins = [0, *accumulate(map(len, texts))]
    ends = [end for _, end in clusters]
    places_after = []
    for place in places:
        number = bisect_right(ends, place)
        if number == len(clusters):
            places_after.append(begins[-1])
        else:
            before = unicodedata.normalize("NFC", text[clusters[number][0] : place])
            places_after.append(begins[number] + min(len(before), len(texts[number])))
    return "".join(texts), places_after
