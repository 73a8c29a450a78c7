"""Stretches of a text replaced by others, and the marked spans moved with them.

In: a text, its marks, and what is to be replaced. Out: the new text, and its marks. The law: a mark keeps what is left
of its own text. A stretch that is wholly within a mark stays in it as what it has become; one that a mark begins or
ends in is no part of it any more; a mark of which nothing but space is left is no mark.

    raw     She saw [[12] Paris [3]] twice.       the mark in brackets of its own, citations cut out
    after   She saw [Paris] twice.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from unmask.corpus.marks import clean_with_places, trim_mark
from unmask.records import Mark


class TextEdit(NamedTuple):
    """What stands for a stretch of a text."""

    start: int
    end: int
    text: str = ""


def replace_stretches(
    text: str, marks: Sequence[Mark], replacements: Sequence[TextEdit]
) -> tuple[str, tuple[Mark, ...]]:
    """The text with ascending stretches replaced that do not overlap, and its marks where they are now.

    >>> replace_stretches("a cat[1] sat", [(2, 8, "entity")], [TextEdit(5, 8)])
    ('a cat sat', ((2, 5, 'entity'),))
    """
    kept_from = [0, *(replacement.end for replacement in replacements)]
    kept_to = [*(replacement.start for replacement in replacements), len(text)]
    pieces = [text[start:end] for start, end in zip(kept_from, kept_to, strict=True)]
    for number, replacement in enumerate(replacements):
        pieces[number] += replacement.text
    edited = "".join(pieces)
    return edited, _move_marks(marks, replacements, edited) if marks else ()


def clean_again(text: str, marks: Sequence[Mark]) -> tuple[str, tuple[Mark, ...]]:
    """The text as cleaning leaves one, and its marks: a rule may leave two spaces side by side, or an empty line."""
    places = sorted({place for start, end, _ in marks for place in (start, end)})
    text, moved = clean_with_places(text, places)
    return text, _left_of(text, [(moved[start], moved[end], kind) for start, end, kind in marks])


def _move_marks(marks: Sequence[Mark], replacements: Sequence[TextEdit], edited: str) -> tuple[Mark, ...]:
    starts = [replacement.start for replacement in replacements]
    ends = [replacement.end for replacement in replacements]
    grown = [0, *accumulate(len(text) - (end - start) for start, end, text in replacements)]

    def after(place: int) -> int:
        """Where the first kept character from a place on is now."""
        number = bisect_left(starts, place)  # stretches that begin before it
        return max(place, ends[number - 1] if number else 0) + grown[number]

    def before(place: int) -> int:
        """Where the end of the last kept character before a place is now."""
        number = bisect_right(ends, place)  # stretches that are over by then
        inside = number < len(starts) and starts[number] < place
        return (starts[number] if inside else place) + grown[number]

    return _left_of(edited, [(after(start), before(end), kind) for start, end, kind in marks])


def _left_of(text: str, marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Marks without space at their edges; those that are nothing else are left out."""
    trimmed = (trim_mark(text, *mark) for mark in marks if mark[0] < mark[1])
    return tuple(mark for mark in trimmed if mark[0] < mark[1])
