"""What is written: texts by a model, answers to a file, models for elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Written:
    """A file of results, a line of JSON for each."""

    path: Path
    lines: int  # of the texts that were read
    refused: int  # of them, each in the file with its `error`
    continued_after: int = 0  # the line after which a command that was stopped went on


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A model written for others, and how it compares with the one it was made of."""

    path: Path
    to: str  # onnx, int8 or sentence-transformers
    output: str  # vectors or fills
    bytes: int
    texts: int = 0  # that were compared
    hidden: int | None = None  # tokens of them that were hidden, to compare fills
    cosine: float | None = None  # of vectors with the model's own: the least, or in 8 bits the mean
    same_fills: float | None = None  # the share of best fills that are the model's own
    accuracy: tuple[float, float] | None = None  # of the model and of the export, on hidden tokens
    speed: float | None = None  # how many times as fast as torch here, taking turns


@dataclass(frozen=True, kw_only=True)
class Revealed:
    """A token that was written, or masked again, on the way to a text."""

    step: int  # from 1
    place: int  # which of the tokens that were to be written, from 0
    token: str | None  # as the vocabulary spells it; none: it was masked again
    confidence: float | None  # what the model gave it, of all that could stand there


@dataclass(frozen=True, kw_only=True)
class Generated:
    """A text that a model wrote, or whose gaps it filled."""

    text: str  # what was given among it
    places: tuple[tuple[int, int], ...]  # where what was written starts and ends in it
    tokens: tuple[str, ...]  # that were written, as the vocabulary spells them
    ended: int | None  # behind how many of them the model wrote the end; none where it wrote all that were asked for
    steps: int  # how often the model was asked
    method: str  # diffusion, masked, causal or spans
    seed: int
    sample: int  # which of those of the same seed, from 0
    trace: tuple[Revealed, ...] = ()  # in the order in which tokens were revealed; with --trace
    note: str = ""  # what to mind
