"""Vocabularies of several sizes trained with equal work, and measured in bits per byte: what decides between them.

In: a data directory and tokenizers. Out: for each the bits that a byte of held-out text costs a small model, with their
interval. The first is trained for the time that is asked for; the others get as many operations as it took, because
a larger vocabulary makes steps dearer. All have the same documents, on the same sides.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.evaluation.intrinsic import evaluate
from unmask.planning.cost import cost_of
from unmask.planning.vocabulary import sweep_vocabularies
from unmask.pretraining.pretrain import Pretraining, pretrain
from unmask.pretraining.recipes import recipe_named
from unmask.results import TokenizerSweep, VocabularySize
from unmask.tokens.prepare import prepare
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.load import save_tokenizer
from unmask.training.budget import Budget
from unmask.training.machine.computing import FASTEST

UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
MEASURED = 200_000  # held-out tokens that each model is measured on, at most


def parse_seconds(text: str) -> float:
    """A time in words as seconds.

    >>> parse_seconds("60s"), parse_seconds("1.5m"), parse_seconds("90")
    (60.0, 90.0, 90.0)
    """
    number = text.rstrip("smhin")
    try:
        seconds = float(number) * UNITS[text[len(number) :] or "s"]
    except (ValueError, KeyError):
        raise BadInput(f"--train {text}: give a time, such as 60s or 5m") from None
    if not seconds > 0:
        raise BadInput(f"--train {text}: give a time above 0")
    return seconds


def race_sizes(dataset: Dataset, sizes: Sequence[int], seconds: float, **settings: Any) -> TokenizerSweep:
    """A sweep of sizes, and what a model learns with each; the settings are those of `sweep_vocabularies`."""
    tokenizers: list[PreTrainedTokenizerFast] = []
    sweep = sweep_vocabularies(dataset, sizes, on_tokenizer=tokenizers.append, **settings)
    recipe = recipe_named(sweep.recipe)
    rows: list[VocabularySize] = []
    work: float | None = None
    with tempfile.TemporaryDirectory(prefix="unmask-vocabularies-") as place:
        for row, tokenizer in zip(sweep.sizes, tokenizers, strict=True):
            folder = Path(place) / f"{len(rows)}"
            data = _encoded(dataset, tokenizer, folder)
            a_step = cost_of(Pretraining.of(Dataset.open(data), recipe)).a_step
            budget = Budget(minutes=seconds / 60) if work is None else Budget(steps=max(1, round(work / a_step)))
            trained = pretrain(data, folder / "run", recipe, budget, computing=FASTEST)
            work = work or trained.steps * a_step
            measured = evaluate(trained.model, data, limit=MEASURED)
            rows.append(replace(row, bits_per_byte=measured.bits_per_byte, steps=trained.steps))
    return replace(sweep, sizes=tuple(rows))


def _encoded(dataset: Dataset, tokenizer: PreTrainedTokenizerFast, folder: Path) -> Path:
    """The same documents by another tokenizer: a text is on the same side, whoever splits it."""
    save_tokenizer(tokenizer, folder / "tokenizer")
    settings = dataset.manifest["settings"]
    documents = [str(path) for path in sorted((dataset.path / "documents").glob("*/*.parquet"))]
    fields = {name: settings[name] for name in ("valid", "min_characters")}
    prepare(documents, folder / "data", tokenizer=str(folder / "tokenizer"), **fields)
    return folder / "data"
