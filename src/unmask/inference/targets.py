"""Target words to the tokens they would be in a blank: in their place, with the space and the case they have there.

In: a loaded model, the text around its blanks, and words. Out: for each blank a `Choice` for each word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from unmask.errors import BadInput
from unmask.inference.encode import Row, encode_rows
from unmask.inference.spelling import speller
from unmask.models.load import LoadedModel
from unmask.tokens.example import BLANK
from unmask.tokens.tokenizer.boundaries import goes_on
from unmask.tokens.tokenizer.continuing import continue_word


class Choice(NamedTuple):
    """A word that may fill a blank."""

    pieces: tuple[int, ...]
    spelt: str  # as it reads in the text: with a space before it where it starts a word


def target_choices(lm: LoadedModel, between: Sequence[str], targets: Sequence[str]) -> list[list[Choice]]:
    """For each blank the target words as tokens; words that are the same tokens there are one."""
    masks = [mask for mask in (BLANK, lm.tokenizer.mask_token) if mask]  # T5 has none of its own
    for target in targets:
        if not target.strip() or any(mask in target for mask in masks):
            raise BadInput(f"the target {target!r} is not a word: give the texts before --targets")
        if len(target.split()) > 1:
            raise BadInput(f"the target {target!r} is {len(target.split())} words, but a blank holds one")
    places = [(blank, target.strip()) for blank in range(1, len(between)) for target in targets]
    texts = [f"{_line_end(between[blank - 1])}{target}{_line_begin(between[blank])}" for blank, target in places]
    by_blank: list[dict[tuple[int, ...], Choice]] = [{} for _ in between[1:]]
    for (blank, target), text, row in zip(places, texts, encode_rows(lm, texts), strict=True):
        choice = _target_pieces(lm, target, text, row, len(_line_end(between[blank - 1])))
        by_blank[blank - 1].setdefault(choice.pieces, choice)
    return [list(choices.values()) for choices in by_blank]


def _line_end(before: str) -> str:
    """As much of the text before a blank as tells how a word is cut there: the words around it, not the whole text."""
    return before[-200:]


def _line_begin(after: str) -> str:
    return after[:200]


def _target_pieces(lm: LoadedModel, target: str, text: str, row: Row, start: int) -> Choice:
    """The tokens that a target is where it stands in the text.

    "cat" at the start and " cat" in the middle of a text are different tokens of a byte-level vocabulary, so the word
    is looked at in its place; where its letters and those around it share a token, it is what begins a word or goes on.
    """
    end, vocabulary, in_word = start + len(target), lm.vocabulary, start > 0 and goes_on(text[start - 1])
    covering = (row.offsets[:, 0] < end) & (row.offsets[:, 1] > start)
    ids, offsets = row.ids[covering].tolist(), row.offsets[covering]
    alone = bool(ids) and offsets[-1, 1] == end and not text[min(offsets[0, 0], start) : start].strip()
    if not alone:
        ids = continue_word(lm.tokenizer, target) if in_word else _encode_behind(lm, text[:start], target)
    known = bool(ids) and not vocabulary.is_special[ids].any()
    if not (known and len(ids) == 1) and (token := _own_spelling(lm, target)) is not None:
        return Choice((token,), speller(lm)(token))
    if not known:
        raise BadInput(f"the target {target!r} is not in this vocabulary")
    return Choice(tuple(ids), target if in_word else f" {target}")


def _own_spelling(lm: LoadedModel, target: str) -> int | None:
    """The token that a vocabulary spells so, mark and all: ##ing, Ġking."""
    token = lm.tokenizer.get_vocab().get(target)
    if token is None or lm.vocabulary.is_special[token] or speller(lm)(token).strip() == target:
        return None
    return int(token)


def _encode_behind(lm: LoadedModel, before: str, target: str) -> list[int]:
    """The tokens of a word behind a text, whatever follows it."""
    row = encode_rows(lm, [before + target])[0]
    covering = (row.offsets[:, 0] < len(before) + len(target)) & (row.offsets[:, 1] > len(before))
    return [int(number) for number in row.ids[covering]]
