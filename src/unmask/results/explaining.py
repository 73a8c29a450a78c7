"""Why a classifier says a label, and what would change its mind."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class LabelWord:
    """What a word did for the label of its text."""

    word: str
    start: int  # its first character
    end: int  # the one after its last
    second: bool = False  # whether it stands in the second text of a pair
    relevance: float  # nats of log-odds: above 0 it made the label likelier than other words in its place would
    drop: float  # of the label's probability, on average over what stood in its place


@dataclass(frozen=True, kw_only=True)
class WordChange:
    """A word and what stands in its place."""

    word: str
    by: str  # empty where the word is left out
    start: int  # of the word, in the text as it was
    end: int
    second: bool = False


@dataclass(frozen=True, kw_only=True)
class Flip:
    """The smallest change found that makes the classifier say something else; none of its words can be spared."""

    changes: tuple[WordChange, ...]
    text: str  # changed
    pair: str | None = None
    labels: tuple[str, ...]  # that are said then
    probability: float  # of the label that was explained, then


@dataclass(frozen=True, kw_only=True)
class ExplainedLabel:
    """Which words of a text mattered for a label, and the smallest change that flips it."""

    text: str
    pair: str | None = None
    label: str  # that is explained: the likeliest, or the one asked for
    probability: float  # of it, calibrated
    labels: tuple[str, ...]  # that are said
    words: tuple[LabelWord, ...]  # in the order of the text
    method: str  # replaced, by what the start model would say there; hidden, by the mask; or deleted
    start: Path | None  # the model that said what could stand there
    replacements: int  # words that were tried in the place of each
    covered: float  # their share of what could stand there, on average
    left_out: int  # words that were only hidden, and mattered least then
    changes: int  # that were tried for a flip, at the most
    flip: Flip | None  # none where no change of so many words flips it
    tokens_read: int
    windows: int
    notes: tuple[str, ...] = ()
