"""MPNet told where its inputs stand: the stock model for places in a row, and a row's places move with its tokens."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from transformers import PreTrainedModel

from unmask.models.mpnet_streams import standing_at

Make = Callable[[str], PreTrainedModel]
IDS = torch.randint(5, 211, (2, 24), generator=torch.Generator().manual_seed(0))


@pytest.fixture
def model(make: Make) -> PreTrainedModel:
    made = make("mpnet").double()
    torch.nn.init.normal_(made.mpnet.encoder.relative_attention_bias.weight)  # so that distances show
    return made


@torch.no_grad()
def test_places_in_a_row_are_the_stock_models_own(model: PreTrainedModel) -> None:
    stock = model(IDS).logits
    with standing_at(model, torch.arange(24).expand(2, -1)):
        assert torch.equal(model(IDS).logits, stock)


@torch.no_grad()
def test_tokens_in_another_order_that_stand_where_they_stood_say_the_same(model: PreTrainedModel) -> None:
    stock = model(IDS).logits
    order = torch.stack([torch.randperm(24, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2)])
    positions = torch.arange(2, 26).expand(2, -1)
    with standing_at(model, order):
        moved = model(IDS.gather(1, order), position_ids=positions.gather(1, order)).logits
    torch.testing.assert_close(moved, stock.gather(1, order[:, :, None].expand_as(stock)), rtol=0, atol=1e-12)
    with standing_at(model, order.flip(0)):  # at the places of the other row
        other = model(IDS.gather(1, order), position_ids=positions.gather(1, order)).logits
    assert (other - moved).abs().max() > 1e-4


@torch.no_grad()
def test_the_stock_model_is_itself_again_afterwards(model: PreTrainedModel) -> None:
    stock = model(IDS).logits
    with pytest.raises(RuntimeError), standing_at(model, torch.arange(24).flip(0).expand(2, -1)):
        assert not torch.equal(model(IDS).logits, stock)
        raise RuntimeError
    assert torch.equal(model(IDS).logits, stock)
