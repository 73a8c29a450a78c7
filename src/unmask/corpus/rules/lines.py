"""Lines that are no prose: which of them go, and what goes of the others.

In: a clean text. Out: the stretches to cut out of it. C4's rules (Raffel et al. 2020, and its code) are for what web
pages say beside their text; those of RefinedWeb as DCLM has them (Li et al. 2024) for buttons, counters and menus.
A line of a script without spaces has a word for every two characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from unmask.corpus.rules.edits import TextEdit
from unmask.corpus.rules.figures import CHARACTER
from unmask.words import UNSPACED

_RANGES = "".join(f"{first}-{last}" for first, last in UNSPACED)
BETWEEN_WORDS = re.compile(rf"[\s{_RANGES}]+")
CITATION = re.compile(r"\[\d*\]|\[edit\]|\[citation needed\]")
POLICIES = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")
COUNTER = re.compile(
    r"\W*\d[\d,.]*[kmb]?\s+(?:likes|shares|comments|retweets|reposts|quotes|bookmarks|upvotes|downvotes|downloads|views|"
    r"followers)\W*"
)
LONGEST_WORD = 1_000  # characters
FEWEST_WORDS = 3
UPPERCASE = 0.5


def line_words(line: str) -> int:
    """How many words a clean line has.

    >>> line_words("Read more"), line_words("今日は雨が降る")
    (2, 3)
    """
    spaces = line.count(" ") + 1
    return spaces if line.isascii() else max(spaces, len(CHARACTER.findall(line)) // 2)


def has_long_word(line: str) -> bool:
    """Whether a word has more than 1,000 characters."""
    if len(line) <= LONGEST_WORD or max(map(len, line.split(" "))) <= LONGEST_WORD:
        return False
    return max(map(len, BETWEEN_WORDS.split(line))) > LONGEST_WORD


def is_uppercase(line: str) -> bool:
    """Whether more than half of the characters are capitals."""
    return not line.islower() and sum(map(str.isupper, line)) > UPPERCASE * len(line)


def speaks_of_javascript(text: str) -> bool:
    """Whether the word is in it, of any case."""
    return "javascript" in text.lower()


def speaks_of_policies(text: str) -> bool:
    """Whether it speaks of cookies or terms as web pages do."""
    lower = text.lower()
    return any(phrase in lower for phrase in POLICIES)


# What a line goes for. The names begin with who published the rule.
LINE_RULES: dict[str, Callable[[str], bool]] = {
    "c4-long-words": has_long_word,
    "c4-few-words": lambda line: line.count(" ") < FEWEST_WORDS - 1 and line_words(line) < FEWEST_WORDS,
    "c4-javascript": speaks_of_javascript,
    "c4-policies": speaks_of_policies,
    "dclm-uppercase": is_uppercase,
    "dclm-digits": str.isdigit,
    "dclm-counters": lambda line: COUNTER.fullmatch(line.lower()) is not None,
    "dclm-one-word": lambda line: " " not in line and line_words(line) < 2,
}
# Of a text of which this is not true, in lower case, no line can go: one look for all of its lines.
NEEDED: dict[str, Callable[[str], bool]] = {
    "c4-long-words": lambda lower: len(lower) > LONGEST_WORD,
    "c4-javascript": lambda lower: "javascript" in lower,
    "c4-policies": lambda lower: any(phrase in lower for phrase in POLICIES),
}


def cut_lines(text: str, goes: Sequence[bool]) -> list[TextEdit]:
    """The stretches of lines that go, each with a line break.

    >>> cut_lines("menu\\nText.\\nmore", [True, False, True])
    [TextEdit(start=0, end=5, text=''), TextEdit(start=10, end=15, text='')]
    """
    borders = [-1, *(match.start() for match in re.finditer("\n", text)), len(text)]
    if all(goes):
        return [TextEdit(0, len(text))]
    first = goes.index(False)
    return [
        TextEdit(begin + 1, end + 1) if number < first else TextEdit(begin, end)
        for number, (begin, end) in enumerate(pairwise(borders))
        if goes[number]
    ]


def citations(text: str) -> list[TextEdit]:
    """The marks of an encyclopedia: [12], [edit], [citation needed].

    >>> citations("Paris[1] is large.[edit]")
    [TextEdit(start=5, end=8, text=''), TextEdit(start=18, end=24, text='')]
    """
    return [TextEdit(*match.span()) for match in CITATION.finditer(text)] if "[" in text else []
