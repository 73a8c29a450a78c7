"""A text as the model will see it: the original above, what is shown below, what is hidden together underlined.

In: a tokenizer, a text and a policy. Out: a `Shown`, which JSON can hold, and from it a drawing with or without colour.

    the cat    sat on the   mat
    the [MASK] sat on =the= mat
        ▔▔▔▔▔▔        ▔▔▔▔▔
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.text import Text
from transformers import PreTrainedTokenizerFast

from unmask.corruption.lexicon import mark
from unmask.corruption.plan import Plan, corrupt_by, parse
from unmask.corruption.policy import POLICIES
from unmask.errors import BadInput
from unmask.records import Blocks, Corrupted, Vocabulary
from unmask.tokens.phrases import lexicon
from unmask.tokens.sentinels import add_sentinels, sentinel_vocabulary
from unmask.tokens.tokenizer import encode, vocabulary

STYLES = {
    "masked": "bold red",
    "random": "bold yellow",
    "kept": "bold green",
    "asked": "bold cyan",
    "gone": "red",
    "shown": "dim",
}
SIGNS = {"random": "~", "kept": "="}  # around a token where there is no colour to tell
SPANNED = ("entity", "phrase", "collocation")


@dataclass(frozen=True)
class Piece:
    """One token: what it is, what is shown of it, and with which others it was hidden."""

    text: str
    shown: str
    kind: str  # shown, masked, random, kept, asked (in an order), or gone (behind the sentinel before it)
    unit: int = 0  # 1, 2, … of what is hidden together; 0 is not hidden
    order: int = 0  # when it is predicted, where there is an order


@dataclass(frozen=True)
class Shown:
    """A text under a policy."""

    policy: str
    pieces: tuple[Piece, ...]
    hidden: int
    tokens: int  # that may be hidden
    answer: str = ""  # what a decoder says
    time: float | None = None  # of diffusion


def show(
    tokenizer: PreTrainedTokenizerFast,
    text: str,
    policy: str = "token",
    *,
    rate: float | str | None = None,
    seed: int = 0,
    phrases: Sequence[str] = (),
) -> Shown:
    """One text under one policy, or a plan of several; `phrases` are what entity, phrase and collocation mark."""
    plan = parse(policy, rate)
    names = {part.policy.name for stage in plan.stages for part in stage.parts}
    if "sentinel" in names:
        tokenizer = _with_sentinels(tokenizer)
        known = sentinel_vocabulary(tokenizer)
    else:
        known = vocabulary(tokenizer)
    blocks = _row(tokenizer, text, known)
    for kind in names.intersection(SPANNED):
        if not phrases:
            raise BadInput(f"policy {kind!r} hides spans: give phrases to mark in the text")
        blocks = mark(blocks, lexicon(tokenizer, phrases), known, kind=kind)
    return _shown(policy, blocks, plan, known, tokenizer, seed)


def show_all(
    tokenizer: PreTrainedTokenizerFast, text: str, *, seed: int = 0, phrases: Sequence[str] = ()
) -> list[Shown]:
    """One text under every policy; those that hide marked spans need phrases."""
    names = [name for name in POLICIES if phrases or name not in SPANNED]
    return [show(tokenizer, text, name, seed=seed, phrases=phrases) for name in names]


def _with_sentinels(tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """The tokenizer with sentinels, a copy if it has too few."""
    from copy import deepcopy

    made = deepcopy(tokenizer)
    add_sentinels(made)
    return made


def _row(tokenizer: PreTrainedTokenizerFast, text: str, known: Vocabulary) -> Blocks:
    """The text as one block, with its opening and closing token."""
    (encoded,) = encode(tokenizer, [text])
    if not len(encoded.ids):
        raise BadInput("the text is empty: there is nothing to hide")
    ids = np.concatenate(([known.start], encoded.ids, [known.end])).astype(np.int32)[None]
    starts = np.concatenate(([False], encoded.word_starts, [False]))[None]
    return Blocks(ids, starts, np.ones_like(ids), np.zeros(1, dtype=np.int64), 0)


def _shown(
    policy: str, blocks: Blocks, plan: Plan, known: Vocabulary, tokenizer: PreTrainedTokenizerFast, seed: int
) -> Shown:
    corrupted = corrupt_by(blocks, plan, known, seed=seed)
    spell = _Spelling(tokenizer)
    unit = np.zeros(blocks.ids.shape, dtype=np.int64)
    if corrupted.units is not None:
        unit[corrupted.hidden] = corrupted.units + 1
    order = np.zeros_like(unit[0]) if corrupted.order is None else corrupted.order[0]
    seen = list(_seen(blocks, corrupted, known))
    pieces = [
        Piece(spell(original), spell(shown) if kind != "gone" else "", kind, int(number), int(nth))
        for original, (shown, kind), number, nth in zip(blocks.ids[0].tolist(), seen, unit[0], order, strict=True)
    ]
    answer = "" if corrupted.answer is None else " ".join(spell(number) for number in corrupted.answer.ids[0].tolist())
    return Shown(
        policy=policy,
        pieces=tuple(pieces[1:-1]),
        hidden=int(corrupted.hidden.sum()),
        tokens=int((~known.is_special[blocks.ids]).sum()),
        answer=answer,
        time=None if corrupted.times is None else float(corrupted.times[0]),
    )


def _seen(blocks: Blocks, corrupted: Corrupted, known: Vocabulary) -> Iterator[tuple[int, str]]:
    """For each position of the row what is shown there, and as what."""
    hidden = corrupted.hidden[0].tolist()
    originals = blocks.ids[0].tolist()
    same = "kept" if corrupted.order is None else "asked"
    if corrupted.answer is None:
        for original, shown, is_hidden in zip(originals, corrupted.ids[0].tolist(), hidden, strict=True):
            kind = "masked" if shown == known.mask else same if shown == original else "random"
            yield shown, kind if is_hidden else "shown"
        return
    row: Iterator[int] = iter(corrupted.ids[0].tolist())
    for place, (original, is_hidden) in enumerate(zip(originals, hidden, strict=True)):
        if is_hidden and place and hidden[place - 1]:
            yield original, "gone"
        else:
            yield next(row), "masked" if is_hidden else "shown"


class _Spelling:
    """Tokens as a person reads them."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer

    def __call__(self, number: int) -> str:
        text = str(self.tokenizer.decode([number], clean_up_tokenization_spaces=False))
        return text.strip() or text.replace("\n", "⏎").replace(" ", "␣") or "·"


def draw(shown: Shown, *, width: int = 80, colour: bool = True) -> Text:
    """The text above, what the model sees below, and a line under what is hidden together."""
    drawing = Text(no_wrap=True, overflow="crop")
    share = f"{shown.hidden} of {shown.tokens} tokens hidden"
    drawing.append(shown.policy, style="bold" if colour else "")
    drawing.append(f" · {share}" + (f" · t = {shown.time:.2f}" if shown.time is not None else "") + "\n")
    for line in _lines(shown.pieces, width, colour):
        _draw_line(drawing, line, colour)
    if shown.answer:
        drawing.append(f"answer: {shown.answer}\n")
    return drawing


def legend(*, colour: bool = True) -> Text:
    """What the colours, or the signs, say."""
    words = {
        "masked": "hidden",
        "random": "a random token",
        "kept": "hidden, but shown",
        "asked": "asked⁽in this order⁾",
    }
    signs = {kind: "" if colour else SIGNS.get(kind, "") for kind in words}
    parts = [
        Text(f"{signs[kind]}{word}{signs[kind]}", style=STYLES[kind] if colour else "") for kind, word in words.items()
    ]
    return Text("   ").join(parts)


def _label(piece: Piece, colour: bool) -> str:
    sign = "" if colour else SIGNS.get(piece.kind, "")
    return f"{sign}{piece.shown}{sign}" + (f"⁽{piece.order}⁾" if piece.order else "")


def _size(piece: Piece, colour: bool) -> int:
    return max(Text(piece.text).cell_len, Text(_label(piece, colour)).cell_len)


def _lines(pieces: Iterable[Piece], width: int, colour: bool) -> Iterator[list[Piece]]:
    """The pieces, as many on a line as fit."""
    line: list[Piece] = []
    room = width
    for piece in pieces:
        size = _size(piece, colour)
        if line and size > room:
            yield line
            line, room = [], width
        line.append(piece)
        room -= size + 1
    if line:
        yield line


def _draw_line(drawing: Text, line: list[Piece], colour: bool) -> None:
    below, under = Text(), ""
    for place, piece in enumerate(line):
        size = _size(piece, colour)
        style = STYLES[piece.kind] if colour else ""
        drawing.append(_filled(piece.text, size + 1), style="dim" if colour and piece.unit == 0 else "")
        label = _label(piece, colour)
        below.append(label, style=style)
        below.append(" " * (size + 1 - Text(label).cell_len))
        joined = place + 1 < len(line) and piece.unit and line[place + 1].unit == piece.unit
        under += ("▔" if piece.unit else " ") * size + ("▔" if joined else " ")
    drawing.append("\n").append_text(below).append("\n")
    drawing.append(under.rstrip() + "\n", style="red" if colour else "")


def _filled(text: str, size: int) -> str:
    return text + " " * (size - Text(text).cell_len)
