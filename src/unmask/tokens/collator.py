"""Corruption for others' training loops: a drop-in collator for transformers' Trainer or a plain DataLoader.

In: examples as lists of ids, or as dicts with `input_ids`. Out: a padded batch with `labels`, -100 where nothing is
predicted.

An example is keyed by its own ids (or by its `number`), the seed and the epoch. So it is the same whatever the batch,
the number of workers or the order, until it is told of another epoch: `Trainer(…, callbacks=[collator.each_epoch()])`
does so, and in a loop of one's own `collator.set_epoch(epoch)` before each pass over the `DataLoader`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import models
from transformers import PreTrainedTokenizerFast

from unmask.corruption.schedule import MaskingSchedule, corrupt_at, parse_schedule
from unmask.errors import BadInput
from unmask.randomness import GOLDEN, mix_bits
from unmask.records import Blocks, Corrupted, Flags, Ids, Integers
from unmask.tokens.spans.lexicon import mark_phrases
from unmask.tokens.spans.phrases import phrase_lexicon
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.load import vocabulary_of
from unmask.tokens.tokenizer.sentinels import sentinel_vocabulary

Example = Sequence[int] | Mapping[str, Any]
ATTEMPTS = 64  # at a prediction
IGNORED = -100  # transformers' label of a position that is not predicted


class Collator:
    """Hides what the policy hides: `Collator(tokenizer, policy="word", rate=0.15, seed=0)`."""

    valid_label_columns = ()  # what sentence-transformers asks a collator: no column of the data is a label

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        policy: str | MaskingSchedule = "token",
        rate: float | None = None,
        seed: int = 0,
        *,
        phrases: Sequence[str] = (),
        pad_to_multiple_of: int = 1,
        prefix: str = "",
        **settings: Any,
    ) -> None:
        """`phrases` are the spans of entity, phrase and collocation; `prefix` goes before each name in the batch."""
        self.tokenizer = tokenizer
        self.masking = policy if isinstance(policy, MaskingSchedule) else parse_schedule(policy, rate, **settings)
        self.seed, self.epoch = seed, 0
        self.multiple, self.prefix = pad_to_multiple_of, prefix
        read_vocabulary = sentinel_vocabulary if self.masking.needs_sentinels else vocabulary_of
        self.vocabulary = read_vocabulary(tokenizer)
        self.lexicon = phrase_lexicon(tokenizer, phrases) if phrases else None
        self.opens = _openers(tokenizer)

    def set_epoch(self, epoch: int) -> None:
        """From now on the examples of this epoch; worker processes that persist keep the epoch they were started in."""
        self.epoch = epoch

    def each_epoch(self) -> Any:
        """A callback for Trainer that sets the epoch."""
        from transformers import TrainerCallback

        collator = self

        class EachEpoch(TrainerCallback):
            """Tells the collator which epoch begins."""

            def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                collator.set_epoch(round(state.epoch or 0))

        return EachEpoch()

    def __call__(self, examples: Sequence[Example]) -> dict[str, torch.Tensor]:
        """One batch."""
        if not examples:
            raise BadInput("a batch of no examples cannot be collated")
        fields = [_fields_of(number, example) for number, example in enumerate(examples)]
        blocks = self._blocks(fields)
        corrupted = self._corrupt(blocks)
        batch = _model_inputs(blocks, corrupted, in_place=self.masking.in_place())
        if "token_type_ids" in fields[0] and corrupted.answer is None:
            batch["token_type_ids"] = _pad([example["token_type_ids"] for example in fields], blocks.ids.shape[1], 0)
        return {self.prefix + name: torch.from_numpy(array) for name, array in batch.items()}

    def _corrupt(self, blocks: Blocks) -> Corrupted:
        """The examples of a batch, drawn again where none of its rows hides anything.

        A short row may well hide nothing, but others' loops divide by the number of predictions: a batch without any
        would have a loss of 0/0. A batch of one row is left as it is drawn, for there it would change the rate.
        """
        for attempt in range(ATTEMPTS if len(blocks.ids) > 1 else 1):
            corrupted = corrupt_at(blocks, self.masking, self.vocabulary, seed=self.seed + attempt)
            if len(corrupted.targets):
                break
        return corrupted

    def _blocks(self, fields: list[dict[str, Any]]) -> Blocks:
        """The examples as corruption takes them: padded, their words known, each with a number of its own."""
        rows = [example["input_ids"] for example in fields]
        sizes = np.array([len(row) for row in rows])
        width = -(-max(int(sizes.max()), 1) // self.multiple) * self.multiple
        ids = _pad(rows, width, self.vocabulary.pad)
        real = np.arange(width) < sizes[:, None]
        if any("attention_mask" in example for example in fields):
            attention = [
                example.get("attention_mask", [1] * size) for example, size in zip(fields, sizes.tolist(), strict=True)
            ]
            real &= _pad(attention, width, 0) > 0
        blocks = Blocks(
            ids=ids.astype(np.int32),
            word_starts=self._starts(fields, rows, ids, real),
            documents=real.astype(np.int32),
            numbers=_example_keys(fields, ids, real),
            epoch=self.epoch,
        )
        spans = {kind: self._marks(kind, blocks, fields) for kind in self.masking.span_kinds}
        return replace(blocks, spans=spans)

    def _marks(self, kind: str, blocks: Blocks, fields: list[dict[str, Any]]) -> Ids:
        """The spans of a kind: those of the phrases, or those that come with the examples."""
        if self.lexicon is not None:
            return mark_phrases(blocks, self.lexicon, self.vocabulary, kind=kind).spans[kind]
        if not all("spans" in example for example in fields):
            raise BadInput(f"policy {kind!r} needs spans: give phrases=[…], or `spans`, a number for each token")
        return _pad([example["spans"] for example in fields], blocks.ids.shape[1], 0).astype(np.int32)

    def _starts(
        self, fields: list[dict[str, Any]], rows: list[Sequence[int]], ids: NDArray[np.int64], real: Flags
    ) -> Flags:
        """Which tokens start a word: as the examples say, or as their ids tell."""
        width = ids.shape[1]
        if all("word_starts" in example for example in fields):
            return _pad([example["word_starts"] for example in fields], width, 0) > 0
        if all("word_ids" in example for example in fields):
            rows_of_words = [[-1 if word is None else word for word in example["word_ids"]] for example in fields]
            words = _pad(rows_of_words, width, -1)
            starts: Flags = (words >= 0) & (np.diff(words, axis=1, prepend=-1) != 0)
            return starts
        if not self.masking.needs_words:
            return real
        if self.opens is not None:
            return self.opens.take(ids) & real
        starts_by_row = [self._starts_by_spelling(number, np.asarray(row)) for number, row in enumerate(rows)]
        return _pad(starts_by_row, width, 0) > 0

    def _starts_by_spelling(self, number: int, row: NDArray[np.int64]) -> Flags:
        """Which tokens start a word, by encoding once more what the ids spell: the same ids tell their words."""
        flags = np.zeros(len(row), dtype=np.bool_)
        for run in _split_runs(np.flatnonzero(~self.vocabulary.is_special[row])):
            text = str(self.tokenizer.decode(row[run].tolist(), clean_up_tokenization_spaces=False))
            (tokens,) = encode(self.tokenizer, [text])
            if tokens.ids.tolist() != row[run].tolist():
                raise BadInput(
                    f"example {number} of the batch: its ids alone do not tell where words start with this tokenizer; "
                    "give `word_ids` or `word_starts` with each example"
                )
            flags[run] = tokens.word_starts
        return flags


def _fields_of(number: int, example: Example) -> dict[str, Any]:
    """What an example of a batch has, its ids among it."""
    fields = dict(example) if isinstance(example, Mapping) else {"input_ids": example}
    if "input_ids" not in fields:
        raise BadInput(f"example {number} of the batch has no `input_ids`, only {', '.join(map(str, fields))}")
    if isinstance(fields["input_ids"], str):
        raise BadInput(f'example {number} of the batch is a text: give its ids, tokenizer(text)["input_ids"]')
    return fields


def _openers(tokenizer: PreTrainedTokenizerFast) -> Flags | None:
    """V flags of the tokens that start a word, where a token's own form tells: WordPiece marks the others."""
    model = tokenizer.backend_tokenizer.model
    if not isinstance(model, models.WordPiece):
        return None
    vocabulary = tokenizer.get_vocab()
    flags = np.zeros(max(vocabulary.values()) + 1, dtype=np.bool_)
    for token, number in vocabulary.items():
        flags[number] = not token.startswith(model.continuing_subword_prefix)
    return flags


def _split_runs(places: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Places cut where they are not neighbours."""
    return np.split(places, np.flatnonzero(np.diff(places) != 1) + 1) if len(places) else []


def _example_keys(fields: list[dict[str, Any]], ids: NDArray[np.int64], real: Flags) -> Integers:
    """What each example's draws are keyed by: its number, or its content, the padding left out."""
    if all("number" in example for example in fields):
        return np.array([example["number"] for example in fields], dtype=np.int64)
    place = np.cumsum(real, axis=1, dtype=np.uint64)
    words = mix_bits(ids.astype(np.uint64) + place * GOLDEN) * real
    return (mix_bits(words.sum(axis=1, dtype=np.uint64)) >> np.uint64(1)).astype(np.int64)


def _pad(rows: Sequence[Any], width: int, value: int) -> NDArray[np.int64]:
    """Rows of any lengths as one grid."""
    sizes = np.array([len(row) for row in rows])
    if isinstance(rows[0], list):  # one pass over all of them is several times as fast as an array for each
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(sizes.sum()))
    else:
        flat = np.concatenate([np.asarray(row) for row in rows])
    grid = np.full((len(rows), width), value, dtype=np.int64)
    grid[np.arange(width) < sizes[:, None]] = flat
    return grid


def _model_inputs(blocks: Blocks, corrupted: Corrupted, *, in_place: bool) -> dict[str, NDArray[Any]]:
    """The batch as transformers' models take it; what is restored in place, they restore in no order."""
    if corrupted.answer is not None and corrupted.documents is not None:
        width = max(int((corrupted.documents > 0).sum(axis=1).max()), 1)
        labels = np.where(corrupted.answer.documents > 0, corrupted.answer.ids, IGNORED)
        return {
            "input_ids": corrupted.ids[:, :width].astype(np.int64),
            "attention_mask": (corrupted.documents[:, :width] > 0).astype(np.int64),
            "labels": labels.astype(np.int64),
        }
    batch: dict[str, NDArray[Any]] = {
        "input_ids": corrupted.ids.astype(np.int64),
        "attention_mask": (blocks.documents > 0).astype(np.int64),
    }
    if corrupted.order is not None and not in_place:
        return {**batch, **_two_streams(corrupted)}
    labels = np.full(blocks.ids.shape, IGNORED, dtype=np.int64)
    labels[corrupted.hidden] = corrupted.targets
    batch["labels"] = labels
    if corrupted.weights is not None:
        batch["weights"] = corrupted.weights.astype(np.float32)
    return batch


def _two_streams(corrupted: Corrupted) -> dict[str, NDArray[Any]]:
    """What transformers' XLNet takes: who may not be seen by whom, which positions are asked for, and their tokens."""
    order = corrupted.order
    assert order is not None
    later = (order[:, None, :] >= order[:, :, None]) & (order[:, None, :] > 0)
    counts = np.count_nonzero(corrupted.hidden, axis=1)
    row, column = np.nonzero(corrupted.hidden)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    slots = max(int(counts.max(initial=0)), 1)
    target_mapping = np.zeros((len(order), slots, order.shape[1]), dtype=np.float32)
    target_mapping[row, nth, column] = 1
    labels = np.full((len(order), slots), IGNORED, dtype=np.int64)
    labels[row, nth] = corrupted.targets
    return {"perm_mask": later.astype(np.float32), "target_mapping": target_mapping, "labels": labels}
