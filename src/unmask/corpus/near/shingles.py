"""The shingles of a text: its runs of five words, or of five characters in scripts without spaces, as 64-bit hashes.

In: texts. Out: the hashes of all their shingles, one text behind the other. Texts are compared by what they say: after
Unicode NFKC, in lower case, without punctuation, figures kept. A character of a script that puts no spaces between
words (Chinese, Japanese, Thai, Lao, Burmese, Khmer) is a word by itself, so that mixed text needs no rule of its own. A
text of fewer than five words is one shingle.

    "The cat, the CAT sat."   →  the cat the cat sat  →  one shingle
    "我们去东京"               →  我 们 去 东 京         →  one shingle
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmask.records import Integers

SHINGLE = 5  # words
GROUP = 1 << 18  # characters that are looked at together: what fits in a processor's cache
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / φ
BASE = np.uint64(0x2545F4914F6CDD1D)
LAST = 0x33480  # no letter, figure or mark is behind it, but for variation selectors
SEPARATOR = "\0"  # between texts: no clean text has it
# Scripts without spaces between words, by their first and last characters.
UNSPACED = (
    (0x0E01, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # CJK radicals
    (0x3005, 0x3007),
    (0x3021, 0x312F),  # kana, bopomofo
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B16F),
    (0x20000, 0x323AF),
)

Hashes = NDArray[np.uint64]


class Shingles(NamedTuple):
    """The shingles of some texts."""

    hashes: Hashes  # of all of them, one text behind the other; a text may have one several times
    ends: Integers  # N, where those of each text end


@lru_cache(maxsize=1)
def _classes() -> NDArray[np.uint8]:
    """Of each character: 0 is none of a word, 1 is one of a word, 2 is a word by itself."""
    classes = np.zeros(sys.maxunicode + 1, dtype=np.uint8)
    classes[:LAST] = [unicodedata.category(chr(point))[0] in "LNM" for point in range(LAST)]
    classes[0xE0100:0xE01F0] = 1  # variation selectors, the only others
    for first, last in UNSPACED:
        classes[first : last + 1] *= 2
    return classes


def powers_of_base(size: int) -> tuple[Hashes, Hashes]:
    """At least so many powers of a base modulo 2⁶⁴, and their inverses."""
    return _powers(-(-max(1, size) // GROUP) * GROUP)


@lru_cache(maxsize=2)
def _powers(size: int) -> tuple[Hashes, Hashes]:
    inverse = np.uint64(pow(int(BASE), -1, 1 << 64))
    bases = np.full(size, BASE), np.full(size, inverse)
    for base in bases:
        base[0] = 1
    return np.multiply.accumulate(bases[0]), np.multiply.accumulate(bases[1])


def fold(text: str) -> str:
    """A text as it is compared, but for its punctuation.

    >>> fold("Ｆｕｌｌ width, Ⅷ")
    'full width, viii'
    """
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()


def token_starts(points: NDArray[np.uint32]) -> Integers:
    """Where each word begins among the characters of a folded text."""
    classes = _classes()[points]
    in_word = classes == 1
    begins = in_word.copy()
    begins[1:] &= ~in_word[:-1]
    return np.flatnonzero(begins | (classes == 2))


def characters_of(text: str) -> NDArray[np.uint32]:
    """The numbers of a text's characters."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def shingles_of(texts: Sequence[str]) -> Shingles:
    """The shingles of each text.

    >>> one, other = (shingles_of([text]).hashes for text in ("The cat, the CAT sat.", "the cat the cat SAT"))
    >>> one.tolist() == other.tolist(), shingles_of(["a b c d e f", "", "我们去东京塔"]).ends.tolist()
    (True, [2, 2, 4])
    """
    hashes, counts = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    group, size = list[str](), 0
    for text in texts:
        group.append(text)
        size += len(text)
        if size >= GROUP:
            _add_group(group, hashes, counts)
            group, size = [], 0
    if group:
        _add_group(group, hashes, counts)
    return Shingles(np.concatenate(hashes), np.cumsum(np.concatenate(counts)))


def _add_group(texts: list[str], hashes: list[Hashes], counts: list[Integers]) -> None:
    points = characters_of(SEPARATOR.join(map(fold, texts)))  # each by itself, for one that is ASCII is folded at once
    group_hashes, group_counts = runs_of(*words_of(points))
    hashes.append(group_hashes)
    counts.append(group_counts)


def words_of(points: NDArray[np.uint32]) -> tuple[Hashes, Integers]:
    """The hash of each word of some texts, and where the words of each text end."""
    starts = token_starts(points)
    values = (points.astype(np.uint64) + np.uint64(1)) * (_classes()[points] > 0)
    powers, inverses = powers_of_base(len(points))
    # What is between two words counts nothing, so a word goes as far as the next one begins.
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(values * powers[: len(points)])))
    stops = np.append(starts[1:], len(points))
    words = mix_bits((sums[stops] - sums[starts]) * inverses[starts])
    separators = np.append(np.flatnonzero(points == 0), len(points))
    return words, np.searchsorted(starts, separators)


def runs_of(words: Hashes, ends: Integers) -> tuple[Hashes, Integers]:
    """The hash of each run of five words within a text, and how many each text has."""
    counts = np.diff(ends, prepend=0)
    begins = ends - counts
    total = np.zeros(len(words), np.uint64)
    for offset in range(SHINGLE):
        part = words[offset:]
        total[: len(part)] = total[: len(part)] * ODD + part
    owner = np.repeat(np.arange(len(ends)), counts)
    whole = np.arange(len(words)) + SHINGLE <= ends[owner]
    for text in np.flatnonzero((counts > 0) & (counts < SHINGLE)).tolist():  # of a short text its only one
        first, run = int(begins[text]), int(counts[text])
        for word in words[first : int(ends[text])].tolist():
            run = (run * int(ODD) + word) % (1 << 64)
        total[first], whole[first] = run, True
    runs = np.maximum(counts - SHINGLE + 1, (counts > 0).astype(np.int64))
    return mix_bits(total[whole]), runs


def mix_bits(values: Hashes) -> Hashes:
    """Spread the bits (the end of MurmurHash 3)."""
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return values ^ (values >> np.uint64(33))


def jaccard(one: Hashes, other: Hashes) -> float:
    """The exact similarity of two sets of shingles, each ascending and without repetition.

    >>> jaccard(np.array([1, 2, 3], np.uint64), np.array([2, 3, 4], np.uint64))
    0.5
    """
    if len(one) > len(other):
        one, other = other, one
    places = np.searchsorted(other, one)
    places[places == len(other)] = 0
    shared = int((other[places] == one).sum()) if len(other) else 0
    return shared / max(1, len(one) + len(other) - shared)
