"""Words as a segmenter cuts them, for scripts in which the tokenizer does not know where words end.

In: a function from a text to its words, and encoded texts with their offsets. Out: the same with its words.

    text          我喜欢猫          the segmenter gives 我, 喜欢 and 猫
    tokens        我 喜 欢 猫
    word_starts    #  #  .  #
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

import numpy as np
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.tokens.tokenizer.encode import EncodedText, encode

Segmenter = Callable[[str], Iterable[str]]  # the words of a text, in order, spelt as they are there


def named_segmenter(name: str) -> Segmenter:
    """The function of an installed module, written `module:function`, such as `jieba:cut`."""
    module, _, function = name.partition(":")
    try:
        segmenter: Segmenter = getattr(import_module(module), function)
    except (ImportError, ValueError, AttributeError) as error:
        raise BadInput(f"segmenter {name!r}: {error}; write module:function, of a module that is installed") from error
    if not callable(segmenter):
        raise BadInput(f"segmenter {name!r}: is no function")
    return segmenter


def encode_words(
    tokenizer: PreTrainedTokenizerFast,
    texts: Sequence[str],
    segmenter: Segmenter | None = None,
    *,
    offsets: bool = False,
) -> list[EncodedText]:
    """Texts as tokens, their words as the segmenter says, or as the pre-tokenizer does where there is none."""
    rows = encode(tokenizer, texts, offsets=offsets or segmenter is not None)
    if segmenter is None:
        return rows
    return [row._replace(word_starts=_starts(text, row, segmenter)) for text, row in zip(texts, rows, strict=True)]


def _starts(text: str, tokens: EncodedText, segmenter: Segmenter) -> np.ndarray:
    """Which tokens are the first of a word; what is in no word keeps the words it has."""
    begins, ends = _word_bounds(text, segmenter)
    assert tokens.offsets is not None  # asked for
    last = tokens.offsets[:, 1] - 1  # a token may begin with the space before its word
    word = np.searchsorted(begins, last, side="right") - 1
    inside = (word >= 0) & (last < np.append(ends, 0)[word])
    return np.where(inside, np.diff(word, prepend=-1) != 0, tokens.word_starts)


def _word_bounds(text: str, segmenter: Segmenter) -> tuple[list[int], list[int]]:
    """Where the words begin and end."""
    begins, ends, place = [], [], 0
    for word in segmenter(text):
        if not (word := word.strip()):
            continue
        begin = text.find(word, place)
        if begin < 0:
            raise BadInput(f"the segmenter gives {word!r}, which the text does not have behind {text[:place][-20:]!r}")
        begins.append(begin)
        ends.append(place := begin + len(word))
    return begins, ends
