from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import unmask
from unmask.evaluation.consistency import ORDERS, measure_consistency, summarize_chains
from unmask.evaluation.intrinsic import encode_documents
from unmask.inference.ask import Question, ask
from unmask.models.load import load_model
from unmask.tokens.held_out import HeldOutSet
from unmask.tokens.store.dataset import Dataset

Make = Callable[..., Path]


@pytest.mark.parametrize(("family", "kind"), [("bert", "wordpiece"), ("modernbert", "bpe"), ("deberta-v2", "unigram")])
def test_a_model_that_contradicts_itself_has_a_spread_and_an_interval(
    make_model: Make, data: Path, family: str, kind: str
) -> None:
    evaluated = unmask.evaluate(make_model(family, kind), data, length=24, limit=400, consistency=True)
    result = evaluated.consistency
    assert result is not None and [*result.by_order] == [*ORDERS]
    assert 0 < result.spread.low < result.spread.value < result.spread.high
    assert result.widest.value > result.spread.value
    assert result.loss.value == pytest.approx(np.mean([each.value for each in result.by_order.values()]))


def test_a_model_that_looks_at_nothing_answers_alike_in_every_order(make_model: Make, data: Path) -> None:
    lm = load_model(make_model())
    with torch.no_grad():  # no state says anything: every answer is the bias of the head
        lm.model.get_output_embeddings().weight.zero_()
        lm.model.get_output_embeddings().bias.normal_()
    text = encode_documents(lm, Dataset.open(data).texts("valid"), {})
    result = measure_consistency(lm, HeldOutSet.of(text, lm.vocabulary, length=24), rows=12)
    assert result.spread.value == pytest.approx(0, abs=1e-5)
    assert result.loss.value == pytest.approx(result.at_once.value, abs=1e-5)


def test_a_chain_is_each_token_given_those_before_it_in_the_order(make_model: Make, data: Path) -> None:
    lm = load_model(make_model())
    text = encode_documents(lm, Dataset.open(data).texts("valid"), {})
    examples = HeldOutSet.of(text, lm.vocabulary, length=24)
    result = measure_consistency(lm, examples, rows=1)
    (held_out,) = examples.batches(limit=examples.tokens // len(examples.packing.pieces.lengths))
    batch = held_out.batch
    total = 0.0
    for row in range(len(batch.ids)):
        inside = batch.predicted // batch.ids.shape[1] == row
        columns = batch.predicted[inside] % batch.ids.shape[1]
        if len(columns) < 2:
            continue
        ids = batch.ids[row][batch.documents[row] > 0].astype(np.int32)
        ids[columns] = lm.vocabulary.mask
        for column, target in zip(columns, batch.targets[inside], strict=True):
            ((_, answer),) = ask(lm, [Question(ids.copy(), np.array([column]))])
            total -= float(answer[0, target])
            ids[column] = target
    assert result.by_order["left to right"].value * result.tokens == pytest.approx(total, rel=1e-4)


def test_figures_are_by_token_and_intervals_over_documents() -> None:
    sums = np.array([[-4.0, -4, -4, -4, -4, -6], [-2.0, -4, -2, -4, -3, -3]])
    result = summarize_chains(sums, np.array([2, 2]), np.array([0, 1]))
    assert result.spread.value == pytest.approx(1.0 / 4)
    assert result.widest.value == pytest.approx(2 / 4)
    assert result.loss.value == pytest.approx(7 / 4) and result.at_once.value == pytest.approx(9 / 4)
    assert result.by_order["right to left"].value == pytest.approx(2)
    assert np.isnan(summarize_chains(sums[:1], np.array([2]), np.array([0])).spread.low)
