"""What came of adapting a model to a domain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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
    new_words: NewWords | None = None  # where the vocabulary was extended
    next: tuple[str, ...] = ()  # commands to go on with
    weights_sha256: str
