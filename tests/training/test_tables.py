"""Gradients of tables are those of torch, bit for bit, and stay in the memory that they were in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import Embedding, Linear, Module
from torch.nn.utils import clip_grad_norm_

from unmask.training.gradients import flatten_gradients
from unmask.training.machine.sharding import clip_gradients
from unmask.training.tables import Tables

ROWS, WIDTH, PADDING = 4_200, 256, 0
STEPS = 3


class Looker(Module):
    """Looks vectors up, and, where it is tied, compares with them."""

    def __init__(self, *, tied: bool = False, rows: int = ROWS) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = Embedding(rows, WIDTH, padding_idx=PADDING)
        self.head = Linear(WIDTH, rows if tied else 3, bias=False)
        if tied:
            self.head.weight = self.table.weight

    def forward(self, ids: Tensor) -> Tensor:
        compared: Tensor = self.head(self.table(ids).tanh())
        return compared


def batches() -> Iterator[list[Tensor]]:
    """The micro-batches of each step: rows that are read twice, padding, and other rows than before."""
    drawn = torch.Generator().manual_seed(1)
    for _ in range(STEPS):
        yield [torch.randint(0, ROWS // 8, (4, 30), generator=drawn).clamp(min=PADDING + 20) - 20 for _ in range(2)]


def gradients(model: Looker, tables: Tables | None) -> list[Tensor]:
    """Of the table, after each step."""
    found = []
    for micro_batches in batches():
        for ids in micro_batches:
            model(ids).square().sum().backward()
        if tables is not None:
            tables.gather()
            tables.settle()
        assert model.table.weight.grad is not None
        found.append(model.table.weight.grad.clone())
        model.zero_grad(set_to_none=True)
    return found


def test_gradients_are_those_of_torch() -> None:
    model = Looker()
    tables = Tables(model)
    for whole, expected in zip(gradients(model, tables), gradients(Looker(), None), strict=True):
        torch.testing.assert_close(whole, expected, rtol=0, atol=1e-6 * float(expected.abs().max()))
        assert torch.equal(whole != 0, expected != 0) and not whole[PADDING].any()


def test_of_one_micro_batch_they_are_so_bit_for_bit() -> None:
    model, reference = Looker(), Looker()
    tables = Tables(model)
    for ids, _ in batches():
        for each in (model, reference):
            each.zero_grad(set_to_none=True)
            each(ids).square().sum().backward()
        tables.gather()
        tables.settle()
        assert torch.equal(*(each.table.weight.grad for each in (model, reference)))  # type: ignore[arg-type]


def test_it_is_clipped_as_torch_clips_the_whole() -> None:
    model, reference = Looker(), Looker()
    tables = Tables(model)
    for each in (model, reference):
        each(torch.tensor([[3, 4, 3, 9]])).square().sum().backward()
    tables.gather()
    norm = clip_gradients(model.parameters(), 0.01)
    tables.settle()
    assert norm == pytest.approx(float(clip_grad_norm_(reference.parameters(), 0.01)), rel=1e-6) and norm > 0.01
    for one, other in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=0)


def test_the_memory_is_kept_from_step_to_step() -> None:
    model, places = Looker(), set()
    tables = Tables(model)
    for ids, _ in batches():
        model(ids).sum().backward()
        tables.gather()
        tables.settle()
        assert model.table.weight.grad is not None
        places.add(model.table.weight.grad.data_ptr())
        model.zero_grad(set_to_none=True)
    assert len(places) == 1


@pytest.mark.parametrize("options", [{"tied": True}, {"rows": 600}])
def test_what_is_a_decoder_too_or_small_stays_as_it_is(options: dict[str, Any]) -> None:
    model = Looker(**options)
    Tables(model)
    model(torch.tensor([[3, 4]])).sum().backward()
    assert model.table.weight.grad is not None and not model.table.weight.grad.is_sparse


def test_a_table_that_was_not_read_has_no_gradient() -> None:
    model = Looker()
    tables = Tables(model)
    tables.gather()
    tables.settle()
    assert model.table.weight.grad is None


def test_what_goes_to_other_processes_is_whole() -> None:
    flat = []
    for ours in (False, True):
        model = Looker()
        if ours:
            Tables(model)
        model(torch.tensor([[3, 4, 3]])).square().sum().backward()
        flat.append(flatten_gradients(list(model.parameters())))
    assert torch.equal(*flat)
