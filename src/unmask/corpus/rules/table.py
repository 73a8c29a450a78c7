"""The table of rules: what each measures, between which limits a document stays, and which belong together.

A document stays where low ≤ figure ≤ high; at the limit itself it stays. A figure that cannot be measured (how long
words are where there are no spaces, English words in a text that is not English) drops nothing. Published: Gopher
(Rae et al. 2021, A1.1), C4 (Raffel et al. 2020), FineWeb (Penedo et al. 2024), DCLM (Li et al. 2024, after RefinedWeb).
Shares of characters are shares of those of words or lines, spaces between them not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from unmask.corpus.rules.figures import BULLETS, STOPS, TextFigures
from unmask.corpus.rules.lines import LINE_RULES

Limits = tuple[float | None, float | None]  # the least and the most a figure may be


@dataclass(frozen=True)
class DocumentRule:
    """A figure of a document, and the limits within which it stays."""

    measures: str  # in words
    measure: Callable[[TextFigures], float | None]  # none: it cannot be measured of this text
    low: float | None = None
    high: float | None = None
    at_least: Callable[[TextFigures], float] | None = None  # never above the figure, and quicker to have
    of_runs: bool = False  # the figure is of repeated runs, which are measured of many texts together

    @property
    def limits(self) -> Limits:
        """The published limits."""
        return self.low, self.high


def _word_length(figures: TextFigures) -> float | None:
    return None if figures.unspaced else figures.units.characters / max(len(figures.units.hashes), 1)


def _lines_ended(figures: TextFigures) -> float | None:
    if figures.without_stops:
        return None
    return figures.line_share(sum(line.endswith(STOPS) for line in figures.lines))


def _short_lines(figures: TextFigures) -> float:
    longest = 10 if figures.unspaced else 30  # a Chinese character says what three letters do
    return figures.line_share(sum(len(line) <= longest for line in figures.lines))


def _runs(words: int) -> Callable[[TextFigures], float]:
    return lambda figures: figures.runs[words]


DOCUMENT_RULES: dict[str, DocumentRule] = {
    "gopher-words": DocumentRule("words", lambda f: f.words, low=50, high=100_000),
    "gopher-word-length": DocumentRule("characters of a word, the mean", _word_length, low=3, high=10),
    "gopher-hashes": DocumentRule("# for each word", lambda f: f.per_word(f.text.count("#")), high=0.1),
    "gopher-ellipses": DocumentRule(
        "ellipses for each word", lambda f: f.per_word(f.text.count("...") + f.text.count("…")), high=0.1
    ),
    "gopher-bullet-lines": DocumentRule(
        "lines that begin with a bullet",
        lambda f: f.line_share(sum(line.startswith(BULLETS) for line in f.lines)),
        high=0.9,
    ),
    "gopher-ellipsis-lines": DocumentRule(
        "lines that end with an ellipsis",
        lambda f: f.line_share(sum(line.endswith(("...", "…")) for line in f.lines)),
        high=0.3,
    ),
    "gopher-letters": DocumentRule("words with a letter", lambda f: f.words_with_letter, low=0.8),
    "gopher-stop-words": DocumentRule(
        "different words of the, be, to, of, and, that, have, with; in English",
        # The language is told where it matters: of a text without these words.
        lambda f: f.english_words if f.english_words >= 2 or f.language == "en" else None,
        low=2,
        at_least=lambda f: f.first_english_words,
    ),
    "gopher-duplicate-lines": DocumentRule(
        "lines that stood there before", lambda f: f.line_share(f.duplicate_lines[0]), high=0.3
    ),
    "gopher-duplicate-line-characters": DocumentRule(
        "characters in lines that stood there before", lambda f: f.duplicate_characters, high=0.2
    ),
    "c4-sentences": DocumentRule(
        "sentences",
        lambda f: None if f.without_stops else f.sentences,
        low=5,
        at_least=lambda f: f.first_sentences,
    ),
    "c4-lorem-ipsum": DocumentRule("times lorem ipsum", lambda f: f.lower.count("lorem ipsum"), high=0),
    "c4-curly-brackets": DocumentRule("curly brackets", lambda f: f.text.count("{"), high=0),
    "fineweb-ended-lines": DocumentRule("lines that end as sentences do", _lines_ended, low=0.12),
    "fineweb-short-lines": DocumentRule(
        "lines of at most 30 characters, or 10 of a script without spaces", _short_lines, high=0.67
    ),
    "fineweb-duplicate-line-characters": DocumentRule(
        "characters in lines that stood there before", lambda f: f.duplicate_characters, high=0.01
    ),
    "fineweb-newlines": DocumentRule("line breaks for each word", lambda f: f.per_word(f.text.count("\n")), high=0.3),
    **{
        f"gopher-top-{n}-gram": DocumentRule(
            f"characters in the most frequent run of {n} words", _runs(n), high=high, of_runs=True
        )
        for n, high in ((2, 0.2), (3, 0.18), (4, 0.16))
    },
    **{
        f"gopher-duplicate-{n}-grams": DocumentRule(
            f"characters in repeated runs of {n} words", _runs(n), high=high, of_runs=True
        )
        for n, high in ((5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.1))
    },
    "dclm-removed": DocumentRule("words in lines that the rules of dclm took", lambda f: f.removed, high=0.05),
}

EDITS = ("c4-citations", *LINE_RULES, "boilerplate", "personal")  # in the order in which they are applied
PUBLISHERS = ("gopher", "c4", "fineweb", "dclm")
ASKED_FOR = ("personal",)  # which an option of its own turns on
PRESETS: dict[str, tuple[str, ...]] = {
    publisher: tuple(name for name in (*EDITS, *DOCUMENT_RULES) if name.startswith(f"{publisher}-"))
    for publisher in PUBLISHERS
}
PRESETS["web"] = (*PRESETS["c4"], *PRESETS["gopher"], *PRESETS["fineweb"])
