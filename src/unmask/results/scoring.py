"""How likely texts are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmask.results.figures import Figure


@dataclass(frozen=True)
class TokenSurprisal:
    """A token of a text, and how little it was expected."""

    token: str  # as the vocabulary spells it
    start: int  # its first character in the text
    end: int  # and the one after its last
    bits: float


@dataclass(frozen=True, kw_only=True)
class Scored:
    """How likely a model finds a text, in nats; more is likelier."""

    text: str
    method: str  # pseudo, with the stride where there is one; likelihood; bound; spans
    score: float  # the sum over its tokens
    per_token: float
    per_word: float
    bits_per_byte: float  # the sum in bits, less is likelier
    tokens: int  # that were scored
    words: int  # as the tokenizer has them
    unknown: int = 0  # tokens that stand for what is not in the vocabulary
    tokens_read: int  # a prefix's and a suffix's among them
    windows: int
    cut: int = 0  # tokens that were not read
    error: float | None = None  # of a bound: the standard error of the sum, which is an average over draws
    surprisals: tuple[TokenSurprisal, ...] = ()  # where asked for


@dataclass(frozen=True, kw_only=True)
class Rescored:
    """Lists of candidates in a new order: judged on half of them, by a weight that was chosen on the other half."""

    path: Path
    method: str  # of the model's scores
    measure: str  # accuracy, or word error rate
    tuned_on: int  # lists: the first, the third, …
    judged_on: int
    weight: float  # of the model's score, in nats; a candidate's own counts once
    before: Figure  # by the candidates' own scores
    after: Figure  # by both
    model_alone: Figure
    oracle: float  # the best that can be chosen
    fewer_errors: Figure  # before minus after, list by list
    choices: tuple[int, ...]  # the place of the chosen candidate in each list, from 0
