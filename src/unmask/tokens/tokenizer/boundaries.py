"""Where a token can stand: at the beginning of a word, or going on with one.

In: a tokenizer, and the text before a place and behind it. Out: which tokens of the vocabulary can stand there.

WordPiece marks what goes on with a word (`##ing`), byte-level BPE and Unigram what begins one (`Ġdog`, `▁dog`).
Punctuation may follow anything, and in scripts written without spaces so may every piece. A vocabulary that marks
neither (words, characters) says nothing of the kind, and everything can stand everywhere.

    The [MASK] sat    after a space     dog, .          not ##ing (nor ing without its Ġ or ▁)
    un[MASK]          after a letter    ##able, .       not dog
    ([MASK]           after a sign      dog             whether a space goes before it or not
    [MASK]itis        before a letter   arthr, hepat    not . nor what else ends without a letter
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from tokenizers import models
from transformers import PreTrainedTokenizerFast

from unmask.records import Flags
from unmask.tokens.tokenizer.encode import begins_unspaced, encode, token_beginnings
from unmask.tokens.tokenizer.load import vocabulary_size


@dataclass(frozen=True, eq=False)
class Boundaries:
    """What a vocabulary says of its tokens; V flags each."""

    starting: Flags  # can only begin a word
    continuing: Flags  # can only go on with one
    bare: Flags  # are nothing but spaces
    wordlike: Flags  # begin with a letter or a digit, a space before it or not
    ending: Flags  # end with one
    by_space: bool  # whether it marks beginnings, by the space before them, rather than what goes on
    opening_space: bool  # whether the first word of a text has that mark too

    def allowed(self, before: str | None, after: str | None = None) -> Flags:
        """Which tokens can stand between two texts; None is a text that nobody knows, such as another blank."""
        anywhere = ~self.bare
        if after and goes_on(after) and (self.ending & anywhere).any():
            anywhere &= self.ending
        last = "" if before is None else before[-1:]
        if before is None:
            fitting = anywhere
        elif last.isspace() or (not last and (self.opening_space or not self.by_space)):
            fitting = anywhere & ~self.continuing
        elif begins_unspaced(last.encode()):
            fitting = anywhere & ~self.starting if self.by_space else anywhere
        elif _in_word(last):
            fitting = anywhere & ~self.starting
        else:  # a sign, or the very beginning: without a space before it a word may lack its mark
            fitting = anywhere if self.by_space else anywhere & ~self.continuing
        return fitting if fitting.any() else anywhere


def token_boundaries(tokenizer: PreTrainedTokenizerFast) -> Boundaries:
    """What the tokens of a tokenizer say of their place."""
    return _read_boundaries(tokenizer, len(tokenizer))


@lru_cache(maxsize=8)
def _read_boundaries(tokenizer: PreTrainedTokenizerFast, _tokens: int) -> Boundaries:
    backend = tokenizer.backend_tokenizer
    spaced, continued, letters, bare, wordlike, ending = np.zeros((6, vocabulary_size(tokenizer)), dtype=np.bool_)
    for number, token in token_beginnings(backend):
        spaced[number], continued[number], bare[number] = token.spaced, token.continued, token.bare
        wordlike[number], ending[number] = _in_word(token.visible), _in_word(token.last)
        letters[number] = _in_word(token.first) and not token.unspaced
    edges = (bare, wordlike, ending)
    if continued.any():
        return Boundaries(letters & ~continued, continued, *edges, by_space=False, opening_space=False)
    words = (backend.decode([number]).strip() for number in np.flatnonzero(spaced).tolist())
    word = next((word for word in words if word.isalpha()), None)
    if word is None or isinstance(backend.model, models.WordLevel):
        nothing = np.zeros_like(spaced)
        return Boundaries(nothing, nothing, *edges, by_space=False, opening_space=False)
    (opening,) = encode(tokenizer, [word])
    return Boundaries(spaced, letters & ~spaced, *edges, by_space=True, opening_space=bool(spaced[opening.ids[0]]))


def goes_on(after: str) -> bool:
    """Whether a text goes on with the word that ends before it; in scripts without spaces nobody can tell.

    >>> goes_on("itis."), goes_on(" is"), goes_on("."), goes_on("中")
    (True, False, False, False)
    """
    return _in_word(after[:1]) and not begins_unspaced(after[:1].encode())


def _in_word(character: str) -> bool:
    """Whether a character is part of a word: a letter, a mark on one, a digit, or a byte of one that is cut in two.

    >>> [_in_word(character) for character in ("a", "é", "7", "\\u093e", "-", " ", "")]
    [True, True, True, True, False, False, False]
    """
    return bool(character) and (unicodedata.category(character)[0] in "LMN" or character == "\ufffd")
