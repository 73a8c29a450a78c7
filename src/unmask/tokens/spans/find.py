"""Entities and phrases found in texts: by a gazetteer, or by a pipeline of spaCy.

In: texts. Out: for each its spans of characters, ascending, none overlapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import ahocorasick_rs

from unmask.errors import BadInput
from unmask.tokens.spans.phrases import read_phrases

Span = tuple[int, int]  # the first character and the one after the last
Finder = Callable[[Sequence[str]], list[list[Span]]]  # the spans of each text, ascending, none overlapping


def gazetteer(phrases: Sequence[str]) -> Finder:
    """Find these phrases, as whole words, the longest where they overlap.

    One automaton finds all of them in one pass over a text (Aho and Corasick 1975), however many there are.

    >>> gazetteer(["New York", "New York Times", "art"])(["The New York Times of New Yorkers, art."])
    [[(4, 18), (35, 38)]]
    """
    automaton = ahocorasick_rs.AhoCorasick(list(phrases))

    def find(texts: Sequence[str]) -> list[list[Span]]:
        matches = (automaton.find_matches_as_indexes(text, overlapping=True) for text in texts)
        return [
            without_overlaps(_whole_words(text, text_matches))
            for text, text_matches in zip(texts, matches, strict=True)
        ]

    return find


def gazetteer_file(path: Path | str) -> Finder:
    """Find the phrases of a file, one a line."""
    return gazetteer(read_phrases(path))


def spacy_finders(model: str) -> dict[str, Finder]:
    """Find what a spaCy pipeline calls an entity, and as phrases, where it parses, its noun chunks."""
    try:
        import spacy
    except ModuleNotFoundError:
        raise BadInput("spaCy is not installed: pip install 'unmask[spacy]'") from None
    try:
        pipeline = spacy.load(model)
    except OSError:
        raise BadInput(f"spaCy has no pipeline {model!r}: python -m spacy download {model}") from None

    @lru_cache(maxsize=1)  # the same texts are asked for each kind
    def parsed(texts: tuple[str, ...]) -> list[Any]:
        return list(pipeline.pipe(texts))

    def finder(kind: str) -> Finder:
        def find(texts: Sequence[str]) -> list[list[Span]]:
            spans = (getattr(document, kind) for document in parsed(tuple(texts)))
            return [[(span.start_char, span.end_char) for span in text_spans] for text_spans in spans]

        return find

    parses = {"phrase": finder("noun_chunks")} if pipeline.has_pipe("parser") else {}
    return {"entity": finder("ents"), **parses}


def without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """Of spans that overlap the leftmost, and of those the longest; ascending.

    >>> without_overlaps([(6, 9), (0, 5), (0, 7)])
    [(0, 7)]
    """
    disjoint: list[Span] = []
    for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not disjoint or begin >= disjoint[-1][1]:
            disjoint.append((begin, end))
    return disjoint


def _whole_words(text: str, matches: list[tuple[int, int, int]]) -> list[Span]:
    """The matches that stand as whole words."""
    return [(begin, end) for _, begin, end in matches if not (_inside_word(text, begin) or _inside_word(text, end))]


def _inside_word(text: str, place: int) -> bool:
    """Whether a place is between two letters or digits of a script that is written with spaces."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    return before.isalnum() and after.isalnum() and max(before, after) < "\u0e00"
