"""Texts with blanks to what a model can be asked: tokens, where the blanks are, and what may stand in them.

In: a loaded model and texts. Out: a `BlankText` for each, or what is wrong with it.

    [MASK]         one token
    [MASK:word]    a word of one or several tokens
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unmask.errors import BadInput
from unmask.inference.targets import Choice, target_choices
from unmask.models.load import LoadedModel
from unmask.records import Flags, Ids
from unmask.tokens.example import BLANK
from unmask.tokens.tokenizer.boundaries import goes_on, token_boundaries
from unmask.tokens.tokenizer.continuing import LETTERS, continue_word
from unmask.tokens.tokenizer.encode import EncodedText, encode

WORD_BLANK = "[MASK:word]"
MISSPELT = re.compile(r"[\[<({]+\s*mask\s*(?::\s*\w*\s*)?[\])>}]+", re.IGNORECASE)
OTHERWISE = re.compile(r"_{2,}|[\[<({]+\s*blank\s*[\])>}]+", re.IGNORECASE)  # blanks elsewhere, or just text


@dataclass(frozen=True)
class Blank:
    """One blank of a text."""

    place: int  # of its mask among the tokens of the text
    before: str | None  # the text right before it; None where another blank is
    after: str | None  # and right behind it
    word: bool = False  # holds a word of one or several tokens
    choices: tuple[Choice, ...] = ()  # what may fill it, where not everything may


@dataclass(frozen=True)
class BlankText:
    """A text with blanks, as people and as the model see it."""

    text: str
    between: tuple[str, ...]  # what stands before, between and after the blanks
    ids: Ids  # L, of the whole text, without an opening and a closing token; a mask for each blank
    blanks: tuple[Blank, ...]
    word_starts: Flags | None = None  # L
    offsets: NDArray[np.int32] | None = None  # L 2, in `plain`
    plain: str = ""  # the text as it was encoded: each blank is the model's mask token
    cut: int = 0  # tokens that were left away behind these


def read_blanks(lm: LoadedModel, texts: Sequence[str], targets: Sequence[str] = ()) -> list[BlankText | BadInput]:
    """Find the blanks of texts; for a text that cannot be asked, say why."""
    split = [split_at_blanks(lm, text) for text in texts]
    good = [each for each in split if isinstance(each, BlankText)]
    keep = frozenset({lm.vocabulary.mask})
    encoded = iter(encode(lm.tokenizer, [each.plain for each in good], offsets=True, keep=keep))
    questions: list[BlankText | BadInput] = []
    for each in split:
        if isinstance(each, BlankText):
            try:
                questions.append(_with_tokens(lm, each, next(encoded), targets))
            except BadInput as error:
                questions.append(error)
        else:
            questions.append(each)
    return questions


def split_at_blanks(lm: LoadedModel, text: str) -> BlankText | BadInput:
    """The text between its blanks, not yet encoded."""
    mask = lm.tokenizer.mask_token or BLANK  # T5 has none
    spelling = BLANK if mask == BLANK else f"{BLANK} or {mask}"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return BadInput("the text is not valid Unicode: give it as UTF-8")
    if not text.strip():
        return BadInput(f"the text is empty: write one with {spelling} where a word is missing")
    spellings = re.compile("|".join(map(re.escape, (BLANK, WORD_BLANK, mask))))
    between, found = tuple(spellings.split(text)), spellings.findall(text)
    wrong = next((match for match in map(MISSPELT.search, between) if match), None)
    if wrong is None and not found:
        wrong = OTHERWISE.search(text)
    if wrong is not None:
        return BadInput(f"{wrong[0]} is not a blank here: write {spelling}, or {WORD_BLANK} for a whole word")
    if not found:
        return BadInput(f"there is no blank to fill: write {spelling} where a word is missing")
    last = len(found)
    blanks = tuple(
        Blank(
            place=-1,  # not known yet
            before=between[0].lstrip() if number == 0 else between[number] or None,
            after=between[number + 1] or (None if number + 1 < last else ""),
            word=spelt == WORD_BLANK,
        )
        for number, spelt in enumerate(found)
    )
    return BlankText(text, between, np.zeros(0, np.int32), blanks, plain=mask.join(between))


def _with_tokens(lm: LoadedModel, text: BlankText, encoded: EncodedText, targets: Sequence[str]) -> BlankText:
    """The text with its tokens, its blanks with their places and what may fill them."""
    encoded = _words_gone_on_with(lm, text, encoded)
    places = np.flatnonzero(encoded.ids == lm.vocabulary.mask).tolist()
    choices = target_choices(lm, text.between, targets) if targets else [()] * len(places)
    blanks = tuple(
        replace(blank, place=place, choices=tuple(choice))
        for blank, place, choice in zip(text.blanks, places, choices, strict=True)
    )
    return replace(text, ids=encoded.ids, blanks=blanks, word_starts=encoded.word_starts, offsets=encoded.offsets)


def _words_gone_on_with(lm: LoadedModel, text: BlankText, encoded: EncodedText) -> EncodedText:
    """Letters right behind a blank go on with its word: `[MASK]itis` ends in ##itis, and not in a new word.

    A tokenizer takes what follows its mask for the beginning of a word.
    """
    if not token_boundaries(lm.tokenizer).continuing.any() or not any(map(goes_on, text.between[1:])):
        return encoded
    assert encoded.offsets is not None
    firsts, lasts = encoded.offsets.T
    rows = list(zip(encoded.ids.tolist(), encoded.word_starts.tolist(), encoded.offsets.tolist(), strict=True))
    for begin, end in reversed(list(_letters_behind_blanks(text, len(lm.tokenizer.mask_token)))):
        covering = np.flatnonzero((firsts < end) & (lasts > begin)).tolist()
        if not covering or firsts[covering[0]] < begin or lasts[covering[-1]] != end:
            continue  # a token that is more than these letters
        if ids := continue_word(lm.tokenizer, text.plain[begin:end]):
            rows[covering[0] : covering[-1] + 1] = [(number, False, [begin, end]) for number in ids]
    numbers, starts, offsets = zip(*rows, strict=True)
    return EncodedText(np.array(numbers, np.int32), np.array(starts, np.bool_), np.array(offsets, np.int32))


def _letters_behind_blanks(text: BlankText, mask: int) -> Iterator[tuple[int, int]]:
    """Where letters stand right behind a blank, in the text as it is encoded."""
    place = len(text.between[0])
    for after in text.between[1:]:
        place += mask
        if goes_on(after) and (letters := LETTERS.match(after)):
            yield place, place + letters.end()
        place += len(after)
