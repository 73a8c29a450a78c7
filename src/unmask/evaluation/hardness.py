"""How predictable is what a policy hides? Masking that neighbours give away teaches little.

In: a data directory and policies. Out: a `Hardness`: for each policy the bits of a hidden token under a bigram model of
the training text (`evaluation.bigram`), on the same blocks of held-out text, which the model has not counted.

A hidden token is guessed from the two beside it, as far as they are there when it is predicted:

    text      some  bread  and  butter  ,
    hidden      .     .     #     #     .
    "and"           bread   ?     –             a hidden neighbour is not there, whatever is shown in its place
    "butter"                –     ?     ,

Where tokens are predicted one after the other, those before are there: in the order of a permutation, or from left to
right where a decoder spells out what is hidden. Special tokens tell nothing. The interval is over blocks, and what a
policy has beyond `token` is taken block by block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from unmask.corruption.policy import POLICIES
from unmask.corruption.schedule import MaskingSchedule, corrupt_at, parse_schedule
from unmask.corruption.units import eligible
from unmask.errors import BadInput
from unmask.evaluation.audit import marked_batches, with_sentinels_for
from unmask.evaluation.bigram import NONE, BigramModel
from unmask.intervals import difference_figure, ratio_figure, within
from unmask.progress import task
from unmask.records import Blocks, Corrupted, Flags, Ids, Integers, Reals, Vocabulary
from unmask.results import Hardness, PolicyHardness
from unmask.tokens.store.dataset import Dataset

REFERENCE = "token"  # what the others are set beside
EASY = 1.0  # bits below which a token is as good as given away


def measure_hardness(
    path: Path | str,
    policies: Sequence[str] = (),
    *,
    rate: float | str | None = None,
    length: int = 512,
    blocks: int = 2048,
    phrases: Sequence[str] = (),
    seed: int = 0,
) -> Hardness:
    """How predictable what policies hide is, all of them if none is named; `token` is always beside them."""
    schedules = [parse_schedule(policy, rate) for policy in dict.fromkeys([REFERENCE, *(policies or POLICIES)])]
    dataset = Dataset.open(path)
    held_out = dataset.split("valid")
    if not held_out.tokens:
        raise BadInput(f"{path}: has no held-out text to measure on; prepare it from more, or with a larger --valid")
    with task("Counting bigrams") as step:
        model = BigramModel.of(dataset.split("train"), dataset.vocabulary)
        step(1, note=f"{model.tokens:,} tokens")
    tallies = []
    for masking in schedules:
        own = with_sentinels_for(dataset, masking, length)
        batches = marked_batches(own, masking, "valid", length, blocks, phrases, seed, title=f"Hiding by {masking}")
        tallies.append(tally_policy(batches, masking, own.vocabulary, model, seed=seed))
    return Hardness(
        data=Path(path),
        rows=len(tallies[0].hidden),
        length=length,
        counted=model.tokens,
        training_tokens=dataset.split("train").tokens,
        reference=REFERENCE,
        policies=tuple(
            policy_hardness(masking, tally, tallies[0]) for masking, tally in zip(schedules, tallies, strict=True)
        ),
    )


@dataclass(frozen=True)
class HardnessTally:
    """Sums over the hidden tokens of each block; all arrays have one entry a block."""

    tokens: Reals  # eligible
    hidden: Reals
    bits: Reals
    unigram_bits: Reals
    easy: Reals
    neighbours: Reals  # that are there


def tally_policy(
    batches: Iterable[Blocks], masking: MaskingSchedule, vocabulary: Vocabulary, model: BigramModel, *, seed: int = 0
) -> HardnessTally:
    """Hide as the schedule begins, and add up."""
    tallies = [_tally_batch(blocks, masking, vocabulary, model, seed) for blocks in batches]
    names = [field.name for field in fields(HardnessTally)]
    return HardnessTally(*(np.concatenate([getattr(tally, name) for tally in tallies]) for name in names))


def _tally_batch(
    blocks: Blocks, masking: MaskingSchedule, vocabulary: Vocabulary, model: BigramModel, seed: int
) -> HardnessTally:
    corrupted = corrupt_at(blocks, masking, vocabulary, seed=seed)
    left, right = known_neighbours(blocks, corrupted, vocabulary)
    targets, rows = blocks.ids[corrupted.hidden], np.nonzero(corrupted.hidden)[0]
    bits = model.bits(targets, left, right)

    def by_block(values: Reals | Flags | Integers) -> Reals:
        sums: Reals = np.bincount(rows, weights=values, minlength=len(blocks.ids))  # type: ignore[assignment]
        return sums

    return HardnessTally(
        tokens=np.count_nonzero(eligible(blocks, vocabulary), axis=1).astype(np.float64),
        hidden=by_block(np.ones(len(rows))),
        bits=by_block(bits),
        unigram_bits=by_block(model.unigram_bits(targets)),
        easy=by_block(bits < EASY),
        neighbours=by_block((left != NONE).astype(np.int64) + (right != NONE)),
    )


def known_neighbours(blocks: Blocks, corrupted: Corrupted, vocabulary: Vocabulary) -> tuple[Ids, Ids]:
    """P each: the tokens to the left and to the right that are there when a hidden one is predicted, or `NONE`."""
    rank = prediction_order(corrupted)
    tells = (blocks.documents > 0) & ~vocabulary.is_special[blocks.ids]
    rows, columns = np.nonzero(corrupted.hidden)

    def beside(offset: int) -> Ids:
        other = (columns + offset).clip(0, blocks.ids.shape[1] - 1)
        there = (other != columns) & tells[rows, other] & (rank[rows, other] < rank[rows, columns])
        there &= blocks.documents[rows, other] == blocks.documents[rows, columns]
        return np.where(there, blocks.ids[rows, other], NONE).astype(np.int32)

    return beside(-1), beside(1)


def prediction_order(corrupted: Corrupted) -> Integers:
    """B L: when each token is predicted, from 1; what is shown is 0. A token knows those that come before it."""
    if corrupted.order is not None:
        return corrupted.order.astype(np.int64)
    if corrupted.answer is not None:  # a decoder goes from left to right
        return np.where(corrupted.hidden, np.arange(1, corrupted.hidden.shape[1] + 1), 0)
    return corrupted.hidden.astype(np.int64)  # all at once


def policy_hardness(masking: MaskingSchedule, tally: HardnessTally, reference: HardnessTally) -> PolicyHardness:
    """A policy's sums as figures, beside those of another on the same blocks."""
    hidden, pairs = float(tally.hidden.sum()), [(each.bits, each.hidden) for each in (tally, reference)]
    return PolicyHardness(
        policy=str(masking),
        rate=hidden / max(float(tally.tokens.sum()), 1),
        hidden=int(hidden),
        bits=ratio_figure(tally.bits, tally.hidden),
        beyond_reference=None if tally is reference else difference_figure(*pairs),
        unigram_bits=ratio_figure(tally.unigram_bits, tally.hidden),
        under_one_bit=within(ratio_figure(tally.easy, tally.hidden), 0.0, 1.0),
        neighbours=float(tally.neighbours.sum()) / max(hidden, 1),
    )
