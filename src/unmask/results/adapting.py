"""What came of adapting a model to a domain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmask.results.figures import Figure


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """Weights between those before and those after, and what they come to on a sample of held-out text."""

    share: float  # of the weights after
    loss: float  # on the domain, nats a hidden token
    general_loss: float | None = None  # on general text, where there is some


@dataclass(frozen=True, kw_only=True)
class NewWords:
    """Words that were put into a vocabulary, and what they save."""

    words: int
    tokens_before: int  # of held-out domain text
    tokens_after: int

    @property
    def saved(self) -> float:
        """The share of the tokens that is saved."""
        return 1 - self.tokens_after / max(1, self.tokens_before)


@dataclass(frozen=True, kw_only=True)
class TextChange:
    """A text before and after; figures are on all of it that is held out."""

    before: Figure  # nats a hidden token; with new words, of the model that has just got them
    after: Figure
    change: Figure  # paired by document
    bits_before: Figure  # bits a byte, of the model as it was given, in its own tokens
    bits_after: Figure
    bits_change: Figure  # paired by document
    fertility_before: float  # tokens a word
    fertility_after: float


@dataclass(frozen=True, kw_only=True)
class TermFill:
    """A held-out sentence of the domain with a blank, and the best guesses before and after."""

    text: str
    answer: str  # what stood there
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TermNeighbours:
    """A term of the domain, and the words whose vectors are nearest to its own before and after."""

    term: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Likeness:
    """What the vectors of a sentence encoder tell of what is alike, before and after."""

    measure: str
    examples: int
    before: Figure
    after: Figure


@dataclass(frozen=True, kw_only=True)
class Adapted:
    """A model that was adapted, before and after."""

    path: Path
    model: Path
    start: Path
    parameters: int
    lr: float
    steps: int
    tokens: int
    seconds: float
    precision: str
    before: dict[str, float]  # figures on all held-out text, of the domain and general_…
    after: dict[str, float]
    forget: float | None  # nats that the general loss might rise by
    mixtures: tuple[Mixture, ...]
    kept: float  # the share of the weights after in the model that is exported
    why: str  # in words
    ended: str | None = None  # why it ended before its budget did, in words
    domain: TextChange
    general: TextChange | None = None  # where there is general text
    fills: tuple[TermFill, ...] = ()
    neighbours: tuple[TermNeighbours, ...] = ()
    likeness: tuple[Likeness, ...] = ()  # of an encoder that was tuned for vectors of sentences
    new_words: NewWords | None = None  # where the vocabulary was extended
    next: tuple[str, ...] = ()  # commands to go on with
    weights_sha256: str
