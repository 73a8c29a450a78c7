"""How gradients travel, as far as one process can tell; real processes are in test_distributed.py."""

from __future__ import annotations

import pytest
import torch
from torch.nn import Parameter

from unmask.training.gradients import flatten_gradients, gradients_of, in_buckets, unflatten_gradients
from unmask.training.machine.distributed import World


def parameters() -> list[Parameter]:
    return [Parameter(torch.randn(shape, generator=torch.manual_seed(0))) for shape in ((2, 3), (4,), (1, 1), (5, 2))]


def test_gradients_come_back_from_one_row_as_they_went_in_and_none_stays_none() -> None:
    given = parameters()
    for parameter in given[:3]:
        parameter.grad = torch.randn_like(parameter)
    kept = [None if parameter.grad is None else parameter.grad.clone() for parameter in given]
    row = flatten_gradients(given)
    for parameter in given:
        parameter.grad = None
    unflatten_gradients(row * 2, given)
    for parameter, gradient in zip(given, kept, strict=True):
        if gradient is None:
            assert parameter.grad is None
        else:
            assert torch.equal(parameter.grad, gradient * 2)


@pytest.mark.parametrize(("size", "counts"), [(1, [1, 1, 1, 1]), (6, [1, 3]), (7, [2, 2]), (10, [2, 2]), (100, [4])])
def test_every_parameter_is_in_one_bucket_in_order_and_a_bucket_is_closed_when_it_is_full(
    size: int, counts: list[int]
) -> None:
    given = parameters()  # of 6, 4, 1 and 10 numbers
    buckets = in_buckets(given, size)
    assert [p for bucket in buckets for p in bucket] == given and [len(bucket) for bucket in buckets] == counts


def test_adding_micro_batches_one_by_one_is_what_backward_adds_up() -> None:
    alone, ordered = (parameters() for _ in range(2))
    one, other = gradients_of(alone, World()), gradients_of(ordered, World(reproducible=True))
    for nth in range(3):
        for given in (alone, ordered):
            sum((p * (nth + 1)).square().sum() for p in given[:3]).backward()  # type: ignore[union-attr]
        one.end_round()
        other.end_round()
    one.settle()
    other.settle()
    for left, right in zip(alone[:3], ordered[:3], strict=True):
        torch.testing.assert_close(left.grad, right.grad)
    assert alone[3].grad is None and ordered[3].grad is None
