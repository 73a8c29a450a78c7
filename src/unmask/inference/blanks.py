"""Texts with blanks to questions that a model can be asked, and the tokens that target words are there.

In: a loaded model and texts. Out: a `BlankText` for each, or what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from unmask.errors import BadInput
from unmask.inference.encode import Row, encode_rows
from unmask.models.load import LoadedModel
from unmask.tokens.example import BLANK

MISSPELT = re.compile(r"[\[<({]+\s*mask\s*[\])>}]+", re.IGNORECASE)
OTHERWISE = re.compile(r"_{2,}|[\[<({]+\s*blank\s*[\])>}]+", re.IGNORECASE)  # blanks elsewhere, or just text


@dataclass(frozen=True)
class BlankText:
    """A text with blanks, as people and as the model see it."""

    text: str
    between: tuple[str, ...]  # what stands before, between and after the blanks
    ids: list[int]
    blanks: list[int]  # positions in ids
    choices: tuple[dict[int, str], ...] = ()  # for each blank the tokens to choose among, and how they read in the text


def read_blanks(lm: LoadedModel, texts: Sequence[str], targets: Sequence[str] = ()) -> list[BlankText | BadInput]:
    """Find the blanks of texts; for a text that cannot be asked, say why."""
    questions: list[BlankText | BadInput] = [_split_at_blanks(lm, text) for text in texts]
    mask = lm.tokenizer.mask_token
    asked = [(n, question) for n, question in enumerate(questions) if isinstance(question, BlankText)]
    rows = encode_rows(lm, [mask.join(question.between) for _, question in asked], blanks=True)
    for (n, question), (ids, _) in zip(asked, rows, strict=True):
        if lm.length is not None and len(ids) > lm.length:
            questions[n] = BadInput(f"{len(ids):,} tokens, but this model takes {lm.length:,}: shorten the text")
            continue
        blanks = np.flatnonzero(ids == lm.vocabulary.mask).tolist()
        try:
            choices = target_choices(lm, question.between, targets) if targets else ()
        except BadInput as error:
            questions[n] = error
            continue
        questions[n] = BlankText(question.text, question.between, ids.tolist(), blanks, tuple(choices))
    return questions


def _split_at_blanks(lm: LoadedModel, text: str) -> BlankText | BadInput:
    """The text between its blanks, not yet encoded."""
    mask = lm.tokenizer.mask_token
    blank = BLANK if mask == BLANK else f"{BLANK} or {mask}"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return BadInput("the text is not valid Unicode: give it as UTF-8")
    between = tuple(re.split(f"{re.escape(BLANK)}|{re.escape(mask)}", text))
    wrong = MISSPELT.search(" ".join(between))
    if wrong is None and len(between) == 1:
        wrong = OTHERWISE.search(text)
    if wrong is not None:
        return BadInput(f"{wrong[0]} is not a blank here: write {blank}")
    if len(between) == 1:
        return BadInput(f"there is no blank to fill: write {blank} where a word is missing")
    return BlankText(text, between, [], [])


def target_choices(lm: LoadedModel, between: Sequence[str], targets: Sequence[str]) -> list[dict[int, str]]:
    """For each blank the tokens of the target words, and how they read in the text."""
    mask, by_blank = lm.tokenizer.mask_token, []
    for blank in range(1, len(between)):
        before, after = mask.join(between[:blank]), mask.join(between[blank:])
        texts = [f"{before}{target}{after}" for target in targets]
        tokens: dict[int, str] = {}
        for target, row in zip(targets, encode_rows(lm, texts, blanks=True), strict=True):
            tokens.update(_target_token(lm, target, row, len(before)))
        by_blank.append(tokens)
    return by_blank


def _target_token(lm: LoadedModel, target: str, row: Row, start: int) -> dict[int, str]:
    """The one token that is the target where it stands in the text, or that the vocabulary spells so.

    "cat" at the start and " cat" in the middle of a text are different tokens of a byte-level vocabulary, so
    the word is looked at in its place. A word of several tokens has no probability that compares with those
    of one.
    """
    end, vocabulary = start + len(target), lm.vocabulary
    covering = (row.offsets[:, 0] < end) & (row.offsets[:, 1] > start)
    ids = row.ids[covering].tolist()
    if not target.strip() or BLANK in target or lm.tokenizer.mask_token in target:
        raise BadInput(f"the target {target!r} is not a word: give the texts before --targets")
    if len(ids) == 1 and row.offsets[covering][0, 1] == end and not vocabulary.is_special[ids[0]]:
        return {ids[0]: f" {target}"}
    token = lm.tokenizer.get_vocab().get(target)
    if token is not None and not vocabulary.is_special[token]:
        return {token: speller(lm)(token)}
    pieces = lm.tokenizer.convert_ids_to_tokens(ids)
    if lm.tokenizer.unk_token in pieces:
        raise BadInput(f"the target {target!r} is not in this vocabulary")
    raise BadInput(f"the target {target!r} is {len(pieces)} tokens here ({' '.join(pieces)}), but a blank holds one")


def speller(lm: LoadedModel) -> Callable[[int], str]:
    """How a token reads inside a text: with a space before it where it starts a word.

    WordPiece, byte-level BPE and Unigram mark the starts of words in three ways; what their decoders write
    after another word is the same for all.
    """
    tokenizer = lm.tokenizer

    def decode(*tokens: int) -> str:
        return tokenizer.backend_tokenizer.decode(list(tokens), skip_special_tokens=False)

    anchor = next(token for token in lm.vocabulary.ordinary.tolist() if decode(token).strip().isalpha())
    before = decode(anchor)

    @cache
    def spell(token: int) -> str:
        after = decode(anchor, token).removeprefix(before)
        if after.strip().isprintable() and after.strip() and "\ufffd" not in after:
            return after
        # a part of a character, or one that a terminal would obey: the vocabulary's own spelling
        return " " + ascii(tokenizer.convert_ids_to_tokens(token))[1:-1]

    return spell
