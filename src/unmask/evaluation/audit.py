"""What a policy really does, measured on real blocks.

In go blocks and a schedule, or a data directory and a policy, out comes an `Audited`: the rate and its spread, the
split, the lengths of what is hidden together, whether any position is favoured, whether anything special was touched,
and how fast it went.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.stats import chi2

from unmask.corruption.schedule import MaskingSchedule, corrupt_at, parse_schedule
from unmask.corruption.units import eligible
from unmask.errors import BadInput
from unmask.progress import say, task
from unmask.records import Blocks, Corrupted, Flags, Integers, Reals, Vocabulary
from unmask.results import Audited
from unmask.tokens.pack import AROUND, cut_documents, pack_pieces, read_blocks
from unmask.tokens.spans.lexicon import Lexicon, mark_phrases
from unmask.tokens.spans.lists import marking_for
from unmask.tokens.spans.marked import Spans, mark_blocks
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.sentinels import sentinels_for

BATCH = 64  # blocks at a time
BINS = 21  # stretches of a row that are drawn
TEST_BINS = 7  # stretches that are tested: few, for a p-value that holds on a few hundred rows
SURE = 0.001  # a p-value below this says that a position is favoured: one audit in a thousand says so by chance
FEWEST = 20 * TEST_BINS  # rows below which there is no p-value


def audit_data(
    path: Path | str,
    policy: str = "token",
    *,
    rate: float | str | None = None,
    split: str = "train",
    length: int = 512,
    blocks: int = 2048,
    phrases: Sequence[str] = (),
    seed: int = 0,
) -> Audited:
    """Audit a policy, or a schedule of several, on the first blocks of an epoch, packed as training packs them."""
    dataset = Dataset.open(path)
    masking = parse_schedule(policy, rate)
    dataset = with_sentinels_for(dataset, masking, length)
    batches = marked_batches(dataset, masking, split, length, blocks, phrases, seed)
    return audit(batches, masking, dataset.vocabulary, seed=seed)


def with_sentinels_for(dataset: Dataset, masking: MaskingSchedule, length: int) -> Dataset:
    """The data with the sentinels that a schedule needs in rows of a length, if it does."""
    return dataset.with_sentinels(sentinels_for(masking, length)) if masking.needs_sentinels else dataset


def marked_batches(
    dataset: Dataset,
    masking: MaskingSchedule,
    split: str,
    length: int,
    blocks: int,
    phrases: Sequence[str],
    seed: int,
    *,
    title: str = "Auditing",
) -> Iterator[Blocks]:
    """The first blocks of an epoch, which depend on the seed alone, with the spans that a schedule hides marked."""
    if length <= AROUND or blocks < 1:
        raise BadInput(f"length {length} and blocks {blocks}: give a length over {AROUND} and 1 block or more")
    marking = marking_for(dataset, masking, split, phrases)
    for line in marking.lines:
        say(line)
    batches = _first_blocks(dataset, split, length, blocks, seed, marking.spans, title)
    for kind, lexicon in marking.lexicons.items():
        batches = _with_phrases(batches, lexicon, dataset.vocabulary, kind)
    return batches


def audit(batches: Iterable[Blocks], masking: MaskingSchedule, vocabulary: Vocabulary, *, seed: int = 0) -> Audited:
    """Corrupt the blocks as the schedule begins, and measure."""
    seconds, all_tokens = 0.0, 0
    kinds = dict.fromkeys(("masked", "random", "kept", "sentinel"), 0)
    tallies: list[Tally] = []
    for blocks in batches:
        start = perf_counter()
        corrupted = corrupt_at(blocks, masking, vocabulary, seed=seed)
        seconds += perf_counter() - start
        all_tokens += blocks.ids.size
        tallies.append(_tally(blocks, corrupted, vocabulary))
        for kind, number in _count_kinds(corrupted, vocabulary).items():
            kinds[kind] += number
    if not tallies:
        raise BadInput("there are no blocks to audit: the split is empty")
    total = _sum(tallies)
    rows = total.tokens > 0
    rates = total.hidden[rows] / total.tokens[rows]
    hidden, tokens = int(total.hidden.sum()), int(total.tokens.sum())
    low, high = np.percentile(rates, [5, 95]) if rows.any() else (0.0, 0.0)
    position_p = _evenness(total.bin_hidden[rows], total.bin_tokens[rows])
    spread = np.maximum(total.bin_tokens.sum(axis=0), 1)
    return Audited(
        policy=str(masking),
        rows=len(rows),
        tokens=tokens,
        hidden=hidden,
        asked=_target_rate(masking),
        rate=hidden / max(tokens, 1),
        rate_low=float(low),
        rate_high=float(high),
        split={kind: number / hidden for kind, number in kinds.items() if number},
        lengths={int(size): int(total.lengths[size]) for size in np.flatnonzero(total.lengths)},
        positions=tuple((total.bin_hidden.sum(axis=0) / spread).tolist()),
        position_p=position_p,
        position_threshold=SURE,
        position_favoured=None if position_p is None else position_p < SURE,
        specials_hidden=total.specials_hidden,
        specials_shown=total.specials_shown,
        silent=int((rows & (total.hidden == 0)).sum()),
        tokens_per_second=all_tokens / max(seconds, 1e-9),
    )


@dataclass(frozen=True)
class Tally:
    """The counts of some rows."""

    tokens: Integers  # B, eligible
    hidden: Integers  # B
    bin_tokens: Integers  # B K
    bin_hidden: Integers  # B K
    lengths: Integers  # units by their number of tokens
    specials_hidden: int
    specials_shown: int


def _tally(blocks: Blocks, corrupted: Corrupted, vocabulary: Vocabulary) -> Tally:
    may = eligible(blocks, vocabulary)
    units = np.zeros(0, dtype=np.int32) if corrupted.units is None else corrupted.units
    odd = 0
    if corrupted.answer is None:
        shown_ids = corrupted.ids[corrupted.hidden]
        odd = int(
            (vocabulary.is_special[shown_ids] & (shown_ids != vocabulary.mask) & (shown_ids != corrupted.targets)).sum()
        )
    return Tally(
        tokens=np.count_nonzero(may, axis=1),
        hidden=np.count_nonzero(corrupted.hidden, axis=1),
        bin_tokens=_bin_counts(may),
        bin_hidden=_bin_counts(corrupted.hidden),
        lengths=np.bincount(np.bincount(units)) if len(units) else np.zeros(1, dtype=np.int64),
        specials_hidden=int((corrupted.hidden & ~may).sum()),
        specials_shown=odd,
    )


def _sum(tallies: list[Tally]) -> Tally:
    lengths = np.zeros(max(len(tally.lengths) for tally in tallies), dtype=np.int64)
    for tally in tallies:
        lengths[: len(tally.lengths)] += tally.lengths
    return Tally(
        tokens=np.concatenate([tally.tokens for tally in tallies]),
        hidden=np.concatenate([tally.hidden for tally in tallies]),
        bin_tokens=np.concatenate([tally.bin_tokens for tally in tallies]),
        bin_hidden=np.concatenate([tally.bin_hidden for tally in tallies]),
        lengths=lengths,
        specials_hidden=sum(tally.specials_hidden for tally in tallies),
        specials_shown=sum(tally.specials_shown for tally in tallies),
    )


def _bin_counts(flags: Flags) -> Integers:
    """B K: how many flags each stretch of each row has."""
    edges = np.arange(BINS + 1) * flags.shape[1] // BINS
    total = np.zeros((len(flags), flags.shape[1] + 1), dtype=np.int64)
    np.cumsum(flags, axis=1, out=total[:, 1:])
    return np.diff(total[:, edges], axis=1)


def _count_kinds(corrupted: Corrupted, vocabulary: Vocabulary) -> dict[str, int]:
    """How the hidden tokens are shown."""
    if corrupted.answer is not None:
        return {"sentinel": len(corrupted.targets)}
    shown_ids = corrupted.ids[corrupted.hidden]
    is_mask, is_same = shown_ids == vocabulary.mask, shown_ids == corrupted.targets
    return {"masked": int(is_mask.sum()), "kept": int(is_same.sum()), "random": int((~is_mask & ~is_same).sum())}


def _target_rate(masking: MaskingSchedule) -> float | None:
    stage, rate = masking.at(0.0)
    rates = {policy.rate for policy in stage.members}
    if any(policy.properties.timed for policy in stage.members):
        return (rates.pop() if rate is None else rate) / 2  # t is uniform up to the rate
    return rate if rate is not None else rates.pop() if len(rates) == 1 else None


def _evenness(hidden: Integers, tokens: Integers) -> float | None:
    """How likely it is that stretches of the row differ so much by chance: a Wald test over rows.

    Rows are independent, positions of a row are not: units make neighbours alike, a fixed count sets them against
    one another. So each row gives one vector, what each stretch has beyond its share of the row's hidden tokens.
    """
    if len(hidden) < FEWEST:
        return None
    hidden, tokens = (counts.reshape(len(counts), TEST_BINS, -1).sum(axis=2) for counts in (hidden, tokens))
    share = hidden.sum(axis=1) / tokens.sum(axis=1)
    excess: Reals = hidden - share[:, None] * tokens
    mean = excess.mean(axis=0)
    spread = np.cov(excess, rowvar=False) / len(excess)
    freedom = int(np.linalg.matrix_rank(spread, hermitian=True))
    distance = float(mean @ np.linalg.pinv(spread, hermitian=True) @ mean)
    distance *= (len(excess) - freedom) / (len(excess) - 1)  # Hotelling's correction
    return float(chi2.sf(distance, freedom)) if freedom else 1.0


def _first_blocks(
    dataset: Dataset, split: str, length: int, blocks: int, seed: int, spans: Mapping[str, Spans], title: str
) -> Iterator[Blocks]:
    stream = dataset.split(split)
    packing = pack_pieces(cut_documents(stream.ends, length - AROUND), length, seed=seed, epoch=0)
    count = min(blocks, packing.blocks)
    with task(title, total=count) as step:
        for begin in range(0, count, BATCH):
            end = min(begin + BATCH, count)
            numbers = np.arange(begin, end)
            yield mark_blocks(read_blocks(stream, packing, numbers, dataset.vocabulary), packing, spans)
            step(end - begin)


def _with_phrases(batches: Iterator[Blocks], lexicon: Lexicon, vocabulary: Vocabulary, kind: str) -> Iterator[Blocks]:
    return (mark_phrases(blocks, lexicon, vocabulary, kind=kind) for blocks in batches)
