"""Kernels are counted as torch would launch them, one for each operation that computes something."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from unmask.models.families.family import build_model
from unmask.planning.cost import ImaginedDataset, cost_of
from unmask.planning.launches import CLIPPING, LaunchCounter, optimizer_launches
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.training.optimizer import Optimizer, Optimizing


def test_views_and_memory_that_is_only_taken_launch_nothing() -> None:
    with torch.device("meta"), LaunchCounter() as counter:
        rows = torch.empty(4, 6)
        rows.view(6, 4).transpose(0, 1)[1:]
        assert counter.launches == 0
        (rows + 1).exp()
        assert counter.launches == 2
        rows @ rows.mT
        assert counter.launches == 3


def test_backward_is_counted_too() -> None:
    layer = nn.Linear(4, 4, bias=False, device="meta")
    with LaunchCounter() as counter:
        loss = layer(torch.empty(2, 4, device="meta")).sum()
        forward = counter.launches
        loss.backward()
    assert forward == 2 and counter.launches > forward


def test_adamw_is_one_kernel_a_group_and_muon_is_counted() -> None:
    size = {"vocabulary": Pretraining.of(ImaginedDataset.of(100), recipe_named("tiny")).dataset.vocabulary}
    with torch.device("meta"):
        model = build_model(family="bert", size="tiny", dropout=0.0, length=32, seed=0, **size)
    adamw = optimizer_launches(Optimizer(model, Optimizing(muon_lr=0.0)))
    assert adamw == CLIPPING + 2  # weights that decay and weights that do not
    assert optimizer_launches(Optimizer(model, Optimizing())) > adamw + 5 * 3  # five rounds of three products
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_kernels_grow_with_the_layers_and_not_with_the_rows(kind: str) -> None:
    def launches(size: str, rows: int) -> int:
        recipe = recipe_named(f"{kind}-{size}", length=32, batch_size=rows, micro_batch=rows)
        return cost_of(Pretraining.of(ImaginedDataset.of(500), recipe), steps=1).launches

    assert launches("tiny", 2) == pytest.approx(launches("tiny", 16), abs=4)
    assert launches("tiny", 2) < launches("mini", 2) < launches("small", 2)
