"""Phrases as text: lists a person can read and edit, and the same phrases as a tokenizer's words.

In: collocations, or a file of phrases. Out: a list in a file, or a `Lexicon` that marks them in blocks.

    # score  count  phrase          lines with # are left out, and so is everything before the last tab
    -0.02    168    Buenos Aires
    Rotten Tomatoes
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.files import explain_disk_errors
from unmask.records import Flags
from unmask.results import Phrase
from unmask.tokens.spans.collocations import Collocation
from unmask.tokens.spans.lexicon import Lexicon
from unmask.tokens.tokenizer.load import vocabulary_of
from unmask.tokens.tokenizer.segments import Segmenter, encode_words


def as_phrases(collocations: Sequence[Collocation], tokenizer: PreTrainedTokenizerFast) -> list[Phrase]:
    """Collocations as text."""
    ids = [[token for word in collocation.words for token in word] for collocation in collocations]
    texts = tokenizer.batch_decode(ids, clean_up_tokenization_spaces=False) if ids else []
    return [
        Phrase(text.strip(), collocation.count, collocation.score)
        for text, collocation in zip(texts, collocations, strict=True)
    ]


def wordless_tokens(tokenizer: PreTrainedTokenizerFast) -> Flags:
    """V flags: the special tokens, and those without a letter or a digit; a mere space is part of a word."""
    flags = vocabulary_of(tokenizer).is_special.copy()
    ids = list(tokenizer.get_vocab().values())
    texts = tokenizer.batch_decode([[number] for number in ids], clean_up_tokenization_spaces=False)
    for number, text in zip(ids, texts, strict=True):
        letters = text.strip(" ").removeprefix("##")
        # A piece of a character decodes to U+FFFD: it may be part of a letter
        flags[number] |= bool(letters) and not any(letter.isalnum() or letter == "\ufffd" for letter in letters)
    return flags


def write_phrases(phrases: Iterable[Phrase], path: Path) -> None:
    """Write a list that `read_phrases` takes, after a person has struck out lines or added some."""
    with explain_disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(phrase_lines(phrases), encoding="utf-8")


def phrase_lines(phrases: Iterable[Phrase]) -> str:
    """Collocations as the lines of a list."""
    lines = [f"{phrase.score:.2f}\t{phrase.count}\t{phrase.text}\n" for phrase in phrases]
    header = "# Collocations, best first: score, count, phrase. Strike out lines, or add phrases of your own.\n"
    return header + "".join(lines)


def read_phrases(path: Path | str) -> list[str]:
    """The phrases of a file, one a line; a file that has none is no list."""
    path = Path(path)
    phrases = parse_phrases(read_content(path), path)
    if not phrases:
        raise BadInput(f"{path}: holds no phrase; write one a line")
    return phrases


def read_content(path: Path) -> bytes:
    """What is in a file of phrases."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error


def parse_phrases(content: bytes, path: Path) -> list[str]:
    """The phrases that a file says, one a line."""
    phrases = []
    for number, line in enumerate(content.split(b"\n"), start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise BadInput(f"{path}, line {number}: not UTF-8 (byte {error.start}); convert the file first") from None
        if text.startswith("#") or not (phrase := " ".join(text.rpartition("\t")[2].split())):
            continue
        phrases.append(phrase)
    return phrases


def phrase_lexicon(
    tokenizer: PreTrainedTokenizerFast, phrases: Sequence[str], segmenter: Segmenter | None = None
) -> Lexicon:
    """The phrases as words, as they stand at the beginning of a text and inside of it."""
    rows = encode_words(tokenizer, [*phrases, *(f" {phrase}" for phrase in phrases)], segmenter)
    words_by_phrase = (
        np.split(tokens.ids, np.flatnonzero(tokens.word_starts)[1:]) for tokens in rows if len(tokens.ids)
    )
    return Lexicon.of([[word.tolist() for word in words] for words in words_by_phrase])
