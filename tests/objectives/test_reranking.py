"""The loss of a cross-encoder, against the formula written out; and the best window of a long document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, PreTrainedModel

from unmask.objectives.reranking import Reranking, best_logits
from unmask.task_batches import CandidateBatch
from unmask.tasks.rows import RowReader
from unmask.tokens.tokenizer.load import load_tokenizer

QUERIES = ["king and garden", "king and garden", "river", "river", "river"]
DOCUMENTS = ["the king sees the garden.", "nobody likes clouds. " * 20, "a river.", "the cat.", "the dog."]
SIZES = [2, 3]


@pytest.fixture(scope="module")
def asked(make_model: Callable[..., Path]) -> tuple[PreTrainedModel, CandidateBatch]:
    directory = make_model()
    model = AutoModelForSequenceClassification.from_pretrained(directory, num_labels=1).eval()
    rows = RowReader(load_tokenizer(directory), 32).read(QUERIES, DOCUMENTS)
    assert rows.windows.tolist()[0] == 1 and rows.windows[1] > 3
    found, owners = rows.rows_of(np.arange(5))
    ids, real, types = rows.padded(found)
    targets, queries = np.array([[1.0], [0], [1], [0], [0]]), np.repeat([0, 1], SIZES)
    return model, CandidateBatch(ids=ids, real=real, types=types, owners=owners, targets=targets, queries=queries)


def test_the_loss_is_the_cross_entropy_of_each_answer_among_its_candidates(
    asked: tuple[PreTrainedModel, CandidateBatch],
) -> None:
    model, batch = asked
    with torch.no_grad():
        scores = best_logits(model, batch)[:, 0]
        outcome = Reranking().outcome(model, batch)
    expected = -sum(part.log_softmax(0)[0].item() for part in scores.split(SIZES))
    assert outcome.losses["queries"].item() == pytest.approx(expected, rel=1e-6)
    assert Reranking().counts(batch) == {"queries": 2}
    assert int(outcome.tallies["right"]) == sum(int(part.argmax()) == 0 for part in scores.split(SIZES))


def test_of_a_long_document_the_best_window_counts(asked: tuple[PreTrainedModel, CandidateBatch]) -> None:
    model, batch = asked
    with torch.no_grad():
        scores = best_logits(model, batch)[:, 0]
        inputs = {"input_ids": batch.ids, "attention_mask": batch.real, "token_type_ids": batch.types}
        rows = model(**{name: torch.from_numpy(each) for name, each in inputs.items() if each is not None}).logits[:, 0]
    for pair in range(5):
        assert scores[pair] == rows[batch.owners == pair].max()


def test_parts_of_a_batch_have_whole_queries_and_the_same_sum(asked: tuple[PreTrainedModel, CandidateBatch]) -> None:
    model, batch = asked
    parts = list(batch.cut(2))
    assert [part.predictions for part in parts] == [1, 1] and [len(part.targets) for part in parts] == SIZES
    with torch.no_grad():
        losses = [Reranking().outcome(model, part).losses["queries"].item() for part in parts]
        whole = Reranking().outcome(model, batch).losses["queries"].item()
    assert sum(losses) == pytest.approx(whole, rel=1e-5)
