"""Printed lines to paragraphs: what is left of a page's layout once its text has been taken off it.

In: pages, each a text with a line for every line that was printed. Out: paragraphs, each on one line. A word that was
cut at the end of a line is one again, a paragraph goes on over the page, and a line that is nothing but the page's
number is left out. Running heads stay: they cannot be told from text by one page alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

FULL = 0.8  # of the width of its page: a shorter line that ends a sentence ends its paragraph
HALF = 0.5  # … and one as short as this ends it anyway: a heading, a line of a list
SENTENCE_END = tuple('.!?:;…。！？”"»)')
ITEM = re.compile(r"[•‣◦▪●○■□–—*-]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s")
PAGE_NUMBER = re.compile(r"(?:page\s+)?[-–—\s]*\d{1,5}[-–—\s]*(?:(?:of|/)\s*\d{1,5})?", re.IGNORECASE)
CUT_WORD = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]$")  # a hyphen behind a letter, at the end of a line
UNSPACED = "\u2e80"  # from here on scripts are written without spaces between words, Hangul aside
HANGUL = ("\uac00", "\ud7a3")
# The ligatures of printers, which cleaning leaves alone: a search for "find" would not meet "ﬁnd".
LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line, and whether a paragraph ends with it."""

    text: str
    ends: bool


def join_pages(pages: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    r"""The paragraphs of numbered pages, each with the page that it begins on.

    >>> list(join_pages([(1, "A HEADING\n\nA word was hyphen-\nated, and went\non"), (2, "over the page.\n2")]))
    [(1, 'A HEADING'), (1, 'A word was hyphenated, and went on over the page.')]
    """
    begins, pieces, ended = 0, list[str](), True
    for number, text in pages:
        for place, line in enumerate(printed_lines(text)):
            if pieces and (ended or (place == 0 and not line.text[0].islower())):
                yield begins, "".join(pieces)
                pieces = []
            if not pieces:
                begins = number
            _add_line(pieces, line.text)
            ended = line.ends
    if pieces:
        yield begins, "".join(pieces)


def printed_lines(page: str) -> list[PrintedLine]:
    """The lines of a page that have text, without the page's number."""
    lines = [" ".join(line.translate(LIGATURES).split()) for line in page.splitlines()]
    lines = _without_page_number(lines)
    lengths = sorted(len(line) for line in lines if line)
    width = lengths[len(lengths) * 9 // 10] if lengths else 0  # a few lines are longer than the column: tables
    printed = []
    for line, following in zip_longest(lines, lines[1:]):
        if line:
            printed.append(PrintedLine(line, _ends_paragraph(line, following, width)))
    return printed


def _ends_paragraph(line: str, following: str | None, width: int) -> bool:
    if following is None:  # the page is at its end, which says nothing
        return line.endswith(SENTENCE_END)
    if CUT_WORD.search(line) and following[:1].islower():
        return False
    if not following or ITEM.match(following) or len(line) < HALF * width:
        return True
    return len(line) < FULL * width and line.endswith(SENTENCE_END)


def _without_page_number(lines: list[str]) -> list[str]:
    """The lines between the first and the last that are not empty, those two only if they are not a page's number."""
    end = next((place for place in range(len(lines), 0, -1) if lines[place - 1]), 0)
    lines = lines[:end]
    if lines and PAGE_NUMBER.fullmatch(lines[-1]):
        lines = lines[:-1]
    start = next((place for place, line in enumerate(lines) if line), 0)
    return lines[start + 1 :] if lines and PAGE_NUMBER.fullmatch(lines[start]) else lines[start:]


def _add_line(pieces: list[str], line: str) -> None:
    """Append a line to the pieces of its paragraph: a cut word is whole again, other words are kept apart."""
    if not pieces:
        pieces.append(line)
    elif CUT_WORD.search(pieces[-1]) and line[0].islower():
        pieces[-1] = pieces[-1][:-1]
        pieces.append(line)
    elif _unspaced(pieces[-1][-1]) and _unspaced(line[0]):
        pieces.append(line)
    else:
        pieces += [" ", line]


def _unspaced(character: str) -> bool:
    return character >= UNSPACED and not HANGUL[0] <= character <= HANGUL[1]
