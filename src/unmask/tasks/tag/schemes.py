"""Tags of words and the spans they mean, in the schemes that are in use.

    words     Angela  Merkel  visited  Paris  London  .
    IOB1      I-PER   I-PER   O        I-LOC  B-LOC   O      B- only where an entity follows another of its kind
    IOB2      B-PER   I-PER   O        B-LOC  B-LOC   O      every entity begins with B-
    IOBES     B-PER   E-PER   O        S-LOC  S-LOC   O      E- ends one, S- is one of a single word
    BILOU     B-PER   L-PER   O        U-LOC  U-LOC   O      the same with other letters

In: tags of whole texts. Out: spans of words, by the rules of conlleval (Tjong Kim Sang & De Meulder 2003) or strictly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

OUTSIDE = "O"
LETTERS = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S"}  # of all schemes, in those of IOBES


class WordSpan(NamedTuple):
    """Some words and what they are."""

    first: int
    last: int  # the one after the last word
    label: str


class Scheme(NamedTuple):
    """How a file's tags are written."""

    name: str  # IOB1, IOB2, IOBES or BILOU
    repaired: int  # tags that stand where the scheme has none


def split_tag(tag: str) -> tuple[str, str] | None:
    """The letter and the label of a tag, and two empty strings for what is outside; none where it is no tag.

    >>> split_tag("B-creative-work"), split_tag("O"), split_tag("PER")
    (('B', 'creative-work'), ('', ''), None)
    """
    if tag == OUTSIDE:
        return "", ""
    letter, dash, label = tag.partition("-")
    return (letter, label) if dash and label and letter in LETTERS else None


def lenient_spans(tags: Sequence[str]) -> list[WordSpan]:
    """The spans of tags as conlleval reads them: what no entity goes on before a tag of the inside begins one.

    >>> [tuple(span) for span in lenient_spans(["I-PER", "I-PER", "O", "I-LOC", "B-LOC"])]
    [(0, 2, 'PER'), (3, 4, 'LOC'), (4, 5, 'LOC')]
    """
    spans: list[WordSpan] = []
    open_ended = False
    for place, tag in enumerate(tags):
        letter, label = split_tag(tag) or ("", "")
        letter = LETTERS.get(letter, "")
        if letter in ("I", "E") and open_ended and spans[-1].label == label:
            spans[-1] = spans[-1]._replace(last=place + 1)
        elif letter:
            spans.append(WordSpan(place, place + 1, label))
        open_ended = letter in ("B", "I")
    return spans


def strict_spans(tags: Sequence[str]) -> list[WordSpan]:
    """The spans of IOB2 tags that begin with B- and go on with I- of the same label; what else there is, is nothing.

    >>> [tuple(span) for span in strict_spans(["I-PER", "B-PER", "I-LOC", "I-PER"])]
    [(1, 2, 'PER')]
    """
    return [span for span in lenient_spans(tags) if tags[span.first].startswith("B-")]


def recognise_scheme(texts: Iterable[Sequence[str]]) -> Scheme | str:
    """The scheme of a file's tags; or the first tag that is of none."""
    letters: dict[str, str] = {}  # and a tag that has it
    texts = list(texts)
    for tag in (tag for tags in texts for tag in tags):
        parts = split_tag(tag)
        if parts is None:
            return tag
        letters.setdefault(parts[0], tag)
    ending, single = letters.keys() & {"E", "S"}, letters.keys() & {"L", "U"}
    if ending and single:
        return letters[min(single)]
    if ending or single:
        return Scheme("IOBES" if ending else "BILOU", sum(_misplaced_endings(tags) for tags in texts))
    without_b = sum(tags[span.first].startswith("I-") for tags in texts for span in lenient_spans(tags))
    needless_b = sum(_needless_beginnings(tags) for tags in texts)
    return Scheme("IOB2", without_b) if without_b <= needless_b else Scheme("IOB1", needless_b)


def _needless_beginnings(tags: Sequence[str]) -> int:
    """Tags with B- where IOB1 has I-: behind no entity of the same label."""
    pairs = zip((OUTSIDE, *tags), tags, strict=False)
    return sum(tag.startswith("B-") and before not in (tag, f"I-{tag[2:]}") for before, tag in pairs)


def _misplaced_endings(tags: Sequence[str]) -> int:
    """Tags of the inside that begin an entity, and entities that do not end."""
    return sum(
        LETTERS[tags[span.first][0]] not in ("B", "S") or LETTERS[tags[span.last - 1][0]] not in ("E", "S")
        for span in lenient_spans(tags)
    )


def tags_for(labels: Sequence[str]) -> tuple[str, ...]:
    """The tags of a model, in IOB2.

    >>> tags_for(["LOC", "PER"])
    ('O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER')
    """
    return (OUTSIDE, *(f"{letter}-{label}" for label in labels for letter in "BI"))
