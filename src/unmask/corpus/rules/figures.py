"""What can be measured of a text: its words and lines, and how much of it repeats.

In: one clean text. Out: figures, each computed when it is first asked for, and once.

A *word* stands between spaces. Where a quarter or more of the characters belong to a script without spaces, two of
these count as one word, for that is about what a word has in Chinese (Japanese has more, Thai more still), and a run of
n words is a run of 2n characters; how long words are cannot be said there.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import filterfalse

import numpy as np

from unmask.corpus.rules.language import Identifier
from unmask.records import Integers
from unmask.words import UNSPACED

_RANGES = "".join(f"{first}-{last}" for first, last in UNSPACED)
CHARACTER = re.compile(f"[{_RANGES}]")  # of a script without spaces
UNIT = re.compile(rf"[{_RANGES}]|[^\s{_RANGES}]+")  # one of these, or what stands between them and spaces
WITHOUT_STOPS = re.compile("[\u0e00-\u0eff]")  # Thai and Lao end a sentence with a space

STOPS = ".!?…。．！？｡؟۔।॥։።។။\"'”’»」』"  # what a line that is a sentence ends with
BULLETS = "•‣⁃◦▪●○■□–—*·-"
# A sentence ends before a space and what is no small letter, or anywhere where no space follows a stop.
SENTENCE_END = re.compile("[.!?…؟۔।॥։።][\"'”’»)\\]]* (?=[^a-z])|[。！？｡។။](?=[^\n」』”’）])")
ENGLISH = frozenset(("the", "be", "to", "of", "and", "that", "have", "with"))  # Gopher's

PRIME = np.uint64(0x9E3779B97F4A7C55)
LONGEST, TOP = 10, 4  # words of the longest runs, and of those of which the most frequent one counts


class TextFigures:
    """A text, and what can be measured of it."""

    def __init__(
        self, text: str, *, language: str | None = None, identify: Identifier | None = None, removed: float = 0.0
    ) -> None:
        self.text = text
        self._language = language
        self._identify = identify
        self.removed = removed  # the share of its words that rules for lines have taken away

    @cached_property
    def language(self) -> str | None:
        """The language, told now if it is asked for only now."""
        return self._identify(self.text)[0] if self._language is None and self._identify else self._language

    @cached_property
    def lines(self) -> list[str]:
        """The lines, none of them empty."""
        return [line for line in self.text.split("\n") if line]

    @cached_property
    def unspaced_characters(self) -> int:
        """How many characters belong to scripts without spaces."""
        return 0 if self.text.isascii() else len(CHARACTER.findall(self.text))

    @cached_property
    def unspaced(self) -> bool:
        """Whether words cannot be told by spaces."""
        return 4 * self.unspaced_characters > len(self.text)

    @cached_property
    def without_stops(self) -> bool:
        """Whether it is in a script whose sentences end with a space."""
        return self.unspaced and 2 * len(WITHOUT_STOPS.findall(self.text)) > self.unspaced_characters

    @cached_property
    def units(self) -> list[str]:
        """What runs are made of: words, or the characters of a script without spaces and words between them."""
        return UNIT.findall(self.text) if self.unspaced else self.text.split()

    @cached_property
    def lengths(self) -> Integers:
        """The characters of each unit."""
        return np.fromiter(map(len, self.units), np.int64, len(self.units))

    @cached_property
    def words(self) -> float:
        """How many words there are."""
        return len(self.units) - (self.unspaced_characters / 2 if self.unspaced else 0)

    def per_word(self, count: int) -> float:
        """So many of something, for each word."""
        return count / max(self.words, 1)

    def line_share(self, count: int) -> float:
        """So many lines, as a share of them all."""
        return count / max(len(self.lines), 1)

    @cached_property
    def words_with_letter(self) -> float:
        """The share of units with a letter in them."""
        others = [*filterfalse(str.isalpha, self.units)]
        without = sum(1 for unit in others if not (unit[0].isalpha() or any(map(str.isalpha, unit))))
        return 1 - without / max(len(self.units), 1)

    @cached_property
    def english_words(self) -> int:
        """How many of eight frequent English words there are."""
        spaced = f" {self.text.lower()} ".replace("\n", " ")
        return sum(f" {word} " in spaced for word in ENGLISH)

    @cached_property
    def sentences(self) -> int:
        """How many sentences there are; a line has one at least."""
        return len(self.lines) + len(SENTENCE_END.findall(self.text))

    @cached_property
    def duplicate_lines(self) -> tuple[int, int]:
        """How many lines stood there before, and how many characters they have."""
        if len(distinct := set(self.lines)) == len(self.lines):
            return 0, 0
        repeated = len(self.lines) - len(distinct)
        return repeated, sum(map(len, self.lines)) - sum(map(len, distinct))

    @cached_property
    def duplicate_characters(self) -> float:
        """The share of characters in lines that stood there before."""
        return self.duplicate_lines[1] / max(sum(map(len, self.lines)), 1)

    @cached_property
    def runs(self) -> dict[int, float]:
        """For runs of 2 to 10 words, which share of the characters of words repeats: see `repeated_runs`."""
        return repeated_runs(self.units, self.lengths, 2 if self.unspaced else 1)


def repeated_runs(units: list[str], lengths: Integers, scale: int = 1) -> dict[int, float]:
    """For each number of words the share of characters in repeated runs of them (Gopher, table A1).

    Of 2, 3 and 4 words: those of the most frequent run, as often as it occurs; of equally frequent ones the longest.
    Of 5 to 10: those in any run that occurs more than once, each character counted once. A run that repeats begins with
    a shorter one that does, so each round looks at what is left of the round before.

    >>> shares = repeated_runs("a b c a b d".split(), np.ones(6, np.int64))
    >>> round(shares[2], 2), shares[3]
    (0.67, 0.0)
    """
    shares = dict.fromkeys(range(2, LONGEST + 1), 0.0)
    total = max(int(lengths.sum()), 1)
    before = np.zeros(len(units) + 1, np.int64)  # characters before each unit
    np.cumsum(lengths, out=before[1:])
    hashes = np.fromiter(map(hash, units), np.int64, len(units)).view(np.uint64)
    places, runs, width = np.arange(len(units)), hashes, 1  # where the runs begin that may repeat
    for words in shares:
        while width < words * scale:
            fits = int(np.searchsorted(places, len(units) - width))
            places = places[:fits]
            runs = runs[:fits] * PRIME + hashes[places + width]
            width += 1
        if len(places) < 2:
            break
        order = np.argsort(runs)
        ordered = runs[order]
        new = np.ones(len(ordered) + 1, np.bool_)  # whether a run differs from the one before it; one more at the end
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:-1])
        if new.all():
            break
        if words <= TOP:
            begins = np.flatnonzero(new)
            counts = begins[1:] - begins[:-1]
            most = int(counts.max())
            first = places[order[begins[:-1][counts == most]]]
            shares[words] = most * int((before[first + width] - before[first]).max()) / total
        repeats = np.empty(len(places), np.bool_)
        repeats[order] = ~(new[1:] & new[:-1])
        places, runs = places[repeats], runs[repeats]
        if words > TOP:
            change = np.zeros(len(units) + 1, np.int64)
            change[places] += 1
            change[places + width] -= 1
            shares[words] = int(lengths[np.cumsum(change[:-1]) > 0].sum()) / total
    return shares
