"""Texts to passages: the tokens that are scored, the ones that are only in sight, and which of them are one word.

In: a loaded model, texts, and what stands before and behind them. Out: a `Passage` for each, or what is wrong with it.

    prefix  "The king said:"     text  "undo it"
    tokens  The king said :  un ##do it
    scored   .   .    .   .   #   #   #
    stops    .   .    .   .   6   6   7      where what is hidden with a token ends
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmask.errors import BadInput
from unmask.models.load import LoadedModel
from unmask.records import Flags, Ids, Integers
from unmask.tokens.tokenizer.encode import EncodedText, encode


@dataclass(frozen=True)
class Passage:
    """A text as tokens, between what stands before and behind it."""

    text: str  # what is scored
    ids: Ids  # L, of all of it, without the tokens that open and close a row
    starts: Flags  # L, true on the first token of a word
    offsets: NDArray[np.int32]  # L 2, characters of the text that is scored; outside of it they mean nothing
    first: int  # the first token that is scored
    last: int  # the one after the last

    @property
    def stops(self) -> Integers:
        """L, the token after the last that is hidden together with each: the end of its word, or of what is scored."""
        edges = np.append(np.flatnonzero(self.starts), len(self.ids))
        ends: Integers = edges[np.searchsorted(edges, np.arange(len(self.ids)), side="right")]
        ends[: self.last] = np.minimum(ends[: self.last], self.last)
        return ends


def read_passages(
    lm: LoadedModel, texts: Sequence[str], *, prefix: str = "", suffix: str = ""
) -> list[Passage | BadInput]:
    """Texts between a prefix and a suffix, which a space joins to them unless there is one."""
    befores = [f"{prefix}{_joint(prefix, text)}" for text in texts]
    afters = [f"{_joint(text, suffix)}{suffix}" for text in texts]
    return passages_between(lm, list(zip(befores, texts, afters, strict=True)))


def passages_between(lm: LoadedModel, parts: Sequence[tuple[str, str, str]]) -> list[Passage | BadInput]:
    """Passages of what stands before a text, the text, and what stands behind it, joined as they are."""
    problems = [_problem(text) for text in map("".join, parts)]
    good = [part for part, problem in zip(parts, problems, strict=True) if problem is None]
    rows = iter(encode(lm.tokenizer, ["".join(part) for part in good], offsets=True))
    return [
        _passage(before, text, next(rows)) if problem is None else problem
        for (before, text, _), problem in zip(parts, problems, strict=True)
    ]


def _problem(text: str) -> BadInput | None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        return BadInput("the text is not valid Unicode: give it as UTF-8")
    return None


def _passage(before: str, text: str, row: EncodedText) -> Passage | BadInput:
    """The tokens that cover a character of the text are scored."""
    assert row.offsets is not None  # asked for
    offsets = row.offsets - len(before)
    inside = np.flatnonzero((offsets[:, 1] > 0) & (offsets[:, 0] < len(text)))
    if not len(inside):
        return BadInput("there is no token to score")
    return Passage(text, row.ids, row.word_starts, offsets, int(inside[0]), int(inside[-1]) + 1)


def _joint(left: str, right: str) -> str:
    """A space, where two texts need one between them."""
    return " " if left and right and not left[-1].isspace() and not right[0].isspace() else ""
