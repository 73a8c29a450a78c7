"""XLNet's two streams: who sees whom, found out by changing each token in turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from packed_cases import packed_blocks
from transformers import PreTrainedModel

from unmask.corruption.policy import corrupt, policy_named
from unmask.models.families.family import build_model
from unmask.objectives.permuted import COLUMNS, PermutationLM, slots_of, two_streams
from unmask.records import Batch, Vocabulary
from unmask.tokens.collate import collate

VOCABULARY = Vocabulary(size=97, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
OBJECTIVE = PermutationLM()
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    made = build_model("xlnet", "tiny", VOCABULARY, length=40, dropout=0.0, seed=0).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)  # so that what is seen shows
    return made


def packed(*rows: tuple[int, ...], width: int = 0) -> Batch:
    """Rows packed with documents of these lengths, a third of them predicted."""
    blocks = packed_blocks(*rows, width=width)
    return collate(blocks, corrupt(blocks, policy_named("permutation", 0.4), VOCABULARY, seed=1))


@torch.no_grad()
def states(model: PreTrainedModel, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """P×D states of the queries, and B×L×D of the content, after the last layer."""
    slots, places = slots_of(batch)
    output = model.base_model(**two_streams(batch, places, CPU), output_hidden_states=True)
    content, queries = output.hidden_states[-2:]
    return queries.flatten(0, 1)[slots], content[:, : batch.ids.shape[1]]


def changed(batch: Batch, row: int, column: int) -> Batch:
    ids = batch.ids.copy()
    ids[row, column] = (ids[row, column] + 41) % 92 + 5
    return replace(batch, ids=ids)


def test_a_query_sees_exactly_what_is_not_predicted_and_its_predecessors_in_the_order(model: PreTrainedModel) -> None:
    batch = packed((14,))
    assert batch.order is not None
    order = batch.order[0]
    before, _ = states(model, batch)
    assert len(batch.predicted) >= 4
    for column in range(14):
        after, _ = states(model, changed(batch, 0, column))
        moved = (after - before).abs().amax(-1) > 1e-6
        for query, position in enumerate(batch.predicted):
            seen = order[column] == 0 or order[column] < order[position]
            assert moved[query] == seen, (column, position)
            assert column != position or not moved[query]  # never its own token
            assert seen or torch.equal(after[query], before[query])


def test_content_sees_itself_besides(model: PreTrainedModel) -> None:
    batch = packed((14,))
    assert batch.order is not None
    order = batch.order[0]
    _, before = states(model, batch)
    for column in range(14):
        _, after = states(model, changed(batch, 0, column))
        moved = (after - before).abs().amax(-1)[0] > 1e-6
        seen = (order[column] == 0) | (order[column] < order)
        seen[column] = True
        assert moved.tolist() == seen.tolist()


def test_a_packed_document_has_the_predictions_it_has_alone(model: PreTrainedModel) -> None:
    batch = packed((14, 9), (20,))
    assert batch.order is not None and batch.order[0, 14:].max() > 0
    queries, _ = states(model, batch)
    alone = Batch(
        ids=batch.ids[:1, 14:23],
        positions=batch.positions[:1, 14:23],
        documents=np.ones((1, 9), dtype=np.int64),
        predicted=np.flatnonzero(batch.order[0, 14:23]),
        targets=batch.ids[0, 14:23][batch.order[0, 14:23] > 0],
        numbers=np.zeros(1, dtype=np.int64),
        order=batch.order[:1, 14:23],
    )
    own, _ = states(model, alone)
    inside = (batch.predicted >= 14) & (batch.predicted < 23)
    assert inside.any()
    torch.testing.assert_close(queries[torch.from_numpy(inside)], own, rtol=0, atol=1e-4)


def test_the_loss_is_transformers_own_where_rows_hold_one_document(model: PreTrainedModel) -> None:
    batch = packed((16,), (12,))
    assert batch.order is not None
    places = slots_of(batch)[1]
    order = torch.from_numpy(batch.order)
    unseen = torch.zeros(2, 16, 16)
    mapping = torch.zeros(2, places.shape[1], 16)
    labels = torch.full(places.shape, -100)
    targets = iter(batch.targets.tolist())
    for row in range(2):
        for i in range(16):
            for j in range(16):
                unseen[row, i, j] = float(order[row, j] > 0 and order[row, j] >= order[row, i])
        for slot, column in enumerate(batch.order[row].nonzero()[0]):
            mapping[row, slot, column] = 1
            labels[row, slot] = next(targets)
    reference = model(
        input_ids=torch.from_numpy(batch.ids),
        attention_mask=torch.from_numpy(batch.documents),
        perm_mask=unseen,
        target_mapping=mapping,
        labels=labels,
    )
    outcome = OBJECTIVE.outcome(model, batch)
    torch.testing.assert_close(outcome.losses["permuted"] / len(batch.targets), reference.loss)
    best = reference.logits.argmax(-1)
    assert outcome.tallies["correct"] == (best == labels).sum()


def test_shapes_are_few() -> None:
    for rows in (((14,),), ((17, 9), (20,)), ((30,), (5,), (6,))):
        batch = packed(*rows)
        slots, places = slots_of(batch)
        inputs = two_streams(batch, places, CPU)
        assert places.shape[1] % COLUMNS == 0 and inputs["input_ids"].shape[1] % COLUMNS == 0
        assert places.ravel()[slots].tolist() == (batch.predicted % batch.ids.shape[1]).tolist()


def test_nothing_predicted_is_a_loss_of_zero(model: PreTrainedModel) -> None:
    none = np.zeros(0, dtype=np.int64)
    batch = packed((14,))
    nothing = replace(batch, predicted=none, targets=none, order=batch.ids * 0)
    assert OBJECTIVE.outcome(model, nothing).losses["permuted"].item() == 0.0


def test_a_batch_without_an_order_is_refused(model: PreTrainedModel) -> None:
    with pytest.raises(ValueError, match="names no order"):
        OBJECTIVE.outcome(model, replace(packed((14,)), order=None))


def test_chunks_of_the_vocabulary_give_the_loss_of_the_whole(
    model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = packed(*[(30,)] * 9)
    assert len(batch.targets) > 64
    whole = OBJECTIVE.outcome(model, batch)
    monkeypatch.setattr("unmask.objectives.vocabulary.MAX_LOGITS", 1)
    some = OBJECTIVE.outcome(model, batch)
    torch.testing.assert_close(some.losses["permuted"], whole.losses["permuted"])
    assert some.tallies == whole.tallies
