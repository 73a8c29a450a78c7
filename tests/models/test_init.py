"""A fresh model that knows how frequent each token is."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from unmask.models.families.family import build_model
from unmask.models.init import set_unigram_bias
from unmask.records import Vocabulary

VOCABULARY = Vocabulary(size=200, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_its_first_guess_is_the_frequency_of_the_corpus(family: str) -> None:
    counts = np.random.default_rng(0).zipf(1.5, 200).clip(max=10_000)
    model = build_model(family, "tiny", VOCABULARY, length=16, dropout=0.0, seed=0).eval()
    set_unigram_bias(model, counts)
    ids = torch.randint(5, 200, (8, 16), generator=torch.Generator().manual_seed(0))
    guessed = model(input_ids=ids).logits.log_softmax(-1).mean((0, 1)).exp().detach()
    share = torch.from_numpy((counts + 1) / (counts + 1).sum())
    divergence = (share * (share / (guessed / guessed.sum())).log()).sum()
    assert divergence < 0.1 * (share * (share * 200).log()).sum()  # of what a model that knows nothing is away


def test_without_counts_nothing_changes() -> None:
    one = build_model("bert", "tiny", VOCABULARY, length=16, dropout=0.0, seed=0)
    before = {name: weight.clone() for name, weight in one.state_dict().items()}
    set_unigram_bias(one, None)
    assert all(torch.equal(before[name], weight) for name, weight in one.state_dict().items())
