"""How many tokens a word has: what lengths of a blank for a whole word begin with.

In: a loaded model, and a text where nothing better is known. Out: `WordLengths`, the share of words of one, two, three
tokens, and where it was counted: in the data that a run was trained on, else in the text and its vocabulary.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput, UnmaskError
from unmask.models.load import LoadedModel
from unmask.records import Flags, Ids, Reals
from unmask.runs.directory import DESCRIPTION, read_description
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.boundaries import token_boundaries

LONGEST = 32  # tokens of a word that are told apart
SAMPLE = 1 << 18  # tokens of training data that are looked at, in stretches from all over it
STRETCHES = 64
GUESSED = 20  # words that what the vocabulary says counts for, beside those of a text
PIECES = (1, 4)  # a word's tokens, at the least and at the most, where nothing else is asked for
RANGE = re.compile(r"(\d+)(?:[-–](\d+))?")


@dataclass(frozen=True)
class WordLengths:
    """P(n) for words of n tokens, and where it is from."""

    shares: tuple[float, ...]  # of words of 1, 2, … LONGEST tokens
    source: str

    def log_share(self, pieces: int) -> float:
        """The logarithm of the share of words of so many tokens."""
        return log(self.shares[min(pieces, LONGEST) - 1])


def parse_pieces(asked: str) -> tuple[int, int]:
    """A range of numbers of tokens.

    >>> parse_pieces("1-4"), parse_pieces("3")
    ((1, 4), (3, 3))
    """
    if match := RANGE.fullmatch(asked.strip()):
        least, most = int(match[1]), int(match[2] or match[1])
        if 1 <= least <= most <= LONGEST:
            return least, most
    raise BadInput(f"--pieces {asked}: give a number of tokens or a range, such as 1-4 (at most {LONGEST})")


def word_lengths(lm: LoadedModel, ids: Ids, word_starts: Flags) -> WordLengths:
    """The share of words of each length in the run's own data; else in this text, helped by the vocabulary."""
    wordlike, beginnings = _wordlike(lm)
    if (data := _training_data(lm.path)) is not None:
        counts = _counts_of_data(data, wordlike.tobytes())
        if counts.sum() > 0:
            return WordLengths(_shares(counts, _geometric(beginnings)), f"the training data, {data}")
    counts = count_lengths(ids, word_starts, wordlike)
    return WordLengths(_shares(counts, _geometric(beginnings)), "the words of the text, and the vocabulary")


def count_lengths(ids: Ids, word_starts: Flags, wordlike: Flags) -> Reals:
    """How many words have 1, 2, … tokens; signs are no words, and what is cut at both ends is left out."""
    starts = np.flatnonzero(word_starts)
    words = wordlike[ids[starts[:-1]]]
    lengths = np.minimum(np.diff(starts)[words], LONGEST)
    return np.bincount(lengths, minlength=LONGEST + 1)[1:].astype(np.float64)


def _shares(counts: Reals, guess: Reals) -> tuple[float, ...]:
    """Counts and a guess that is worth a few of them, as shares; no length is impossible."""
    weights = counts + GUESSED * guess
    return tuple((weights / weights.sum()).tolist())


def _geometric(stop: float) -> Reals:
    """Lengths of words that end after each token with the same probability."""
    shares = stop * (1 - stop) ** np.arange(LONGEST) + 1e-9
    return np.asarray(shares / shares.sum(), np.float64)


def _wordlike(lm: LoadedModel) -> tuple[Flags, float]:
    return _read_wordlike(lm.tokenizer, len(lm.tokenizer))


@lru_cache(maxsize=8)
def _read_wordlike(tokenizer: PreTrainedTokenizerFast, _tokens: int) -> tuple[Flags, float]:
    """Tokens that are letters or digits, and which share of them begins a word rather than goes on with one."""
    boundaries = token_boundaries(tokenizer)
    going_on = int((boundaries.wordlike & boundaries.continuing).sum())
    return boundaries.wordlike, 1 - going_on / max(1, int(boundaries.wordlike.sum()))


def _training_data(model: Path) -> Path | None:
    """The data that a run names, if the model is a run's and the data is still what it was trained on."""
    run = model.parent
    if not (run / DESCRIPTION).is_file():
        return None
    try:
        description = read_description(run)
        named = (description.get("places") or {}).get("data")
        data = Path(named) if named else None
        if data is None or Dataset.open(data).fingerprint != description.get("data"):
            return None
    except (UnmaskError, OSError):
        return None
    return data


@lru_cache(maxsize=8)
def _counts_of_data(data: Path, wordlike: bytes) -> Reals:
    """The lengths of words in stretches of the training tokens."""
    flags: NDArray[np.bool_] = np.frombuffer(wordlike, np.bool_)
    tokens = Dataset.open(data).split("train")
    size = min(SAMPLE // STRETCHES, tokens.tokens)
    counts = np.zeros(LONGEST)
    for begin in np.unique(np.linspace(0, tokens.tokens - size, STRETCHES).astype(np.int64)).tolist():
        counts += count_lengths(*tokens.read(begin, begin + size), flags)
    return counts
