"""What a fresh model knows of its text: embeddings, first heads and frequencies, each by its own switch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import Module

from unmask.models.families.family import build_model
from unmask.models.neighbours import position_features
from unmask.pretraining.informed import InformedStart, kept_vectors
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import INITS
from unmask.tokens.cooccurrence import token_vectors
from unmask.tokens.store.dataset import Dataset


def learner(data: Path, init: str, recipe: str = "tiny", *, fresh: bool = True) -> Module:
    return Pretraining.of(Dataset.open(data), recipe_named(recipe, length=64, init=init)).learner(fresh=fresh)


def weights(model: Module) -> dict[str, torch.Tensor]:
    return {name: weight.detach() for name, weight in model.named_parameters()}


def changed(one: Module, other: Module) -> set[str]:
    left, right = weights(one), weights(other)
    return {name for name in left if not torch.equal(left[name], right[name])}


def test_random_is_what_the_family_draws(data: Path) -> None:
    dataset = Dataset.open(data)
    drawn = build_model("modernbert", "tiny", dataset.vocabulary, length=64, dropout=0.0, seed=0)
    assert not changed(drawn, learner(data, "random"))


def test_each_part_changes_what_it_is_about(data: Path) -> None:
    plain, bias = learner(data, "random"), "decoder.bias"
    tokens = "model.embeddings.tok_embeddings.weight"
    assert changed(plain, learner(data, "frequencies")) == {bias}
    assert changed(plain, learner(data, "vectors")) == {bias, tokens}
    assert changed(plain, learner(data, "neighbours")) == {bias, tokens, "model.layers.0.attn.Wqkv.weight"}
    assert changed(learner(data, "informed"), learner(data, "neighbours")) == {tokens}


def test_embeddings_are_the_vectors_of_co_occurrence(data: Path) -> None:
    dataset = Dataset.open(data)
    model = learner(data, "informed")
    weight = model.get_input_embeddings().weight.detach()  # type: ignore[operator]
    features = weight.shape[1] - position_features(model)  # type: ignore[arg-type]
    vectors = token_vectors(dataset.split("train"), dataset.vocabulary.size, features)
    frequent = np.argsort(dataset.vocabulary.counts)[-50:]
    expected, begun = (
        torch.nn.functional.normalize(each) for each in (torch.from_numpy(vectors), weight[:, :features])
    )
    torch.testing.assert_close(
        begun[frequent] @ begun[frequent].T, expected[frequent] @ expected[frequent].T, atol=1e-4, rtol=0
    )


@pytest.mark.parametrize("fresh", [True, False])
def test_what_will_be_restored_is_not_told_of_the_text(fresh: bool, data: Path) -> None:
    assert bool(changed(learner(data, "random"), learner(data, "informed", fresh=fresh))) is fresh


def test_a_model_without_content_is_left_alone(data: Path) -> None:
    dataset = Dataset.open(data)
    with torch.device("meta"):
        model = build_model("bert", "tiny", dataset.vocabulary, length=16, dropout=0.0, seed=0)
    kept_vectors.cache_clear()
    InformedStart(INITS["informed"], dataset, 0).begin(model)
    assert kept_vectors.cache_info().misses == 0


def test_a_detector_and_its_generator_begin_with_the_same_vectors_made_once(data: Path) -> None:
    kept_vectors.cache_clear()
    pair = learner(data, "informed", "electra-tiny")
    assert kept_vectors.cache_info().misses == 1
    generator, discriminator = pair.generator, pair.discriminator
    assert generator.get_input_embeddings().weight is discriminator.get_input_embeddings().weight


def test_embeddings_that_are_differences_begin_at_none(data: Path) -> None:
    pair = learner(data, "informed", "deberta-v3-tiny")
    assert not pair.discriminator.get_input_embeddings().weight.any()
    assert pair.generator.get_input_embeddings().weight.any()


@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_an_informed_model_learns_sooner(kind: str, data: Path) -> None:
    """A tenth of the golden run: what is known beforehand is what a plain start has to find out."""
    from unmask.training.machine.distributed import ALONE
    from unmask.training.session import Session
    from unmask.training.step import take_step

    losses = []
    for init in ("frequencies", "informed"):
        recipe = recipe_named(f"{kind}-tiny", length=64, batch_size=8, micro_batch=8, init=init)
        session = Session.begin(Pretraining.of(Dataset.open(data), recipe).job(), 30)
        for number in range(30):
            take_step(session.learner.train(), session.optimizer, session.source, step=number)
        losses.append(session.measure(None, ALONE)["loss"])
    assert losses[1] < losses[0] - 0.1
