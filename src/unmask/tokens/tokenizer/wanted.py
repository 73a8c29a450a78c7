"""Which words of a domain are worth a token of their own: those that save the most tokens on other text of it.

In: a tokenizer and the documents of a domain. Out: words, the most saving first, as a list that a person reads, edits
and gives back.

Candidates are found in every second document: words of two pieces or more, by the tokenizer's own pre-tokenizer,
letters only, in at least five documents. What each saves, count × (pieces − 1), is counted on the other documents, and
again after every 500 words, for a word may be the beginning of another.

    myocardial	412	myo ##card ##ial
"""

from __future__ import annotations

import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.files import write_text
from unmask.tokens.tokenizer.extend import (
    extend_tokenizer,
    follows_space,
    pieces_of,
    spelt_unit,
    word_unit,
    writes_bytes,
)

ROUND = 500  # words, after which what the others save is counted again
LEAST_SAVED = 0.001  # of the tokens, that 500 words have to save where nobody says how many are wanted
DOCUMENTS = 5  # that a word has to be in, of those that words are found in
SHORTEST = 3  # letters
HEADER = "# a word, how often the domain has it, and its pieces before; edit the words and give this file by --extend\n"


@dataclass(frozen=True)
class NewWord:
    """A word that gets a token of its own."""

    word: str
    unit: str  # as the vocabulary spells it
    count: int  # in the text of the domain
    pieces: tuple[str, ...]  # before


@dataclass(frozen=True)
class WordCounts:
    """How often the domain has each word, by the unit of the vocabulary."""

    found: Counter[str]  # documents that have it, of those that words are found in
    weighed: Counter[str]  # occurrences in the others
    everywhere: Counter[str]  # occurrences


def count_words(tokenizer: PreTrainedTokenizerFast, texts: Iterable[str]) -> WordCounts:
    """Count the words of documents, those of every second apart."""
    backend = tokenizer.backend_tokenizer
    spaced = _marks_spaces(tokenizer)
    found, weighed, everywhere = Counter[str](), Counter[str](), Counter[str]()
    for number, text in enumerate(texts):
        normal = text if backend.normalizer is None else backend.normalizer.normalize_str(text)
        units = backend.pre_tokenizer.pre_tokenize_str(normal)
        counts = Counter(unit for unit, _ in units if follows_space(unit) or not spaced)
        everywhere.update(counts)
        if number % 2:
            weighed.update(counts)
        else:
            found.update(counts.keys())
    return WordCounts(found, weighed, everywhere)


def _marks_spaces(tokenizer: PreTrainedTokenizerFast) -> bool:
    """Whether a vocabulary spells the space before a word: then only words behind one are counted."""
    unit = word_unit(tokenizer, "word")
    return unit is not None and follows_space(unit)


def choose_words(
    tokenizer: PreTrainedTokenizerFast, counts: WordCounts, wanted: int | None, tokens: int
) -> list[NewWord]:
    """So many words, the most saving first; where nobody says how many, as long as 500 save 0.1 % of the tokens.

    `tokens` is how many the weighed text has.
    """
    in_bytes = writes_bytes(tokenizer)
    pieces = {}
    for unit, documents in counts.found.items():
        if documents >= DOCUMENTS and counts.weighed[unit] and _is_word(spelt_unit(unit, in_bytes=in_bytes)):
            pieces[unit] = tuple(pieces_of(tokenizer, unit))
    unknown, before = tokenizer.unk_token, dict(pieces)
    chosen: list[str] = []
    most = len(pieces) if wanted is None else wanted
    extended = tokenizer
    while len(chosen) < most:
        saved = {
            unit: counts.weighed[unit] * (len(parts) - 1)
            for unit, parts in pieces.items()
            if len(parts) > 1 and unknown not in parts
        }
        best = sorted(saved, key=lambda unit: (-saved[unit], unit))[: min(ROUND, most - len(chosen))]
        if not best or (wanted is None and sum(saved[unit] for unit in best) < LEAST_SAVED * tokens):
            break
        chosen += best
        with tempfile.TemporaryDirectory() as folder:
            extended = extend_tokenizer(tokenizer, chosen, Path(folder))
        pieces = {unit: tuple(pieces_of(extended, unit)) for unit in pieces if unit not in set(chosen)}
    if wanted is not None and len(chosen) < wanted:
        raise BadInput(
            f"--extend {wanted:,}: the domain has {len(chosen):,} words that are in pieces and in {DOCUMENTS} "
            f"documents or more; give at most {len(chosen):,}, or auto"
        )
    return [
        NewWord(spelt_unit(unit, in_bytes=in_bytes), unit, counts.everywhere[unit], before[unit]) for unit in chosen
    ]


def _is_word(text: str) -> bool:
    """Whether a text is letters and the marks on them: no digits, no addresses, no signs.

    >>> [_is_word(text) for text in ("myocardial", "naïve", "il", "CO2", "www.x", "")]
    [True, True, False, False, False, False]
    """
    return len(text) >= SHORTEST and all(unicodedata.category(letter)[0] in "LM" for letter in text)


def write_words(file: Path, words: Sequence[NewWord]) -> None:
    """The list, for a person to read and to edit."""
    lines = (f"{new.word}\t{new.count}\t{' '.join(new.pieces)}\n" for new in words)
    write_text(file, HEADER + "".join(lines))


def read_words(file: Path, tokenizer: PreTrainedTokenizerFast, counts: WordCounts) -> list[NewWord]:
    """A list that was written, edited or made by hand: the first word of each line; what cannot be added is named."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"--extend {file}: cannot be read as a list of words ({error})") from error
    words: dict[str, NewWord] = {}
    for number, line in enumerate(lines, start=1):
        word = line.split("\t")[0].strip()
        if not word or line.startswith("#"):
            continue
        unit = word_unit(tokenizer, word)
        if unit is None:
            raise BadInput(f"{file}:{number}: {word!r} is not one word to this tokenizer; take it out")
        if not counts.everywhere[unit]:
            raise BadInput(f"{file}:{number}: {word!r} is nowhere in the domain's text; take it out")
        pieces = tuple(pieces_of(tokenizer, unit))
        if len(pieces) > 1 or pieces == (tokenizer.unk_token,):
            words.setdefault(unit, NewWord(word, unit, counts.everywhere[unit], pieces))
    if not words:
        raise BadInput(f"--extend {file}: has no word that the tokenizer does not have; list one a line")
    return list(words.values())
