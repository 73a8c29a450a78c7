"""Heads that begin at their neighbours: where they look, and that nothing else is another model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from unmask.models.families.family import FAMILIES, build_model
from unmask.models.neighbours import STARTS, Beginning, head_offsets, look_at_neighbours
from unmask.records import Vocabulary

LENGTH, SIZE = 64, 400
VOCABULARY = Vocabulary(
    size=SIZE,
    mask=4,
    pad=0,
    start=2,
    end=3,
    special=(0, 1, 2, 3, 4),
    counts=np.ones(SIZE, dtype=np.int64),
)
EVERY = pytest.mark.parametrize("family", FAMILIES)


def fresh(family: str, size: str = "mini", beginning: Beginning | None = None) -> PreTrainedModel:
    model = build_model(family, size, VOCABULARY, length=LENGTH, dropout=0.0, seed=0).eval()
    look_at_neighbours(model, beginning)
    return model


@torch.no_grad()
def looks(model: PreTrainedModel, layer: int = 0) -> list[torch.Tensor]:
    """B H L L for each stack: a layer's attention over random tokens."""
    model.set_attn_implementation("eager")
    ids = torch.from_numpy(np.random.default_rng(0).integers(5, SIZE, (4, 40)))
    both: dict[str, Any] = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
    output = model(input_ids=ids, output_attentions=True, **both)
    if both:
        return [output.encoder_attentions[layer], output.decoder_attentions[layer]]
    return [output.attentions[layer]]


@EVERY
@pytest.mark.parametrize("size", ["tiny", "mini"])
def test_a_fresh_first_layer_attends_at_its_offsets(family: str, size: str) -> None:
    model = fresh(family, size)
    share = STARTS[model.config.model_type].usual.share
    for nth, seen in enumerate(looks(model)):
        left = family == "gpt2" or nth == 1
        for head, offsets in enumerate(head_offsets(seen.shape[1], share, left_to_right=left)):
            mean = {offset: float(seen[:, head].diagonal(offset, 1, 2)[:, 6:-6].mean()) for offset in range(-6, 7)}
            nearest = sorted(mean, key=mean.__getitem__, reverse=True)[: len(offsets)]
            assert set(nearest) == set(offsets)
            assert sum(mean[offset] for offset in offsets) > 0.35  # at random it would be 0.03


@EVERY
def test_it_is_the_stock_model_with_other_initial_values_in_its_embeddings_and_first_layer(family: str) -> None:
    plain = build_model(family, "mini", VOCABULARY, length=LENGTH, dropout=0.0, seed=0)
    begun = fresh(family)
    assert type(begun) is type(plain) and begun.config.to_dict() == plain.config.to_dict()
    before, after = plain.state_dict(), begun.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert before.keys() == after.keys() and changed
    assert not any(part in name for name in changed for part in (".1.", ".2.", ".3."))
    assert all(weight.isfinite().all() for weight in after.values())


@EVERY
def test_it_is_a_function_of_the_seed(family: str) -> None:
    one, other = fresh(family).state_dict(), fresh(family).state_dict()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_higher_peak_looks_more_closely() -> None:
    shares = []
    for peak in (2.0, 6.0, 14.0):
        (seen,) = looks(fresh("bert", beginning=Beginning(peak=peak)))
        shares.append(float(seen[:, 0].diagonal(-1, 1, 2).mean()))
    assert shares == sorted(shares) and shares[-1] > 2 * shares[0]


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_later_layers_may_begin_so_too(family: str) -> None:
    (plain,), (asked,) = (
        looks(fresh(family, beginning=Beginning(peak=9.0, layers=layers)), layer=1) for layers in (1, 2)
    )
    before, after = (float(seen[:, 0].diagonal(-1, 1, 2).mean()) for seen in (plain, asked))
    assert after > 2 * before and after > 0.2


def test_an_architecture_whose_positions_are_not_known_is_left_as_it_is() -> None:
    from transformers import AlbertConfig, AlbertForMaskedLM

    torch.manual_seed(0)
    model = AlbertForMaskedLM(AlbertConfig(vocab_size=50, hidden_size=16, num_attention_heads=2, intermediate_size=16))
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    look_at_neighbours(model)
    assert all(torch.equal(before[name], weight) for name, weight in model.state_dict().items())
