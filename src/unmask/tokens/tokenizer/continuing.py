"""Letters that go on with a word, as tokens: what `itis` is in `[MASK]itis`, where a tokenizer would begin a new word.

In: a tokenizer and letters. Out: the ids they have behind other letters; none where the vocabulary cannot spell them.
"""

from __future__ import annotations

import re

from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from unmask.tokens.tokenizer.encode import BYTES

LETTERS = re.compile(r"[^\W_]+")  # what goes on with a word, up to its end
BYTE_LETTERS = {byte: letter for letter, byte in BYTES.items()}


def continue_word(tokenizer: PreTrainedTokenizerFast, letters: str) -> list[int]:
    """The tokens of letters that do not begin a word; empty where the vocabulary has none for them.

    WordPiece takes the longest piece with its mark, again and again; BPE and Unigram mark beginnings, so that letters
    alone are already what goes on.
    """
    backend = tokenizer.backend_tokenizer
    normal = backend.normalizer.normalize_str(letters) if backend.normalizer is not None else letters
    if isinstance(backend.model, models.WordPiece):
        return _longest_pieces(backend, normal)
    steps = [step.__getstate__() for step in (backend.pre_tokenizer, backend.decoder) if step is not None]
    if any(b"ByteLevel" in step for step in steps):
        normal = "".join(BYTE_LETTERS[byte] for byte in normal.encode())
    ids = [token.id for token in backend.model.tokenize(normal)]
    return [] if tokenizer.unk_token_id in ids else ids


def _longest_pieces(backend: Tokenizer, letters: str) -> list[int]:
    mark, ids, begin = backend.model.continuing_subword_prefix, [], 0
    while begin < len(letters):
        ends = range(len(letters), begin, -1)
        fitting = ((backend.token_to_id(f"{mark}{letters[begin:end]}"), end) for end in ends)
        number, begin = next(((number, end) for number, end in fitting if number is not None), (None, len(letters)))
        if number is None:
            return []
        ids.append(number)
    return ids
