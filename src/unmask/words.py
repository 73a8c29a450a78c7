"""Words, whatever the script: what texts are searched and compared by.

A word is what stands between what is no letter and no digit, in lower case; of a script without spaces every character
is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

# Scripts written without spaces: Thai and Lao, Myanmar, Khmer, kana, Chinese characters.
UNSPACED = (
    ("\u0e00", "\u0eff"),
    ("\u1000", "\u109f"),
    ("\u1780", "\u17ff"),
    ("\u3040", "\u30ff"),
    ("\u3400", "\u9fff"),
    ("\U00020000", "\U000323af"),
)
_RANGES = "".join(f"{first}-{last}" for first, last in UNSPACED)
WORD = re.compile(rf"[{_RANGES}]|[^\W_{_RANGES}]+")


class Word(NamedTuple):
    """A word of a text and where it stands."""

    spelt: str
    begin: int
    end: int


def words_of(text: str) -> Iterator[Word]:
    """The words of a text and their places.

    >>> [word.spelt for word in words_of("Wing-flutter, 猫が")]
    ['wing', 'flutter', '猫', 'が']
    """
    return (Word(match[0].lower(), match.start(), match.end()) for match in WORD.finditer(text))


def spelt_words(text: str) -> list[str]:
    """The words of a text, without their places.

    >>> spelt_words("Wing-flutter, 猫が")
    ['wing', 'flutter', '猫', 'が']
    """
    words: list[str] = WORD.findall(text.lower())
    return words
