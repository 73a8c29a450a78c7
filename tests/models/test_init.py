"""A fresh model that knows how frequent each token is, and which tokens are alike."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from unmask.models.families.family import FAMILIES, build_model
from unmask.models.init import set_token_vectors, set_unigram_bias
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


def fresh(family: str = "bert") -> PreTrainedModel:
    return build_model(family, "tiny", VOCABULARY, length=16, dropout=0.0, seed=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_token_vectors_keep_their_angles_and_take_the_length_that_was_drawn(family: str) -> None:
    vectors = np.random.default_rng(0).standard_normal((200, 20)).astype(np.float32)
    vectors[150] = 0  # never seen
    model = fresh(family)
    weight = model.get_input_embeddings().weight
    drawn = weight.detach().clone()
    set_token_vectors(model, vectors, special=VOCABULARY.special, features=100, seed=3)
    informed = weight.detach()[:200]
    for number in (*VOCABULARY.special, 150):
        assert torch.equal(informed[number], drawn[number])
    seen = [number for number in range(5, 200) if number != 150]
    assert not informed[seen, 100:].any()
    norms = informed[seen].norm(dim=1)
    torch.testing.assert_close(norms, drawn.norm(dim=1).mean().expand(len(seen)), rtol=1e-4, atol=0)
    expected = torch.nn.functional.normalize(torch.from_numpy(vectors[seen]))
    turned = informed[seen] / norms[:, None]
    torch.testing.assert_close(turned @ turned.T, expected @ expected.T, atol=1e-4, rtol=0)


def test_another_seed_turns_them_another_way() -> None:
    vectors = np.random.default_rng(0).standard_normal((200, 20)).astype(np.float32)
    weights = []
    for seed in (0, 0, 1):
        model = fresh()
        set_token_vectors(model, vectors, special=VOCABULARY.special, seed=seed)
        weights.append(model.get_input_embeddings().weight.detach())
    assert torch.equal(weights[0], weights[1]) and not torch.allclose(weights[0], weights[2], atol=1e-3)


def test_more_directions_than_features_are_cut_to_the_strongest() -> None:
    vectors = np.random.default_rng(0).standard_normal((200, 300)).astype(np.float32)
    one, other = fresh(), fresh()
    set_token_vectors(one, vectors, special=VOCABULARY.special)
    set_token_vectors(other, vectors[:, :128], special=VOCABULARY.special)
    assert torch.equal(one.get_input_embeddings().weight, other.get_input_embeddings().weight)
