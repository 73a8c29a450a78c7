"""How gradients travel, as far as one process can tell; real processes are in test_distributed.py."""

from __future__ import annotations

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


def test_every_parameter_is_in_one_bucket_in_order() -> None:
    given = parameters()
    for size in (1, 4, 7, 100):
        assert [p for bucket in in_buckets(given, size) for p in bucket] == given


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
