"""Batches by the numbers of their blocks: the same alone and in company, also where an epoch ends among them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unmask.pretraining.batches import BlockRange, MaskedBatches
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.records import Batch
from unmask.tokens.store.dataset import Dataset

KINDS = ("bert", "bert-wwm", "spanbert", "deberta", "diffusion", "xlnet", "mpnet", "t5")


def batches_of(data: Path, kind: str) -> MaskedBatches:
    plan = recipe_named(f"{kind}-tiny", length=32, batch_size=8, micro_batch=4)
    return Pretraining.of(Dataset.open(data), plan).batches()


def rows(batch: Batch) -> list[dict[str, object]]:
    """Each row of a batch by itself, without its padding: what is seen, what is asked for, and what comes with it."""
    width, found = batch.ids.shape[1], []
    for row, number in enumerate(batch.numbers.tolist()):
        real = batch.documents[row] > 0
        inside = batch.predicted // width == row
        each: dict[str, object] = {
            "number": number,
            "ids": batch.ids[row, real].tolist(),
            "documents": batch.documents[row, real].tolist(),
            "predicted": (batch.predicted[inside] % width).tolist(),
            "targets": batch.targets[inside].tolist(),
        }
        if batch.edges is not None:
            each["edges"] = batch.edges[inside].tolist()
        if batch.order is not None:
            each["order"] = batch.order[row, real].tolist()
        if batch.weights is not None:
            each["weight"] = float(batch.weights[row])
        if batch.answer is not None:
            each["answer"] = batch.answer.ids[row, batch.answer.documents[row] > 0].tolist()
        found.append(each)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_over_the_end_of_an_epoch_has_the_rows_that_each_side_has_alone(kind: str, data: Path) -> None:
    batches = batches_of(data, kind)
    end = batches.per_epoch
    together = rows(batches.batch(BlockRange(end - 3, end + 2, True, 0.5)))
    apart = [batches.batch(BlockRange(begin, stop, True, 0.5)) for begin, stop in ((end - 3, end), (end, end + 2))]
    assert together == [row for batch in apart for row in rows(batch)]
    assert len(together) == 5 and all(row["ids"] for row in together)


@pytest.mark.parametrize("kind", ["bert", "deberta"])
def test_an_epoch_has_every_token_once_and_another_epoch_in_another_order(kind: str, data: Path) -> None:
    batches = batches_of(data, kind)
    stream, count = batches.stream, batches.per_epoch
    special = set(batches.vocabulary.special)
    texts = []
    for epoch in (0, 1):
        batch = batches.batch(BlockRange(epoch * count, (epoch + 1) * count, False, 0.0))
        texts.append([token for token in batch.ids[batch.documents > 0].tolist() if token not in special])
    expected = [token for token in stream.read(0, int(stream.ends[-1]))[0].tolist() if token not in special]
    assert sorted(texts[0]) == sorted(texts[1]) == sorted(expected)
    assert texts[0] != texts[1]


def test_nothing_is_hidden_where_nothing_is_to_be(data: Path) -> None:
    batch = batches_of(data, "bert").batch(BlockRange(0, 8, False, 0.0))
    assert not len(batch.predicted) and not np.isin(batch.ids, Dataset.open(data).vocabulary.mask).any()
