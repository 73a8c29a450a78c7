"""Tokens as they read inside a text.

In: a loaded model. Out: a function from tokens to letters, with a space before them where they start a word.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

from transformers import PreTrainedTokenizerFast

from unmask.models.load import LoadedModel
from unmask.records import Vocabulary


def speller(lm: LoadedModel) -> Callable[..., str]:
    """How tokens read inside a text: with a space before them where they start a word.

    WordPiece, byte-level BPE and Unigram mark the starts of words in three ways; what their decoders write
    after another word is the same for all.
    """
    return _speller(lm.tokenizer, len(lm.tokenizer), lm.vocabulary)


@lru_cache(maxsize=8)
def _speller(tokenizer: PreTrainedTokenizerFast, _tokens: int, vocabulary: Vocabulary) -> Callable[..., str]:
    """One for each tokenizer, and a new one when tokens have been added to it."""

    def decode(*tokens: int) -> str:
        return tokenizer.backend_tokenizer.decode(list(tokens), skip_special_tokens=False)

    anchor = next(token for token in vocabulary.ordinary.tolist() if decode(token).strip().isalpha())
    before = decode(anchor)

    @cache
    def spell(*tokens: int) -> str:
        after = decode(anchor, *tokens).removeprefix(before)
        if after.strip().isprintable() and after.strip() and "\ufffd" not in after:
            return after
        # a part of a character, or one that a terminal would obey: the vocabulary's own spelling
        return " " + ascii("".join(tokenizer.convert_ids_to_tokens(list(tokens))))[1:-1]

    return spell
