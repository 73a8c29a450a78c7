"""What taggers say of texts, and how well they do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmask.results.figures import Figure


@dataclass(frozen=True, kw_only=True)
class Entity:
    """A stretch of a text, and what it is."""

    start: int  # its first character
    end: int  # and the one after its last
    text: str
    label: str
    probability: float  # of exactly this entity, calibrated


@dataclass(frozen=True, kw_only=True)
class Tagged:
    """The entities of a text."""

    text: str
    entities: tuple[Entity, ...]
    tokens_read: int
    windows: int


@dataclass(frozen=True, kw_only=True)
class JudgedEntities:
    """How well the entities of one kind are found."""

    label: str
    entities: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, kw_only=True)
class JudgedTagBaseline:
    """What a simpler way comes to on the same texts."""

    name: str
    precision: float
    recall: float
    f1: Figure


@dataclass(frozen=True, kw_only=True)
class TagError:
    """An entity that is not there, or one that was missed, and how sure of it the model was."""

    line: int
    text: str
    said: tuple[str, ...]  # what it says there: labels with their words, none where it missed one
    true: tuple[str, ...]  # what is there
    probability: float


@dataclass(frozen=True, kw_only=True)
class JudgedTags:
    """How well a tuned model finds the entities of texts that it was neither tuned nor calibrated on."""

    data: Path
    examples: int
    empty: int  # texts without a word, left out
    entities: int
    misaligned: int  # of them, that begin or end within a word: no tags say them, they count as missed
    leaked: int = 0  # texts that were learnt from, exactly, nearly or in runs of words
    clean_f1: Figure | None = None  # without those
    precision: float
    recall: float
    f1: Figure  # of the entities that `predict` gives
    strict_f1: Figure  # of the likeliest tag of each word alone, ill-formed entities being none
    conlleval_f1: Figure  # the same, as conlleval repairs them: what papers report
    unseen: int  # entities whose words are no entity in the texts learnt from
    unseen_recall: float
    baselines: tuple[JudgedTagBaseline, ...]
    labels: tuple[JudgedEntities, ...]
    errors: tuple[TagError, ...]  # the twenty surest

    @property
    def headline_name(self) -> str:
        """What the figure that dev chooses by is called."""
        return "F1"

    @property
    def clean_headline(self) -> Figure | None:
        """That figure without the texts that leaked, where some did."""
        return self.clean_f1
