"""Words of a domain put into a tokenizer's own model: WordPiece, byte-level BPE or Unigram, never as added tokens.

In: a tokenizer and words. Out: a tokenizer that has each of them whole, and everything else as it was. Added tokens
would match inside of words, and slow every text down; so the model in tokenizer.json is edited:

    WordPiece   the word is appended: the longest piece wins
    Unigram     the word is appended with the scores of its old pieces, summed, and a little more: it just wins
    byte BPE    the word is appended, and a word that the vocabulary has whole is taken as it is (`ignore_merges`); to
                go on merging would leave halves of words behind that no text has, and change words that hold them

Text in which no new word stands, nor begins a longer word, keeps its ids. `wanted.py` says which words are worth it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.tokens.tokenizer.encode import BYTES, SPACE, SPACES
from unmask.tokens.tokenizer.load import load_tokenizer, save_tokenizer, vocabulary_size

MORE = 0.01  # nats, by which a word of Unigram is likelier than its old pieces

Settings = dict[str, Any]  # of a tokenizer.json


def check_extensible(tokenizer: PreTrainedTokenizerFast) -> None:
    """Refuse a tokenizer whose vocabulary has no room for words: one that knows no pieces, or only some of them."""
    backend, name = tokenizer.backend_tokenizer, tokenizer.name_or_path or "the tokenizer"
    kind = type(backend.model).__name__
    if kind not in EDITS or backend.pre_tokenizer is None:
        raise BadInput(f"--extend: the vocabulary of {name} has no room for words, its tokens are a {kind}'s; {REMEDY}")
    if kind == "BPE" and not _writes_bytes(backend):
        raise BadInput(f"--extend: the vocabulary of {name} has no room for words, it is a BPE of no bytes; {REMEDY}")
    if kind == "BPE" and not backend.model.ignore_merges:
        special = {token.content for token in backend.get_added_tokens_decoder().values()}
        lost = [token for token in backend.get_vocab() if token not in special and _pieces(backend, token) != [token]]
        if lost:  # taken whole from now on, they would change the ids of old text
            raise BadInput(f"--extend: the merges of {name} do not lead to its own token {min(lost)!r}; {REMEDY}")


REMEDY = "leave --extend out"


def word_unit(tokenizer: PreTrainedTokenizerFast, word: str) -> str | None:
    """How a vocabulary spells a word that follows a space: `dog`, `▁dog`, `Ġdog`; none where it is no single word."""
    backend = tokenizer.backend_tokenizer
    text = f"a {word}"
    normal = text if backend.normalizer is None else backend.normalizer.normalize_str(text)
    units = backend.pre_tokenizer.pre_tokenize_str(normal)
    return str(units[-1][0]) if len(units) == 2 else None


def spelt_unit(unit: str, *, in_bytes: bool) -> str:
    """A unit as a person reads it, without the mark of the space before it.

    >>> spelt_unit("Ġna" + chr(195) + chr(175) + "ve", in_bytes=True), spelt_unit("▁dog", in_bytes=False)
    ('naïve', 'dog')
    """
    if in_bytes:
        unit = bytes(BYTES[letter] for letter in unit).decode(errors="replace")
    return unit.strip().removeprefix(SPACE)


def follows_space(unit: str) -> bool:
    """Whether a unit has the mark of a space before it."""
    return unit[:1] == SPACE or unit[:1] in SPACES


def writes_bytes(tokenizer: PreTrainedTokenizerFast) -> bool:
    """Whether a vocabulary spells bytes."""
    return _writes_bytes(tokenizer.backend_tokenizer)


def _writes_bytes(backend: Tokenizer) -> bool:
    return backend.pre_tokenizer is not None and b"ByteLevel" in backend.pre_tokenizer.__getstate__()


def pieces_of(tokenizer: PreTrainedTokenizerFast, unit: str) -> list[str]:
    """The tokens that a unit consists of."""
    return _pieces(tokenizer.backend_tokenizer, unit)


def _pieces(backend: Tokenizer, unit: str) -> list[str]:
    return [token.value for token in backend.model.tokenize(unit)]


def extend_tokenizer(tokenizer: PreTrainedTokenizerFast, units: Sequence[str], folder: Path) -> PreTrainedTokenizerFast:
    """Write a tokenizer that has these units whole, with ids behind all others, in their order."""
    save_tokenizer(tokenizer, folder)
    file = folder / "tokenizer.json"
    settings = extend_settings(tokenizer, json.loads(file.read_text(encoding="utf-8")), units)
    file.write_text(json.dumps(settings, indent=2, ensure_ascii=False), encoding="utf-8")
    return load_tokenizer(folder)


def extend_settings(tokenizer: PreTrainedTokenizerFast, settings: Settings, units: Sequence[str]) -> Settings:
    """What tokenizer.json says, with these units in the model's own vocabulary."""
    backend = tokenizer.backend_tokenizer
    EDITS[type(backend.model).__name__](backend, settings, units, vocabulary_size(tokenizer))
    return settings


def _append_words(backend: Tokenizer, settings: Settings, units: Sequence[str], first: int) -> None:
    vocabulary: dict[str, int] = settings["model"]["vocab"]
    vocabulary |= {unit: number for number, unit in enumerate(units, start=first)}


def _append_whole(backend: Tokenizer, settings: Settings, units: Sequence[str], first: int) -> None:
    _append_words(backend, settings, units, first)
    settings["model"]["ignore_merges"] = True


def _append_scored(backend: Tokenizer, settings: Settings, units: Sequence[str], first: int) -> None:
    """A score is no lower than the lowest: what is unknown is scored by that one."""
    vocabulary: list[list[Any]] = settings["model"]["vocab"]
    scores: dict[str, float] = dict(vocabulary)
    lowest = min(scores.values())
    beyond = {token["id"]: token["content"] for token in settings["added_tokens"] if token["id"] >= len(vocabulary)}
    if sorted(beyond) != list(range(len(vocabulary), first)):
        raise BadInput("--extend: the vocabulary has no room for words, its last ids have holes; leave --extend out")
    vocabulary += [[beyond[number], 0.0] for number in sorted(beyond)]  # where they are, for the words to come after
    for unit in units:
        total = sum(scores.get(piece, lowest) for piece in _pieces(backend, unit))
        vocabulary.append([unit, max(lowest, total + MORE)])


EDITS: dict[str, Callable[[Tokenizer, Settings, Sequence[str], int], None]] = {
    "WordPiece": _append_words,
    "BPE": _append_whole,
    "Unigram": _append_scored,
}
