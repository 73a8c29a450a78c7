"""Texts to tokens, with any fast tokenizer of transformers: ours or one that came with a model.

In: a tokenizer and texts. Out: token ids, and which of them start a word. Text never yields a special id:
a text that spells `[MASK]` is read as the characters it consists of, unless its writer means a blank by it. Training,
evaluation and use all encode by the one function here.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer, models
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.records import Flags, Ids
from unmask.tokens.tokenizer.load import special_ids, vocabulary_size
from unmask.words import UNSPACED

# How byte-level vocabularies write bytes: printable ones as themselves, the others from Ā on.
PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
BYTES = {chr(byte): byte for byte in PRINTABLE} | {
    chr(0x100 + n): byte for n, byte in enumerate(sorted(set(range(256)) - set(PRINTABLE)))
}
SPACES = "".join(character for character, byte in BYTES.items() if bytes([byte]).isspace())  # Ġ, Ċ and their like
SPACE = "▁"  # how Unigram vocabularies write one


class EncodedText(NamedTuple):
    """One text as tokens, without the special ones around it."""

    ids: Ids  # L
    word_starts: Flags  # L, true on the first token of a word
    offsets: NDArray[np.int32] | None = None  # L 2, its first character and the one after; when asked for


def encode(
    tokenizer: PreTrainedTokenizerFast,
    texts: Sequence[str],
    *,
    offsets: bool = False,
    keep: frozenset[int] = frozenset(),
) -> list[EncodedText]:
    """Encode texts, on every core, without special tokens around them; in them only those of `keep` can be spelt.

    A word is what the pre-tokenizer calls one. Of a script written without spaces it calls a clause one, so there
    every piece starts a word, and so does what follows in another script:

        tokens   un ##do it  .  ฉัน ##ชอบ ##แมว ##Tom
        starts    #   .   #  #   #    #    #    #
    """
    return _encoder(tokenizer, len(tokenizer), keep)(texts, offsets)


@lru_cache(maxsize=8)
def _encoder(tokenizer: PreTrainedTokenizerFast, _tokens: int, keep: frozenset[int]) -> _Encoder:
    """One for each tokenizer and what it keeps, and a new one when tokens have been added to it."""
    return _Encoder(tokenizer, keep)


class _Encoder:
    """What encoding has to know of a tokenizer, found out once."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, keep: frozenset[int]) -> None:
        self.backend = _without_roles(tokenizer.backend_tokenizer, keep)
        self.backend.no_padding()
        self.backend.no_truncation()
        self.backend.encode_special_tokens = True
        self.spaced, self.unspaced, self.letters = _beginnings(self.backend, vocabulary_size(tokenizer))
        self.unknown: int | None = tokenizer.unk_token_id
        self.forbidden = np.zeros(vocabulary_size(tokenizer), dtype=np.bool_)
        self.forbidden[[number for number in special_ids(tokenizer) if number not in {self.unknown, *keep}]] = True

    def __call__(self, texts: Sequence[str], offsets: bool) -> list[EncodedText]:
        try:
            encodings = self.backend.encode_batch(list(texts), add_special_tokens=False)
        except TypeError as error:
            raise BadInput("a text is no valid Unicode (a lone surrogate?): clean it before encoding") from error
        return [self._arrays(text, encoding, offsets) for text, encoding in zip(texts, encodings, strict=True)]

    def _arrays(self, text: str, encoding: Encoding, offsets: bool) -> EncodedText:
        ids = np.array(encoding.ids, dtype=np.int32)
        unspaced = self.unspaced[ids]
        words = _word_numbers(encoding.word_ids)
        starts = unspaced | self.spaced[ids]
        starts[1:] |= (words[1:] != words[:-1]) | (unspaced[:-1] & self.letters[ids[1:]])
        starts[:1] = True
        if self.forbidden[ids].any():
            return self._spelt(text, encoding, starts, offsets)
        return EncodedText(ids, starts, np.array(encoding.offsets, np.int32).reshape(-1, 2) if offsets else None)

    def _spelt(self, text: str, encoding: Encoding, starts: Flags, offsets: bool) -> EncodedText:
        """Special ids replaced by those of their characters: Unigram vocabularies have `<s>` among their pieces."""
        rows: list[tuple[int, bool, int, int]] = []
        for number, starting, (begin, end) in zip(encoding.ids, starts.tolist(), encoding.offsets, strict=True):
            if not self.forbidden[number]:
                rows.append((number, starting, begin, end))
                continue
            for place in range(begin, end):
                rows += [
                    (character_id, starting and place == begin, place, place + 1)
                    for character_id in self._character(text[place])
                ]
        ids, word_starts, begins, ends = np.array(rows, dtype=np.int32).reshape(-1, 4).T
        return EncodedText(ids, word_starts.astype(np.bool_), np.stack((begins, ends), axis=1) if offsets else None)

    def _character(self, character: str) -> list[int]:
        ids = [token.id for token in self.backend.model.tokenize(character)]
        visible = [self.unknown if self.forbidden[number] else number for number in ids]
        return [number for number in visible if number is not None]


def _without_roles(backend: Tokenizer, ids: frozenset[int]) -> Tokenizer:
    """A copy in which these special tokens are ordinary added ones: those a text spells even if no special one can be.

    Of all added tokens that a text may spell, tokenizers switch only the special ones off, and all of them at once.
    """
    text = backend.to_str()
    if not ids:
        return Tokenizer.from_str(text)
    settings = json.loads(text)
    for token in settings["added_tokens"]:
        token["special"] &= token["id"] not in ids
    return Tokenizer.from_str(json.dumps(settings))


def _word_numbers(words: list[int | None]) -> NDArray[np.int32]:
    try:
        return np.array(words, dtype=np.int32)
    except TypeError:  # a token that belongs to no word
        return np.array([-1 if word is None else word for word in words], dtype=np.int32)


def _beginnings(backend: Tokenizer, size: int) -> tuple[Flags, Flags, Flags]:
    """V flags each: tokens that begin with a space, with a letter of an unspaced script, with another letter or digit.

    The first is for tokenizers that call a whole text one word.
    """
    spaced, unspaced, letters = np.zeros((3, size), dtype=np.bool_)
    for number, token in token_beginnings(backend):
        spaced[number], unspaced[number] = token.spaced, token.unspaced
        letters[number] = token.first.isalnum() and not token.unspaced
    return spaced, unspaced, letters


class TokenBeginning(NamedTuple):
    """How a token of a vocabulary begins, and with what it ends."""

    first: str  # character behind the mark of WordPiece; \ufffd where it is cut in two
    visible: str  # the first that is no space
    last: str  # the last of all; \ufffd where it is cut in two
    spaced: bool  # begins with a space, which marks a word
    unspaced: bool  # with a letter of a script without spaces
    continued: bool  # with WordPiece's mark of what goes on with a word
    bare: bool  # and is nothing but spaces


def token_beginnings(backend: Tokenizer) -> Iterator[tuple[int, TokenBeginning]]:
    """Every id of a vocabulary, and how its token begins."""
    steps = [step.__getstate__() for step in (backend.pre_tokenizer, backend.decoder) if step is not None]
    in_bytes = any(b"ByteLevel" in step for step in steps)
    wordpiece = isinstance(backend.model, models.WordPiece)
    mark = backend.model.continuing_subword_prefix if wordpiece else ""
    for token, number in backend.get_vocab().items():
        begin, end = token.removeprefix(mark)[:5].encode(), token[-1:].encode()
        if in_bytes:
            begin, end = (bytes(BYTES.get(character, 0) for character in side) for side in (token[:5], token[-4:]))
        yield (
            number,
            TokenBeginning(
                first=begin.decode(errors="replace")[:1],
                visible=begin.decode(errors="replace").lstrip(f" {SPACE}")[:1],
                last=end.decode(errors="replace")[-1:],
                spaced=not wordpiece and begin.startswith((b" ", SPACE.encode())),
                unspaced=begins_unspaced(begin),
                continued=bool(mark) and token.startswith(mark) and token != mark,
                bare=not token.strip(SPACES if in_bytes else f" {SPACE}"),
            ),
        )


def begins_unspaced(begin: bytes) -> bool:
    """Whether bytes begin with a letter of a script without spaces, or can only be the beginning of one.

    Marks and signs of repetition are no letters (category Lo): they belong to what stands before them.

    >>> [begins_unspaced(text.encode()) for text in ("cat", "猫", "แมว", "ๆ", "ー")]
    [False, True, True, False, False]
    >>> begins_unspaced("猫".encode()[:2]), begins_unspaced("猫".encode()[1:])
    (True, False)
    """
    if begin < b"\xe0":  # none of them is written in fewer than three bytes
        return False
    length = 4 if begin >= b"\xf0" else 3
    low, high = (
        (begin[:length] + filler * length)[:length].decode(errors="replace")[0] for filler in (b"\x80", b"\xbf")
    )
    if low == high and unicodedata.category(low) != "Lo":
        return False
    return any(first <= low and high <= last for first, last in UNSPACED)
