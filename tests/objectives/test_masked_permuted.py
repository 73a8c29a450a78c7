"""MPNet's two streams: who sees whom, found out by changing each token in turn, and the stock model inside them."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from packed_cases import packed_blocks
from transformers import PreTrainedModel

from unmask.corruption.policy import corrupt, policy_named
from unmask.models.families.family import build_model
from unmask.models.inputs import as_inputs
from unmask.models.mpnet_streams import standing_at
from unmask.models.sparse import logits_at, states_at
from unmask.objectives.masked_permuted import MaskedPermutationLM, predict_in_order, three_parts, who_sees_whom
from unmask.objectives.mlm import MLM
from unmask.records import Batch, Vocabulary
from unmask.tokens.collate import collate

VOCABULARY = Vocabulary(size=97, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
OBJECTIVE = MaskedPermutationLM()
TERM = "masked_permuted"


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    made = build_model("mpnet", "tiny", VOCABULARY, length=40, dropout=0.0, seed=0).eval().double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(1.5)  # so that what is seen shows
    return made


@pytest.fixture(scope="module")
def shallow(model: PreTrainedModel) -> PreTrainedModel:
    """One layer of it: what is seen there is seen directly."""
    made = deepcopy(model)
    del made.mpnet.encoder.layer[1:]
    return made


def rows_of(*lengths: int, rate: float = 0.4, **settings: float) -> Batch:
    """A row for each length, so much of it hidden."""
    return packed(*((length,) for length in lengths), rate=rate, **settings)


def packed(*rows: tuple[int, ...], rate: float = 0.4, **settings: float) -> Batch:
    """Rows packed with documents of these lengths."""
    blocks = packed_blocks(*rows)
    return collate(blocks, corrupt(blocks, policy_named("masked-permutation", rate, **settings), VOCABULARY, seed=1))


@torch.no_grad()
def states(model: PreTrainedModel, batch: Batch) -> torch.Tensor:
    """P×D: what each prediction is made from."""
    slots, inputs, places = three_parts(model, batch)
    with standing_at(model, places):
        return states_at(model, torch.from_numpy(slots), **inputs)


@torch.no_grad()
def logits(model: PreTrainedModel, batch: Batch) -> torch.Tensor:
    slots, inputs, places = three_parts(model, batch)
    with standing_at(model, places):
        return logits_at(model, torch.from_numpy(slots), **inputs)


def with_token(batch: Batch, column: int) -> Batch:
    """Another token in a column of the only row: in the text, or as what is to be predicted."""
    other = lambda token: (token + 41) % 92 + 5  # noqa: E731
    if column in batch.predicted:
        targets = batch.targets.copy()
        targets[batch.predicted == column] = other(targets[batch.predicted == column])
        return replace(batch, targets=targets)
    ids = batch.ids.copy()
    ids[0, column] = other(ids[0, column])
    return replace(batch, ids=ids)


def with_shown(batch: Batch, column: int) -> Batch:
    """Something else is shown at the place of a hidden token, which stays what it is."""
    ids = batch.ids.copy()
    ids[0, column] = (ids[0, column] + 41) % 92 + 5
    return replace(batch, ids=ids)


def test_a_prediction_changes_with_those_before_it_and_with_no_other_hidden_token(model: PreTrainedModel) -> None:
    batch = rows_of(16)
    assert batch.order is not None and len(batch.predicted) >= 5
    order, before = batch.order[0], states(model, batch)
    for column in range(16):
        after = states(model, with_token(batch, column))
        for query, position in enumerate(batch.predicted):
            seen = order[column] < order[position]  # 0 for what is not hidden
            moved = (after[query] - before[query]).abs().max() > 1e-9
            assert moved == seen, (column, position)
            assert seen or torch.equal(after[query], before[query])  # not a bit of it leaks


def test_a_prediction_sees_the_masks_of_itself_and_of_those_to_come_and_of_no_other(shallow: PreTrainedModel) -> None:
    """In a layer: in the next it sees what text that is not hidden, and sees all masks, made of the others."""
    batch = rows_of(16, mask=1.0, random=0.0)
    assert batch.order is not None
    order, before = batch.order[0], states(shallow, batch)
    for column in batch.predicted:
        after = states(shallow, with_shown(batch, column))
        for query, position in enumerate(batch.predicted):
            moved = (after[query] - before[query]).abs().max() > 1e-9
            assert moved == (order[column] >= order[position]), (column, position)


def test_a_prediction_sees_the_places_of_those_to_come(model: PreTrainedModel) -> None:
    """Of a row whose last tokens are all hidden, the one that is first asked knows how many more there are."""
    made = []
    for length in (12, 14):
        ids = np.r_[2, np.arange(10, 18), np.full(length - 9, 4)][None]
        hidden = np.arange(9, length)
        order = np.zeros((1, length), dtype=np.int64)
        order[0, hidden] = np.arange(1, len(hidden) + 1)
        ones = np.ones((1, length), dtype=np.int64)
        positions = np.arange(length)[None]
        made.append(Batch(ids, positions, ones, hidden, hidden + 20, np.zeros(1, dtype=np.int64), order=order))
    shorter, longer = (states(model, batch)[0] for batch in made)
    assert (shorter - longer).abs().max() > 1e-3


@pytest.mark.parametrize("shown", [{}, {"mask": 1.0, "random": 0.0}])
def test_what_is_alone_or_first_in_its_order_is_predicted_as_the_stock_model_restores_it(
    model: PreTrainedModel, shown: dict[str, float]
) -> None:
    batch = rows_of(20, 13, 17, **shown)
    assert batch.order is not None
    with torch.no_grad():
        stock = model(**as_inputs(model, batch)).logits.flatten(0, 1)[batch.predicted]
    first = batch.order.reshape(-1)[batch.predicted] == 1
    assert first.sum() == 3 and not first.all()
    ours = logits(model, batch)
    torch.testing.assert_close(ours[first], stock[first], rtol=0, atol=1e-10)
    assert (ours[~first] - stock[~first]).abs().max() > 1e-2

    for one in range(len(batch.targets)):
        ids = batch.ids.copy().reshape(-1)
        others = np.delete(np.arange(len(batch.targets)), one)
        ids[batch.predicted[others]] = batch.targets[others]
        order = np.zeros_like(batch.order).reshape(-1)
        order[batch.predicted[one]] = 1
        single = replace(
            batch,
            ids=ids.reshape(batch.ids.shape),
            order=order.reshape(batch.ids.shape),
            predicted=batch.predicted[[one]],
            targets=batch.targets[[one]],
        )
        with torch.no_grad():
            said = model(**as_inputs(model, single)).logits.flatten(0, 1)[single.predicted]
        torch.testing.assert_close(logits(model, single), said, rtol=0, atol=1e-10)


def test_an_order_has_the_predictions_of_as_many_plain_passes(shallow: PreTrainedModel) -> None:
    """Tokens filled in one after the other, the stock model asked again for each: the same in one layer.

    With more of them the vectors of what is known differ: along an order a token's are made before those after it are
    known, once for all, and in passes of their own they are made anew.
    """
    batch = rows_of(18, mask=1.0, random=0.0)
    assert batch.order is not None
    ranks = batch.order[0, batch.predicted]
    ours = logits(shallow, batch)
    ids = batch.ids.copy()
    for nth in np.argsort(ranks):
        with torch.no_grad():
            said = shallow(torch.from_numpy(ids)).logits[0, batch.predicted[nth]]
        torch.testing.assert_close(ours[nth], said, rtol=0, atol=1e-10)
        ids[0, batch.predicted[nth]] = batch.targets[nth]


def test_who_sees_whom_is_as_the_paper_draws_it() -> None:
    """Seven tokens of which the last three are predicted in order, as in its Figure 1; text, masks, then queries."""
    rank = torch.tensor([[1, 2, 3]])
    order = torch.cat((torch.zeros(1, 4, dtype=torch.long), rank), dim=1)
    seen = who_sees_whom(order, torch.ones_like(order), rank, torch.ones_like(rank))[0].int()
    predicted = [
        [1, 1, 1, 1, 1, 0, 0, 0, 1, 1],  # content of the fifth: itself, and masks of the sixth and the seventh
        [1, 1, 1, 1, 1, 1, 0, 0, 0, 1],
        [1, 1, 1, 1, 1, 1, 1, 0, 0, 0],
    ]
    masked = [1, 1, 1, 1, 0, 0, 0, 1, 1, 1]
    asked = [masked, [1, 1, 1, 1, 1, 0, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1, 0, 0, 0, 1]]
    assert seen[:, :10].tolist() == [masked] * 4 + predicted + [masked] * 3 + asked
    assert not seen[:, 10:].any()  # nobody sees a query


def test_who_sees_whom_is_as_it_is_drawn() -> None:
    order, rank = torch.tensor([[0, 2, 1]]), torch.tensor([[2, 1]])
    seen = who_sees_whom(order, torch.ones_like(order), rank, torch.ones_like(rank))[0].int().tolist()
    lines = [line for line in (who_sees_whom.__doc__ or "").splitlines() if "#" in line]
    assert [[int(mark == "#") for mark in line if mark in "#."] for line in lines] == seen and len(seen) == 7


def test_what_fills_a_row_up_changes_nothing(model: PreTrainedModel) -> None:
    alone, beside = rows_of(12), rows_of(12, 37)
    assert beside.ids.shape[1] == 37
    count = len(alone.targets)
    assert (beside.targets[:count] == alone.targets).all()
    torch.testing.assert_close(states(model, beside)[:count], states(model, alone), rtol=0, atol=1e-10)


def test_an_unknown_token_stands_where_the_stock_model_puts_it(model: PreTrainedModel) -> None:
    """transformers takes the id 1 for padding in every vocabulary, and gives it no position."""
    batch = rows_of(20, mask=1.0, random=0.0)
    assert batch.order is not None
    ids = batch.ids.copy()
    ids[0, np.flatnonzero(batch.order[0] == 0)[3]] = 1
    batch = replace(batch, ids=ids)
    with torch.no_grad():
        stock = model(torch.from_numpy(ids)).logits[0, batch.predicted]
    first = batch.order[0, batch.predicted] == 1
    torch.testing.assert_close(logits(model, batch)[first], stock[first], rtol=0, atol=1e-10)


def test_the_loss_is_the_cross_entropy_and_every_weight_learns(model: PreTrainedModel) -> None:
    batch = rows_of(20, 13, 17)
    expected = torch.nn.functional.cross_entropy(logits(model, batch), torch.from_numpy(batch.targets), reduction="sum")
    model.zero_grad()
    outcome = OBJECTIVE.outcome(model, batch)
    torch.testing.assert_close(outcome.losses[TERM], expected)
    assert outcome.tallies["correct"] == (logits(model, batch).argmax(-1).numpy() == batch.targets).sum()
    assert OBJECTIVE.counts(batch) == {TERM: len(batch.targets)}
    outcome.losses[TERM].backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None and weight.grad.isfinite().all() and weight.grad.abs().max() > 0, name
    model.zero_grad()


def test_training_along_an_order_lowers_the_loss_along_it_and_of_plain_masks() -> None:
    learner = build_model("mpnet", "tiny", VOCABULARY, length=40, dropout=0.0, seed=0)
    batch, optimizer = rows_of(20, 13, 17), torch.optim.Adam(learner.parameters(), lr=1e-3)
    both = ((OBJECTIVE, TERM), (MLM(), "mlm"))
    before = [objective.outcome(learner, batch).losses[term].item() for objective, term in both]
    for _ in range(10):
        optimizer.zero_grad()
        OBJECTIVE.outcome(learner, batch).losses[TERM].backward()
        optimizer.step()
    after = [objective.outcome(learner, batch).losses[term].item() for objective, term in both]
    assert all(later < 0.9 * sooner for sooner, later in zip(before, after, strict=True))


def test_logits_exist_at_predicted_positions_only(model: PreTrainedModel) -> None:
    batch = rows_of(38, 38, rate=0.15)
    asked: list[int] = []
    hook = model.lm_head.dense.register_forward_hook(lambda _module, given, _out: asked.append(given[0].shape[-2]))
    predict_in_order(model, batch)
    hook.remove()
    assert asked == [64] and len(batch.targets) < 64 < batch.ids.size  # rounded up, so that shapes are few


def test_nothing_predicted_is_a_loss_of_zero(model: PreTrainedModel) -> None:
    none = np.zeros(0, dtype=np.int64)
    batch = rows_of(14)
    nothing = replace(batch, predicted=none, targets=none, order=batch.ids * 0)
    assert OBJECTIVE.outcome(model, nothing).losses[TERM].item() == 0.0


def test_a_packed_document_has_the_predictions_it_has_alone(model: PreTrainedModel) -> None:
    batch = packed((14, 9), (20,))
    assert batch.order is not None
    inside = (batch.predicted >= 14) & (batch.predicted < 23)
    assert inside.sum() > 1
    alone = Batch(
        ids=batch.ids[:1, 14:23],
        positions=batch.positions[:1, 14:23],
        documents=np.ones((1, 9), dtype=np.int64),
        predicted=batch.predicted[inside] - 14,
        targets=batch.targets[inside],
        numbers=np.zeros(1, dtype=np.int64),
        order=batch.order[:1, 14:23],
    )
    torch.testing.assert_close(states(model, batch)[inside], states(model, alone), rtol=0, atol=1e-10)


def test_a_batch_without_an_order_is_refused(model: PreTrainedModel) -> None:
    with pytest.raises(ValueError, match="names no order"):
        OBJECTIVE.outcome(model, replace(rows_of(14), order=None))


def test_shapes_are_few(model: PreTrainedModel) -> None:
    shapes = {three_parts(model, rows_of(*lengths))[1]["input_ids"].shape[1] for lengths in ((14,), (16, 9), (12, 15))}
    assert shapes == {16 + 2 * 16}
