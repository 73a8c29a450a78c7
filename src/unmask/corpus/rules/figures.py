"""What can be measured of a text: its words and lines, and how much of it repeats.

In: one clean text. Out: figures, each computed when it is first asked for, and once; its units and their repeated runs
may have been computed together with those of other texts, which takes a fraction of the time.

A *word* stands between spaces. Where a quarter or more of the characters belong to a script without spaces, two of
these count as one word, for that is about what a word has in Chinese (Japanese has more, Thai more still), and a run of
n words is a run of 2n characters; how long words are cannot be said there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from unmask.corpus.near.shingles import mix_bits
from unmask.corpus.rules.language import Identifier
from unmask.corpus.rules.units import PRIME, TextUnits, units_of
from unmask.records import Reals
from unmask.words import UNSPACED

_RANGES = "".join(f"{first}-{last}" for first, last in UNSPACED)
CHARACTER = re.compile(f"[{_RANGES}]")  # of a script without spaces
WITHOUT_STOPS = re.compile("[\u0e00-\u0eff]")  # Thai and Lao end a sentence with a space

STOPS = tuple(".!?…。．！？｡؟۔।॥։።។။\"'”’»」』")  # what a line that is a sentence ends with
BULLETS = tuple("•‣⁃◦▪●○■□–—*·-")
# A sentence ends before a space and what is no small letter, or anywhere where no space follows a stop.
SENTENCE_END = re.compile("[.!?…؟۔।॥։።][\"'”’»)\\]]* (?=[^a-z])|[。！？｡។။](?=[^\n」』”’）])")
ENGLISH = frozenset(("the", "be", "to", "of", "and", "that", "have", "with"))  # Gopher's

BEGINNING = 600  # characters, in which most texts have all that a rule asks for
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
    def units(self) -> TextUnits:
        """What runs are made of: words, or the characters of a script without spaces and words between them."""
        return units_of([self.text])[0]

    @property
    def unspaced(self) -> bool:
        """Whether words cannot be told by spaces."""
        return self.units.unspaced

    @cached_property
    def without_stops(self) -> bool:
        """Whether it is in a script whose sentences end with a space."""
        return self.unspaced and 2 * len(WITHOUT_STOPS.findall(self.text)) > self.units.unspaced_characters

    @cached_property
    def words(self) -> float:
        """How many words there are."""
        return len(self.units.hashes) - (self.units.unspaced_characters / 2 if self.unspaced else 0)

    def per_word(self, count: int) -> float:
        """So many of something, for each word."""
        return count / max(self.words, 1)

    def line_share(self, count: int) -> float:
        """So many lines, as a share of them all."""
        return count / max(len(self.lines), 1)

    @property
    def words_with_letter(self) -> float:
        """The share of units with a letter in them."""
        units = len(self.units.hashes)
        return 1 - (units - self.units.with_letter) / max(units, 1)

    @cached_property
    def lower(self) -> str:
        """The text in lower case."""
        return self.text.lower()

    @cached_property
    def english_words(self) -> int:
        """How many of eight frequent English words there are."""
        spaced = f" {self.lower} ".replace("\n", " ")
        return sum(f" {word} " in spaced for word in ENGLISH)

    @property
    def first_english_words(self) -> int:
        """How many of them there are in the beginning; not more than in all."""
        spaced = f" {self.lower[:BEGINNING]}".replace("\n", " ")
        return sum(f" {word} " in spaced for word in ENGLISH)

    @cached_property
    def sentences(self) -> int:
        """How many sentences there are; a line has one at least."""
        return len(self.lines) + len(SENTENCE_END.findall(self.text))

    @property
    def first_sentences(self) -> int:
        """How many there are at least: all lines, and the stops of the beginning."""
        return len(self.lines) + len(SENTENCE_END.findall(self.text, 0, BEGINNING))

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
        return repeated_runs([self.units])[0]


def repeated_runs(texts: Sequence[TextUnits]) -> list[dict[int, float]]:
    """For each text and number of words the share of characters in repeated runs of them (Gopher, table A1).

    Of 2, 3 and 4 words: those of the most frequent run, as often as it occurs; of equally frequent ones the longest.
    Of 5 to 10: those in any run that occurs more than once, each character counted once. A run that repeats begins with
    a shorter one that does, so each round looks at what is left of the round before.

    >>> (shares,) = repeated_runs(units_of(["a b c a b d"]))
    >>> round(shares[2], 2), shares[3]
    (0.67, 0.0)
    """
    shares = np.zeros((len(texts), LONGEST + 1))
    for scale in (1, 2):
        numbers = [number for number, text in enumerate(texts) if text.unspaced == (scale == 2)]
        if numbers:
            shares[numbers] = _run_shares([texts[number] for number in numbers], scale)
    return [dict(enumerate(row[2:], 2)) for row in shares.tolist()]


def _run_shares(texts: Sequence[TextUnits], scale: int) -> Reals:
    """Of N texts, for each number of words up to the longest; `scale` units are a word. All texts in one array."""
    lengths = np.concatenate([text.lengths for text in texts])
    hashes = np.concatenate([text.hashes for text in texts])
    counts = np.fromiter((len(text.hashes) for text in texts), np.int64, len(texts))
    total = np.maximum(np.fromiter((text.characters for text in texts), np.int64, len(texts)), 1)
    owner = np.repeat(np.arange(len(texts)), counts)
    ends = np.repeat(np.cumsum(counts), counts)
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))  # characters before each unit
    shares = np.zeros((len(texts), LONGEST + 1))
    places, width = np.arange(len(hashes)), 1  # where the runs begin that may repeat
    runs = hashes ^ mix_bits(owner.view(np.uint64))  # so that no run of one text is one of another
    for words in range(2, LONGEST + 1):
        while width < words * scale:
            fits = places + width < ends[places]
            places = places[fits]
            runs = runs[fits] * PRIME + hashes[places + width]
            width += 1
        order = np.argsort(runs)
        ordered = runs[order]
        same = ordered[1:] == ordered[:-1]
        if not same.any():
            break
        repeats = np.zeros(len(order), np.bool_)
        repeats[1:] = same
        repeats[:-1] |= same
        places, runs = places[order[repeats]], ordered[repeats]
        if words <= TOP:
            begins = np.flatnonzero(np.concatenate(([True], runs[1:] != runs[:-1])))
            often = np.diff(begins, append=len(runs))
            first = places[begins]
            best = np.zeros(len(texts), np.int64)  # how often, and below that how long
            np.maximum.at(best, owner[first], often << 32 | before[first + width] - before[first])
            shares[:, words] = (best >> 32) * (best & 0xFFFFFFFF) / total
        else:
            change = np.zeros(len(hashes) + 1, np.int64)
            change[places] += 1
            change[places + width] -= 1
            covered = np.flatnonzero(np.cumsum(change[:-1]))
            shares[:, words] = np.bincount(owner[covered], lengths[covered], len(texts)) / total
    return shares
