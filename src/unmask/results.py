"""What the verbs give back: typed, printable, and JSON by `dataclasses.asdict`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """A measured value with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A data directory: what was read, what was left out and why, and what is there now."""

    path: Path
    files: int
    bytes_read: int
    counts: dict[str, int]  # read, malformed, empty, short, duplicate, train, valid, in that order
    tokenizer: str
    vocabulary: int
    tokens: dict[str, int]  # by split
    fingerprint: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Verified:
    """How a directory compares with its manifest."""

    path: Path
    files: int
    bytes: int
    damage: tuple[str, ...]  # one line for each file that is not what it was


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A run that has come to its end."""

    path: Path
    model: Path
    recipe: str
    parameters: int
    steps: int
    tokens: int
    seconds: float
    loss: float  # on the fixed validation masks
    accuracy: float
    weights_sha256: str


@dataclass(frozen=True, kw_only=True)
class Band:
    """The same figures over a part of the hidden positions."""

    positions: int
    loss: Figure
    top1: Figure


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """How well a masked language model restores hidden tokens of held-out text."""

    model: str
    data: str
    positions: int  # hidden, and so predicted
    loss: Figure  # nats per hidden token
    perplexity: Figure
    top1: Figure
    top5: Figure
    bits_per_byte: Figure
    context_bits: Figure  # unigram entropy − loss: a lower bound on what the context tells, in bits
    most_frequent_top1: float  # the baseline that always says the most frequent token
    unigram_loss: float  # the baseline that knows only how frequent each token is
    by_kind: dict[str, Band]  # masked, random, kept
    by_frequency: dict[str, Band]


@dataclass(frozen=True)
class Guess:
    """One candidate for a blank."""

    token: str
    probability: float


@dataclass(frozen=True)
class Filled:
    """A text with its blanks filled: the candidates of each blank, best first, and the best text."""

    text: str
    blanks: tuple[tuple[Guess, ...], ...]
    completed: str
    places: tuple[tuple[int, int], ...]  # where each filled word starts and ends in `completed`


@dataclass(frozen=True, kw_only=True)
class Demonstrated:
    """The whole journey: what was prepared, trained and measured, and the fills before and after."""

    prepared: Prepared
    trained: Trained
    evaluated: Evaluated
    before: tuple[Filled, ...]
    after: tuple[Filled, ...]
