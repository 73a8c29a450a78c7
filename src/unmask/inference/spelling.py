"""Tokens as they read inside a text, and which of them can stand there.

In: a loaded model. Out: a function from tokens to letters, with a space before them where they start a word; the tokens
that may be written; texts with what was written in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache

import numpy as np
from transformers import PreTrainedTokenizerFast

from unmask.models.load import LoadedModel
from unmask.records import Flags, Vocabulary
from unmask.tokens.tokenizer.boundaries import token_boundaries


def speller(lm: LoadedModel) -> Callable[..., str]:
    """How tokens read inside a text: with a space before them where they start a word.

    WordPiece, byte-level BPE and Unigram mark the starts of words in three ways; what their decoders write
    after another word is the same for all.
    """
    return _speller(lm.tokenizer, len(lm.tokenizer), lm.vocabulary)


@lru_cache(maxsize=8)
def _speller(tokenizer: PreTrainedTokenizerFast, _tokens: int, vocabulary: Vocabulary) -> Callable[..., str]:
    """One for each tokenizer, and a new one when tokens have been added to it."""
    decode_behind_word = _decoder(tokenizer, len(tokenizer), vocabulary)

    @cache
    def spell(*tokens: int) -> str:
        after = decode_behind_word(*tokens)
        if after.strip().isprintable() and after.strip() and "\ufffd" not in after:
            return after
        # a part of a character, or one that a terminal would obey: the vocabulary's own spelling
        return " " + ascii("".join(tokenizer.convert_ids_to_tokens(list(tokens))))[1:-1]

    return spell


@lru_cache(maxsize=8)
def _decoder(tokenizer: PreTrainedTokenizerFast, _tokens: int, vocabulary: Vocabulary) -> Callable[..., str]:
    """What the tokenizer's decoder writes for tokens behind a word."""

    def decode(*tokens: int) -> str:
        return tokenizer.backend_tokenizer.decode(list(tokens), skip_special_tokens=False)

    anchor = next(token for token in vocabulary.ordinary.tolist() if decode(token).strip().isalpha())
    before = decode(anchor)
    return lambda *tokens: decode(anchor, *tokens).removeprefix(before)


def spell_run(lm: LoadedModel, tokens: Sequence[int]) -> str:
    """Tokens in a row as they read inside a text, whatever they are; together, for a character may be of several."""
    return _decoder(lm.tokenizer, len(lm.tokenizer), lm.vocabulary)(*tokens)


def vocabulary_spelling(lm: LoadedModel, tokens: Sequence[int]) -> tuple[str, ...]:
    """Tokens as the vocabulary spells them."""
    return tuple(map(str, lm.tokenizer.convert_ids_to_tokens(list(tokens))))


def writable_tokens(lm: LoadedModel, before: str | None = None) -> Flags:
    """V: tokens that the vocabulary has and that are not special; behind a text, those that can stand there."""
    flags = np.zeros(lm.vocabulary.size, dtype=np.bool_)
    flags[list(lm.tokenizer.get_vocab().values())] = True
    flags &= ~lm.vocabulary.is_special
    if before is None:
        return flags
    fitting = token_boundaries(lm.tokenizer).allowed(before)[: len(flags)] & flags
    return fitting if fitting.any() else flags


def compose(between: Sequence[str], written: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Texts between which something was written, with that in its place, and where it starts and ends.

    In a text with gaps the spacing is its writer's; behind a prefix, where nobody has spaced, it is the tokens'.

    >>> compose(("The ", " barks."), [" dog"])
    ('The dog barks.', ((4, 7),))
    >>> compose(("The river", ""), [" runs on."])[0], compose(("The riv", ""), ["er runs."])[0]
    ('The river runs on.', 'The river runs.')
    """
    text, places = between[0], []
    for run, after in zip(written, between[1:], strict=True):
        spaced, words = run[:1].isspace(), run.strip()
        if words and not spaced:
            text = text.rstrip()  # a sign, or what goes on with a word
        elif words and text and not after and not text[-1].isspace():
            text += " "
        places.append((len(text), len(text) + len(words)))
        text += words + after
    return text, tuple(places)
