"""Entities of a corpus told by their capitals: sequences of capitalised words that are names, not beginnings.

In go texts, out come the sequences, most frequent first. Nothing but the spelling is known, so it works in every
language whose script has capitals, and whether or not the tokenizer keeps them.

    text       In May the Eurovision Song Contest came to Kyiv. The Grand Palace was full.
    counted           [Eurovision Song Contest]             [Grand Palace]

The first word of a sentence is capitalised whatever it is, so a sequence counts from its second word there. A word is
a name where it is capitalised more often than not inside of sentences: a sequence has one at least, and neither begins
nor ends with a word that hardly ever is one ("The").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from sys import maxunicode
from typing import NamedTuple

from unmask.errors import BadInput

LIMIT = 1 << 20  # sequences counted at a time: where there are more, the rarest are forgotten
NAME = 0.5  # of its occurrences inside of sentences a name is capitalised in more than this share
FUNCTION_WORD = 0.1  # and a word that begins or ends no name in less than this one
BEFORE = r"(?<=[\w,;)] )|(?<=[\w,;)] \()"  # what stands before a word inside of a sentence


@dataclass(frozen=True)
class CountedEntity:
    """A sequence of capitalised words, and how often it stands inside of a sentence."""

    text: str
    count: int


def mine_entities(texts: Iterable[str], *, max_words: int = 6, min_count: int = 2) -> list[CountedEntity]:
    """The capitalised sequences of 2 to `max_words` words that occur more than `min_count` times, most frequent first.

    >>> mine_entities(["The boat left New York Harbor. New York is wide and New York Harbor is deep."] * 2)
    [CountedEntity(text='New York Harbor', count=4)]
    """
    if max_words < 2 or min_count < 0:
        raise BadInput(f"longest {max_words}, least {min_count}: give 2 and 0 or more")
    sequences, small = _counts(texts)
    capitalised: Counter[str] = Counter()
    for run, count in sequences.items():
        for word in _patterns().word.findall(run):
            capitalised[_type(word)] += count
    share = {word: count / (count + small[word]) for word, count in capitalised.items()}
    entities: Counter[str] = Counter()
    for run, count in sequences.items():
        if (name := _name_in(run, share, max_words)) is not None:
            entities[name] += count
    frequent = [CountedEntity(text, count) for text, count in entities.items() if count > min_count]
    return sorted(frequent, key=lambda entity: (-entity.count, entity.text))


def _counts(texts: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
    """The runs of capitalised words inside of sentences, and the words in small letters."""
    sequences: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for text in texts:
        sequences.update(_runs(text))
        small.update(_patterns().small.findall(text))
        _forget(sequences)
        _forget(small)
    return sequences, small


def _runs(text: str) -> Iterator[str]:
    """The runs of capitalised words inside of sentences: where one begins a sentence, what follows its first word."""
    patterns = _patterns()
    for match in patterns.run.finditer(text):
        run = match[0]
        if match["inside"] is None:
            first = patterns.word.match(run)
            run = run[first.end() :].lstrip(" -") if first else ""
        if run:
            yield run


def _name_in(run: str, share: dict[str, float], max_words: int) -> str | None:
    """The name in a run, without words at its edges that hardly ever are part of one; none if there is no name.

    >>> _name_in("The New York Times", {"the": 0.01, "new": 0.4, "york": 1.0, "times": 0.2}, 6)
    'New York Times'
    """
    matches = list(_patterns().word.finditer(run))
    shares = [share.get(_type(match[0]), 0.0) for match in matches]
    while shares and shares[0] < FUNCTION_WORD:
        del shares[0], matches[0]
    while shares and shares[-1] < FUNCTION_WORD:
        del shares[-1], matches[-1]
    if not 2 <= len(shares) <= max_words or max(shares) <= NAME:
        return None
    return re.sub(r"\.$|['’]s$", "", run[matches[0].start() : matches[-1].end()])


def _type(word: str) -> str:
    """A word whatever its case, without the full stop of an initial."""
    return word.lower().rstrip(".")


def _forget(counter: Counter[str]) -> None:
    """Keep a counter small, whatever the size of the corpus: what is rarest goes (cf. Manku & Motwani 2002)."""
    rare = 1
    while len(counter) > (LIMIT if rare == 1 else LIMIT // 2):
        for key in [key for key, count in counter.items() if count <= rare]:
            del counter[key]
        rare += 1


class _Patterns(NamedTuple):
    """How words are told by their first letter."""

    run: re.Pattern[str]  # capitalised words with a space or a hyphen between them
    word: re.Pattern[str]  # one of them
    small: re.Pattern[str]  # a word that begins with a small letter


@lru_cache(maxsize=1)
def _patterns() -> _Patterns:
    capital = _letters(lambda letter: letter.isupper() or letter.istitle())
    rest = r"\w*(?:['’]\w+)*"
    word = rf"[{capital}](?:\.(?= )|{rest})"  # an initial keeps its full stop
    return _Patterns(
        run=re.compile(rf"(?<!\w)(?=[{capital}])(?:(?P<inside>{BEFORE})|){word}(?:[ -]{word})*"),
        word=re.compile(word),
        small=re.compile(rf"(?<!\w)[{_letters(str.islower)}]{rest}"),
    )


def _letters(has_case: Callable[[str], bool]) -> str:
    """The letters of a case, as the ranges of a regular expression."""
    codes = [code for code in range(maxunicode + 1) if has_case(chr(code))]
    firsts = [code for nth, code in enumerate(codes) if not nth or codes[nth - 1] != code - 1]
    lasts = [code for nth, code in enumerate(codes) if nth + 1 == len(codes) or codes[nth + 1] != code + 1]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, lasts, strict=True))
