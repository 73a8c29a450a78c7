"""The loss of answers, against a computation written out: one softmax over all windows of a question."""

from __future__ import annotations

from math import exp, log
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig

from unmask.objectives.answering import Answering
from unmask.task_batches import QuestionBatch


class Fixed(torch.nn.Module):
    """Says of each token what its id is the number of."""

    config = BertConfig()

    def __init__(self) -> None:
        super().__init__()
        self.starts = torch.nn.Parameter(torch.tensor([0.0, 1.0, 2.0, -1.0]))
        self.ends = torch.nn.Parameter(torch.tensor([0.5, 0.0, 3.0, 1.0]))

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        return SimpleNamespace(start_logits=self.starts[input_ids], end_logits=self.ends[input_ids])


def batch(*, nullable: bool = True) -> QuestionBatch:
    """A question in two windows, whose answer both have, and one without an answer."""
    ids = np.array([[0, 1, 2], [1, 2, 3], [0, 3, 1]])
    starts, ends = np.zeros((2, 3, 3), np.bool_)
    starts[[0, 1], [2, 1]] = True  # the token 2 in both windows
    ends[1, 2] = True
    allowed = np.ones((3, 3), np.bool_)
    allowed[:, 0] = False
    return QuestionBatch(
        ids=ids,
        real=np.ones_like(ids),
        types=None,
        owners=np.array([0, 0, 1]),
        allowed=allowed,
        starts=starts,
        ends=ends,
        nullable=nullable,
    )


def test_one_softmax_goes_over_all_windows_and_no_answer_stands_in_it_once() -> None:
    first = 2 * exp(2) / (exp(1) + exp(2) + exp(2) + exp(-1) + exp(0))  # none by the first window: 0 is below 1
    last = exp(1) / (exp(0) + exp(3) + exp(3) + exp(1) + exp(0))  # and by the second: 0 is below 0.5
    none = exp(0) / (exp(-1) + exp(1) + exp(0)), exp(0.5) / (exp(1) + exp(0) + exp(0.5))
    expected = -(log(first) + log(last) + log(none[0]) + log(none[1])) / 2
    outcome = Answering().outcome(Fixed(), batch())  # type: ignore[arg-type]
    assert outcome.losses["answers"].item() == pytest.approx(expected)
    assert outcome.tallies["right"].item() == 0 and Answering().counts(batch()) == {"answers": 2}


def test_where_all_questions_have_an_answer_none_is_no_candidate() -> None:
    (only, _) = batch(nullable=False).cut(2)
    first = 2 * exp(2) / (exp(1) + exp(2) + exp(2) + exp(-1))
    last = exp(1) / (exp(0) + exp(3) + exp(3) + exp(1))
    outcome = Answering().outcome(Fixed(), only)  # type: ignore[arg-type]
    assert outcome.losses["answers"].item() == pytest.approx(-(log(first) + log(last)) / 2)


def test_what_stands_highest_is_counted_as_right() -> None:
    learner = Fixed()
    with torch.no_grad():
        learner.starts.copy_(torch.tensor([4.0, 1.0, 5.0, 0.0]))
        learner.ends.copy_(torch.tensor([4.0, 1.0, 0.0, 5.0]))
    (one, other) = batch().cut(2)
    rights = [Answering().outcome(learner, part).tallies["right"].item() for part in (one, other)]  # type: ignore
    assert rights == [1, 0]  # the second has 5 for an end at 3, above 4 for none


def test_the_parts_of_a_batch_are_whole_questions_and_add_up() -> None:
    parts = list(batch().cut(5))
    assert [len(part.ids) for part in parts] == [2, 1]
    losses = [Answering().outcome(Fixed(), part).losses["answers"].item() for part in parts]  # type: ignore[arg-type]
    assert sum(losses) == pytest.approx(Answering().outcome(Fixed(), batch()).losses["answers"].item())  # type: ignore


def test_gradients_are_finite_where_a_window_has_no_part_of_the_answer() -> None:
    made, learner = batch(), Fixed()
    made.starts[1] = False
    Answering().outcome(learner, made).losses["answers"].backward()  # type: ignore[arg-type]
    assert torch.isfinite(learner.starts.grad).all() and learner.starts.grad.abs().sum() > 0  # type: ignore[union-attr]
