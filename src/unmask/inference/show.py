"""A text as the model will see it: what it is, what is shown of it, and what is hidden together.

In: a tokenizer, a text and a policy. Out: a `Shown`, which JSON can hold and `unmask.console.hiding` draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerFast

from unmask.corruption.policy import POLICIES
from unmask.corruption.schedule import MaskingSchedule, corrupt_at, parse_schedule
from unmask.errors import BadInput
from unmask.progress import say
from unmask.records import SPAN_KINDS, Blocks, Corrupted, Vocabulary
from unmask.results import Shown, ShownToken
from unmask.tokens.spans.lexicon import Lexicon, mark_phrases
from unmask.tokens.spans.lists import listed_phrases
from unmask.tokens.spans.phrases import phrase_lexicon
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.manifest import COLLOCATIONS, ENTITIES, MANIFEST
from unmask.tokens.tokenizer.boundaries import token_boundaries
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.load import vocabulary_of
from unmask.tokens.tokenizer.sentinels import add_sentinels, sentinel_vocabulary

Phrases = Sequence[str] | Mapping[str, Sequence[str]]  # the same for every kind of span, or by the kind


@dataclass(frozen=True)
class TextBlocks:
    """A text as a block, ready for a policy."""

    blocks: Blocks  # of one row
    masking: MaskingSchedule
    vocabulary: Vocabulary
    tokenizer: PreTrainedTokenizerFast  # with sentinels, where the policy needs them


def show_text(
    tokenizer: PreTrainedTokenizerFast,
    text: str,
    policy: str = "token",
    *,
    rate: float | str | None = None,
    seed: int = 0,
    epoch: int = 0,
    phrases: Phrases = (),
) -> Shown:
    """One text under one policy, or a schedule of several; `phrases` are what entity, phrase and collocation mark."""
    ready = text_blocks(tokenizer, text, policy, rate=rate, phrases=phrases)
    blocks = replace(ready.blocks, epoch=epoch)
    return _show_row(policy, blocks, ready.masking, ready.vocabulary, ready.tokenizer, seed)


def text_blocks(
    tokenizer: PreTrainedTokenizerFast,
    text: str,
    policy: str,
    *,
    rate: float | str | None = None,
    phrases: Phrases = (),
) -> TextBlocks:
    """A text as one block, with the spans that the policy hides marked."""
    masking = parse_schedule(policy, rate)
    tokenizer, vocabulary = _spoken(tokenizer, masking.needs_sentinels)
    blocks = _row(tokenizer, text, vocabulary)
    for kind in masking.span_kinds:
        if (kind_phrases := _of_kind(phrases, kind)) is None:
            raise BadInput(
                f"policy {kind!r} hides spans: give --phrases, a file with a phrase a line, "
                "or a data directory as --model, whose lists are taken"
            )
        blocks = mark_phrases(blocks, _lexicon(tokenizer, tuple(kind_phrases)), vocabulary, kind=kind)
    return TextBlocks(blocks, masking, vocabulary, tokenizer)


def show_all(
    tokenizer: PreTrainedTokenizerFast,
    text: str,
    *,
    rate: float | str | None = None,
    seed: int = 0,
    epoch: int = 0,
    phrases: Phrases = (),
) -> list[Shown]:
    """One text under every policy; those that hide marked spans need phrases."""
    names = [
        name
        for name, how in POLICIES.items()
        if not how.properties.needs_spans or _of_kind(phrases, str(how.settings["kind"])) is not None
    ]
    return [show_text(tokenizer, text, name, rate=rate, seed=seed, epoch=epoch, phrases=phrases) for name in names]


def phrases_of_data(path: Path, policy: str | None) -> dict[str, list[str]]:
    """What a policy hides whole by the lists of a data directory; without a policy, what lists that are there say."""
    if not (path / MANIFEST).is_file():
        return {}
    dataset = Dataset.open(path)
    if policy is None:
        are_there = all((path / name).exists() for name in (COLLOCATIONS, ENTITIES))
        kinds = list(SPAN_KINDS) if are_there else []
    else:
        kinds = parse_schedule(policy).span_kinds
    phrases, lines = listed_phrases(dataset, kinds)
    for line in lines:
        say(line)
    return phrases


def lists_of_data(path: Path) -> dict[str, list[str]]:
    """What the lists of a data directory say that are there; nothing is mined."""
    are_there = (path / MANIFEST).is_file() and all((path / name).is_file() for name in (COLLOCATIONS, ENTITIES))
    if not are_there:
        return {}
    phrases, _ = listed_phrases(Dataset.open(path), SPAN_KINDS)
    return phrases


@lru_cache(maxsize=8)  # thousands of phrases take a tenth of a second to encode
def _lexicon(tokenizer: PreTrainedTokenizerFast, phrases: tuple[str, ...]) -> Lexicon:
    return phrase_lexicon(tokenizer, phrases)


def _of_kind(phrases: Phrases, kind: str) -> Sequence[str] | None:
    """The phrases of a kind; none where nobody said any."""
    return phrases.get(kind) if isinstance(phrases, Mapping) else phrases or None


@lru_cache(maxsize=8)  # a copy takes a tenth of a second, its boundaries another, and going over a vocabulary 10 ms
def _spoken(tokenizer: PreTrainedTokenizerFast, sentinels: bool) -> tuple[PreTrainedTokenizerFast, Vocabulary]:
    """The tokenizer that a policy speaks with, a copy where it takes sentinels, and its vocabulary."""
    from copy import deepcopy

    if not sentinels:
        return tokenizer, vocabulary_of(tokenizer)
    copy = deepcopy(tokenizer)
    add_sentinels(copy)
    return copy, sentinel_vocabulary(copy)


def _row(tokenizer: PreTrainedTokenizerFast, text: str, vocabulary: Vocabulary) -> Blocks:
    """The text as one block, with its opening and closing token."""
    (row,) = encode(tokenizer, [text])
    if not len(row.ids):
        raise BadInput("the text is empty: there is nothing to hide")
    ids = np.concatenate(([vocabulary.start], row.ids, [vocabulary.end])).astype(np.int32)[None]
    starts = np.concatenate(([False], row.word_starts, [False]))[None]
    return Blocks(ids, starts, np.ones_like(ids), np.zeros(1, dtype=np.int64), 0)


def _show_row(
    policy: str,
    blocks: Blocks,
    masking: MaskingSchedule,
    vocabulary: Vocabulary,
    tokenizer: PreTrainedTokenizerFast,
    seed: int,
) -> Shown:
    corrupted = corrupt_at(blocks, masking, vocabulary, seed=seed)
    spell = _Spelling(tokenizer)
    unit = np.zeros(blocks.ids.shape, dtype=np.int64)
    if corrupted.units is not None:
        unit[corrupted.hidden] = corrupted.units + 1
    order = np.zeros_like(unit[0]) if corrupted.order is None else corrupted.order[0]
    same_kind = "kept" if masking.in_place() else "asked"
    shown_tokens = list(_shown_tokens(blocks, corrupted, vocabulary, same_kind))
    tokens = []
    for original, starts, (shown, kind), number, nth in zip(
        blocks.ids[0].tolist(), blocks.word_starts[0].tolist(), shown_tokens, unit[0], order, strict=True
    ):
        text = spell(original, starts)
        label = "" if kind == "gone" else text if shown == original else spell(shown)
        tokens.append(ShownToken(text, label, kind, int(number), int(nth)))
    starts_hidden = iter(blocks.word_starts[corrupted.hidden].tolist())  # the answer has the hidden tokens, in order
    said = [] if corrupted.answer is None else corrupted.answer.ids[0].tolist()
    answer = " ".join(spell(token, vocabulary.is_special[token] or next(starts_hidden)) for token in said)
    return Shown(
        policy=policy,
        pieces=tuple(tokens[1:-1]),
        hidden=int(corrupted.hidden.sum()),
        tokens=int((~vocabulary.is_special[blocks.ids]).sum()),
        answer=answer,
        time=None if corrupted.times is None else float(corrupted.times[0]),
    )


def _shown_tokens(
    blocks: Blocks, corrupted: Corrupted, vocabulary: Vocabulary, same_kind: str
) -> Iterator[tuple[int, str]]:
    """For each position of the row what is shown there, and as what; `same_kind` is the token itself, if hidden."""
    hidden = corrupted.hidden[0].tolist()
    originals = blocks.ids[0].tolist()
    if corrupted.answer is None:
        for original, shown, is_hidden in zip(originals, corrupted.ids[0].tolist(), hidden, strict=True):
            kind = "masked" if shown == vocabulary.mask else same_kind if shown == original else "random"
            yield shown, kind if is_hidden else "shown"
        return
    row: Iterator[int] = iter(corrupted.ids[0].tolist())
    for place, (original, is_hidden) in enumerate(zip(originals, hidden, strict=True)):
        if is_hidden and place and hidden[place - 1]:
            yield original, "gone"
        else:
            yield next(row), "masked" if is_hidden else "shown"


class _Spelling:
    """Tokens as a person reads them: ## before what goes on with a word, for every vocabulary."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer
        self.continuing = token_boundaries(tokenizer).continuing

    def __call__(self, number: int, starts: bool | None = None) -> str:
        """A token; whether it starts a word where it stands, or if not known what its vocabulary says."""
        text = str(self.tokenizer.decode([number], clean_up_tokenization_spaces=False))
        spelt = text.strip() or text.replace("\n", "⏎").replace(" ", "␣") or "·"
        goes_on = bool(self.continuing[number]) if starts is None else not starts and spelt[0].isalnum()
        return f"##{spelt}" if goes_on and not spelt.startswith("##") else spelt
