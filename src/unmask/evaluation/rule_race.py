"""What rules bring to a model: the same tiny model trained on a sample with and without what they drop.

In: sources and the rules that are asked for. Out: what each rule would do to the sample, and for the sample as it is,
for all rules together and for each rule that drops much, the bits that a byte of held-out text costs a model trained on
it. Every model takes as many steps, with the same tokenizer, and is measured on the same hidden tokens of the same
documents: some that all rules keep, which none was trained on. So a rule gains only if what it drops keeps a model from
learning the rest, and how much is known document by document.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from unmask.corpus.dedup import digest_texts
from unmask.corpus.engines.engine import Engine
from unmask.corpus.rules.request import RuleRequest, try_request
from unmask.corpus.split import by_digest
from unmask.errors import BadInput
from unmask.evaluation.document_costs import DocumentCosts
from unmask.evaluation.intrinsic import bits_per_byte, encode_documents, restore_hidden
from unmask.intervals import ratio_figure
from unmask.models.load import load_model
from unmask.pretraining.pretrain import pretrain
from unmask.pretraining.recipes import recipe_named
from unmask.progress import task
from unmask.records import Document, Flags
from unmask.results import RulesTried, TrainedSample
from unmask.tokens.held_out import HeldOutSet
from unmask.tokens.prepare import prepare
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.load import save_tokenizer
from unmask.tokens.tokenizer.train import train_tokenizer
from unmask.training.budget import Budget
from unmask.training.machine.computing import FASTEST
from unmask.training.observer import Saving

RECIPE = "tiny"
HELD_OUT = 0.1  # of the documents that all rules keep
FEWEST = 20  # documents to measure on
RULES = 4  # that are tried one by one, most dropped first
LEAST = 0.01  # of the documents: a rule that drops fewer changes nothing that could be measured
MEASURED = 200_000  # held-out tokens
LENGTH, RATE = 128, 0.15  # of rows, and hidden of them: as `evaluate` measures
AT_ONCE = 8192  # tokens in a forward pass
VOCABULARY = 8_192
NO_RULES, ALL_RULES = "no rule", "all rules"


@dataclass(frozen=True)
class _Judged:
    """A document of the sample under the rules."""

    before: str
    after: str  # what rules for lines leave of it
    drops: frozenset[str]  # the rules that would drop it


def race_rules(
    sources: Sequence[str], request: RuleRequest, seconds: float, *, recipe: str = RECIPE, **reading: str
) -> RulesTried:
    """Try rules on a sample, and train a model for so long without them; with them for as many steps."""
    sample: list[_Judged] = []

    def keep(document: Document, text: str, drops: frozenset[str]) -> None:
        sample.append(_Judged(document.text, text, drops))

    tried = try_request(sources, request, on_document=keep, **reading)
    held_out = _measured_documents(sample)
    names = [rule.name for rule in tried.rules if rule.dropped >= LEAST * tried.documents][:RULES]
    rows: list[TrainedSample] = []
    costs: list[DocumentCosts] = []
    with tempfile.TemporaryDirectory(prefix="unmask-rules-") as place, task("Models", total=2 + len(names)) as step:
        folder = Path(place)
        texts = [each.before for each, out in zip(sample, held_out, strict=True) if not out]
        trained_tokenizer = train_tokenizer(iter(texts), "wordpiece", _vocabulary_size(texts), True)
        save_tokenizer(trained_tokenizer, folder / "tokenizer")
        measured = [each.after for each, out in zip(sample, held_out, strict=True) if out]
        _prepare_texts(measured, folder / "measured", folder / "tokenizer", valid=1 - HELD_OUT)
        for name in (NO_RULES, ALL_RULES, *names):
            step(0, note=name)
            budget = Budget(steps=rows[0].steps) if rows else Budget(minutes=seconds / 60)
            left = list(_texts_left(name, sample, held_out))
            data = _prepare_texts(left, folder / f"data{len(rows)}", folder / "tokenizer")
            trained = pretrain(
                data,
                folder / f"run{len(rows)}",
                recipe_named(recipe),
                budget,
                saving=Saving(report=False),
                computing=FASTEST,
            )
            cost, tokens_per_byte = _measure(trained.model, folder / "measured")
            costs.append(cost)
            rows.append(
                TrainedSample(
                    name=name,
                    documents=len(left),
                    bytes=sum(len(text.encode()) for text in left),
                    steps=trained.steps,
                    bits_per_byte=bits_per_byte(ratio_figure(cost.nats, cost.tokens), tokens_per_byte),
                    beyond_no_rule=bits_per_byte(cost.beyond(costs[0]), tokens_per_byte) if rows else None,
                )
            )
            step(1)
    return replace(tried, trained=tuple(rows), measured_on=int(held_out.sum()))


def _measure(model: Path, data: Path) -> tuple[DocumentCosts, float]:
    """A model on the held-out documents of a data directory, the same tokens hidden for each; and tokens a byte."""
    lm = load_model(model)
    text = encode_documents(lm, Dataset.open(data).texts("valid"), {})
    examples = HeldOutSet.of(text, lm.vocabulary, length=LENGTH, rate=RATE, seed=0)
    return DocumentCosts.of(restore_hidden(lm, examples, text, MEASURED, AT_ONCE)), len(text.ids) / text.bytes


def _vocabulary_size(texts: list[str]) -> int | None:
    """As large as a text of this size teaches; none is what the text allows."""
    return VOCABULARY if sum(map(len, texts)) > 200 * VOCABULARY else None


def _measured_documents(sample: Sequence[_Judged]) -> Flags:
    """Which documents are measured on: some that all rules keep, the same each time."""
    texts = pa.array([each.after for each in sample], pa.large_string())
    digests = np.frombuffer(b"".join(digest_texts(texts).to_pylist()), dtype=">u8").astype(np.uint64).reshape(-1, 2)
    kept = np.array([not each.drops and bool(each.after) for each in sample], dtype=np.bool_)
    flags: Flags = by_digest(digests, HELD_OUT) & kept
    if flags.sum() < FEWEST:
        raise BadInput(
            f"--train: of {len(sample):,} documents in the sample the rules keep {int(kept.sum()):,}, of which "
            f"{int(flags.sum())} would be measured on; {FEWEST} are the least: give more text, or fewer rules"
        )
    return flags


def _texts_left(name: str, sample: Sequence[_Judged], held_out: Flags) -> Iterator[str]:
    """What is trained on under a rule, under none, or under all; what all rules leave has been changed by them too."""
    for each, out in zip(sample, held_out, strict=True):
        if out or (each.drops if name == ALL_RULES else name in each.drops):
            continue
        yield each.after if name == ALL_RULES else each.before


def _prepare_texts(texts: Sequence[str], out: Path, tokenizer: Path, valid: float = 0.01) -> Path:
    """A data directory of some texts."""
    source = out.with_suffix(".jsonl")
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    prepare([str(source)], out, tokenizer=str(tokenizer), min_characters=1, valid=valid, engine=Engine(processes=1))
    return out
