"""A product is the same however it is cut, and near in another precision."""

from __future__ import annotations

import pytest
import torch

from unmask.models.products import plus_times, product, times


@pytest.mark.parametrize("tokens", [1, 12, 13])
@pytest.mark.parametrize("width", [32, 33])
def test_a_product_in_pieces_is_the_product(tokens: int, width: int) -> None:
    torch.manual_seed(0)
    states, weight = torch.randn(tokens, 8), torch.randn(width, 8)
    torch.testing.assert_close(product(states, weight), states @ weight.T)


def test_products_in_bfloat16_are_float32_again_and_near() -> None:
    torch.manual_seed(0)
    states, weight, sums = torch.randn(20, 64), torch.randn(64, 32), torch.randn(20, 32)
    halved = weight.bfloat16()
    for found in (times(states, halved), product(states, halved.T), plus_times(sums, states, halved) - sums):
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, states @ weight, rtol=0, atol=0.2)
    assert torch.equal(times(states, weight), states @ weight)
    torch.testing.assert_close(plus_times(sums, states, weight), sums + states @ weight)
