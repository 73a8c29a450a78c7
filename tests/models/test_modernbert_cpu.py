"""The shorter ways through ModernBERT's layers lead where the long ones do."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from transformers import PreTrainedModel

from unmask.models.families.family import build
from unmask.models.modernbert_cpu import Attention, Gate, Layer, Turns, lighten
from unmask.records import Vocabulary

VOCABULARY = Vocabulary(size=97, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
DRAWN = torch.Generator().manual_seed(3)
IDS = torch.randint(5, 97, (5, 24), generator=DRAWN)
PLACES = torch.randint(0, 24, (5, 24), generator=DRAWN)
SEEN = (torch.rand(5, 1, 24, 24, generator=DRAWN) < 0.7) | torch.eye(24, dtype=torch.bool)


def pair(dropout: float = 0.0) -> tuple[PreTrainedModel, PreTrainedModel]:
    model = build("modernbert", "tiny", VOCABULARY, length=24, dropout=dropout, seed=0)
    light = deepcopy(model)
    lighten(light)
    return model, light


@pytest.mark.parametrize(
    "inputs", [{}, {"position_ids": PLACES}, {"attention_mask": SEEN}], ids=lambda each: str(*each)
)
def test_states_and_gradients_are_those_of_transformers(inputs: dict[str, torch.Tensor]) -> None:
    found = []
    for model in pair():
        made = model(input_ids=IDS, **inputs).logits
        made.square().sum().backward()
        found.append((made.detach(), {name: each.grad for name, each in model.named_parameters()}))
    (made, gradients), (shorter, theirs) = found
    torch.testing.assert_close(shorter, made, rtol=1e-5, atol=1e-6 * float(made.abs().max()))
    for name, gradient in gradients.items():
        torch.testing.assert_close(theirs[name], gradient, rtol=1e-4, atol=1e-5 * float(gradient.abs().max()), msg=name)


def test_in_bfloat16_gradients_stray_no_further_than_those_of_transformers() -> None:
    def gradient(model: PreTrainedModel, enabled: bool) -> torch.Tensor:
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            made = model(input_ids=IDS, position_ids=PLACES, attention_mask=SEEN).logits
        made.float().square().sum().backward()
        assert all(each.grad.dtype == torch.float32 for each in model.parameters() if each.grad is not None)
        return torch.cat([each.grad.flatten() for each in model.parameters() if each.grad is not None])

    model, light = pair()
    exact = gradient(model, enabled=False)
    theirs, ours = ((gradient(each, enabled=True) - exact).norm() / exact.norm() for each in (model, light))
    assert 1e-4 < ours < 1.25 * theirs


def test_dropout_drops_the_same() -> None:
    made = []
    for model in pair(dropout=0.3):
        torch.manual_seed(1)
        made.append(model.train()(input_ids=IDS).logits)
    torch.testing.assert_close(made[1], made[0], rtol=1e-5, atol=1e-5)


def test_the_layers_take_it_and_the_weights_keep_their_names() -> None:
    model, light = pair()
    kinds = {type(module) for module in light.modules()}
    assert {Attention, Gate, Layer, Turns} <= kinds and not {Attention, Gate, Layer, Turns} & {
        type(module) for module in model.modules()
    }
    assert list(light.state_dict()) == list(model.state_dict())


def test_what_has_no_shorter_way_stays_as_it_is() -> None:
    model = build("bert", "tiny", VOCABULARY, length=24, dropout=0.0, seed=0)
    before = [type(module) for module in model.modules()]
    lighten(model)
    assert [type(module) for module in model.modules()] == before
    model = build("modernbert", "tiny", VOCABULARY, length=24, dropout=0.0, seed=0)
    model.set_attn_implementation("eager")
    lighten(model)
    assert Attention not in {type(module) for module in model.modules()}
