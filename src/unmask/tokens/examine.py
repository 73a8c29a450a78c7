"""A policy on a data directory: what `unmask audit` and `unmask collocations` do.

In: a data directory. Out: an `Audited`, or phrases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from unmask.corruption.schedule import Plan, parse
from unmask.errors import BadInput
from unmask.evaluation.audit import audit
from unmask.progress import task
from unmask.records import Blocks, Vocabulary
from unmask.results import Audited, Phrase
from unmask.tokens.pack import AROUND, cut, packed, read_blocks
from unmask.tokens.spans import phrases as phrase_lists
from unmask.tokens.spans.lexicon import mark
from unmask.tokens.spans.spans import Spans, mark_blocks
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.sentinels import enough

BATCH = 64  # blocks at a time


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
    """Audit a policy, or a plan of several, on the first blocks of an epoch, packed as training packs them."""
    dataset = Dataset.open(path)
    plan = parse(policy, rate)
    if length <= AROUND or blocks < 1:
        raise BadInput(f"length {length} and blocks {blocks}: give a length over {AROUND} and 1 block or more")
    known = (dataset.with_sentinels(enough(plan, length)) if plan.needs_sentinels else dataset).vocabulary
    spans = {} if phrases else marked_spans(dataset, plan, split)
    batches = _batches(dataset, split, length, blocks, seed, known, spans)
    if phrases:
        lexicon = phrase_lists.lexicon(dataset.tokenizer(), phrases, dataset.segmenter())
        for kind in plan.spanned:
            batches = _marked(batches, lexicon, known, kind)
    return audit(batches, plan, known, seed=seed)


def marked_spans(dataset: Dataset, plan: Plan, split: str) -> dict[str, Spans]:
    """The spans that a plan hides, as they are marked in the data."""
    there = dataset.spans(split)
    for kind in plan.spanned:
        if kind not in there:
            raise BadInput(
                f"policy {kind!r} hides spans, and {dataset.path} has none of that kind: give --phrases, a file with a "
                "phrase a line (unmask collocations makes one), or mark them with unmask prepare"
            )
    return {kind: there[kind] for kind in plan.spanned}


def collocations(path: Path | str, *, longest: int = 5, least: int = 10, top: int = 20_000) -> list[Phrase]:
    """The best collocations of the training split, best first."""
    if longest < 2 or least < 0 or top < 1:
        raise BadInput(f"longest {longest}, least {least}, top {top}: give 2, 0 and 1 or more")
    dataset = Dataset.open(path)
    stream = dataset.split("train")
    return phrase_lists.collocations(stream, dataset.tokenizer(), longest=longest, least=least, top=top)


def _batches(
    dataset: Dataset, split: str, length: int, blocks: int, seed: int, known: Vocabulary, spans: Mapping[str, Spans]
) -> Iterator[Blocks]:
    stream = dataset.split(split)
    plan = packed(cut(stream.ends, length - AROUND), length, seed=seed, epoch=0)
    count = min(blocks, plan.blocks)
    with task("Auditing", total=count) as step:
        for begin in range(0, count, BATCH):
            end = min(begin + BATCH, count)
            yield mark_blocks(read_blocks(stream, plan, np.arange(begin, end), known), plan, spans)
            step(end - begin)


def _marked(batches: Iterator[Blocks], lexicon: phrase_lists.Lexicon, known: Vocabulary, kind: str) -> Iterator[Blocks]:
    return (mark(blocks, lexicon, known, kind=kind) for blocks in batches)
