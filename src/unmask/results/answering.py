"""What models that answer questions say, and how well they do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmask.results.figures import Figure


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What a context says to a question."""

    question: str
    answer: str | None  # none where the context does not tell
    start: int | None  # its first character in the context
    end: int | None  # and the one after its last
    probability: float  # of what is said, beside all other stretches and no answer
    no_answer: float | None  # how likely there is none; none where the model always answers
    tokens_read: int  # of the context
    windows: int


@dataclass(frozen=True, kw_only=True)
class JudgedAnswerBaseline:
    """What a simpler way comes to on the same questions."""

    name: str
    exact: Figure
    f1: Figure


@dataclass(frozen=True, kw_only=True)
class AnswerError:
    """A question that was answered wrongly, and how sure of it the model was."""

    id: str
    question: str
    said: str | None
    true: tuple[str, ...]  # none where there is no answer
    probability: float


@dataclass(frozen=True, kw_only=True)
class JudgedAnswers:
    """How well a tuned model answers questions that it was neither tuned on nor chosen by."""

    data: Path
    examples: int
    empty: int  # questions without a word, or about nothing, left out
    repaired: int  # answers that stand elsewhere than the file says
    leaked: int = 0  # questions that were learnt from, exactly, nearly or in runs of words
    clean_f1: Figure | None = None  # without those
    f1: Figure  # of words, as SQuAD's own evaluation has it
    exact: Figure
    answerable: int
    answerable_f1: Figure
    answerable_exact: Figure
    calibration_error: float | None = None  # the mean gap between how sure it is and how often it is exactly right
    unanswerable_right: Figure | None  # no answer said where there is none; none where all have one
    baselines: tuple[JudgedAnswerBaseline, ...]
    errors: tuple[AnswerError, ...]  # the twenty surest

    @property
    def headline_name(self) -> str:
        """What the figure that dev chooses by is called."""
        return "F1"

    @property
    def clean_headline(self) -> Figure | None:
        """That figure without the questions that leaked, where some did."""
        return self.clean_f1
