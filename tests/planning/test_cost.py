"""What a step costs, counted on tensors without content: the same as for a model that computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from unmask.models.families.sizes import SIZES
from unmask.models.kernels import CPU_KERNELS
from unmask.planning import cost as estimate
from unmask.planning.cost import (
    Cost,
    ImaginedDataset,
    MicroBatchCost,
    cost_of,
    micro_batch_cost,
    muon_flops,
    without_marks,
)
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import Recipe
from unmask.tokens.store.dataset import Dataset
from unmask.training.job import micro_batches_of
from unmask.training.loop import Position
from unmask.training.optimizer import orthogonalize
from unmask.training.session import Session
from unmask.training.step import take_step

Recorded = Callable[[Any, str], list[dict[str, Any]]]
KINDS = ("modernbert-tiny", "bert-tiny", "electra-tiny")


def cost(chosen: Recipe, data: Dataset, steps: int = 1000) -> Cost:
    return cost_of(Pretraining.of(data, chosen), steps=steps)


@pytest.mark.parametrize("kind", ["modernbert", "bert", "roberta", "diffusion", "spanbert"])
def test_what_can_be_counted_without_content_is_not_computed(kind: str, recorded: Recorded) -> None:
    calls = recorded(estimate, "micro_batch_cost")
    cost(recipe_named(f"{kind}-tiny"), ImaginedDataset.of(1000))
    assert {parameter.device.type for call in calls for parameter in call["learner"].parameters()} == {"meta"}


@pytest.mark.parametrize("name", KINDS)
def test_parameters_operations_and_memory_are_those_of_the_real_model(name: str, data: Path) -> None:
    chosen = recipe_named(name, length=64, batch_size=4, micro_batch=2)
    dataset = Dataset.open(data)
    counted = cost(chosen, dataset, steps=1)
    pretraining = Pretraining.of(dataset, chosen, 0)
    work = Session.begin(pretraining.job(), 1)
    assert counted.parameters == work.parameters
    layers = pretraining.learner(fresh=False).train()  # transformers' own: on a CPU some compute less
    (micro,) = micro_batches_of(work.source, 0, [0])
    kept = MicroBatchCost(
        dataset.vocabulary.size, storages={each.untyped_storage()._cdata for each in work.learner.parameters()}
    )
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as flops:
        outcome = micro.objective.outcome(layers, micro.batch)
        sum(loss.sum() for loss in outcome.losses.values()).backward()
    assert counted.forward + counted.backward == pytest.approx(flops.get_total_flops(), rel=0.04)
    with saved_tensors_hooks(kept.keep, lambda tensor: tensor):  # as the fused kernels of this machine keep them
        micro.objective.outcome(work.learner, micro.batch)
    less = 0.65 if chosen.family in CPU_KERNELS else 0.88  # their last layer keeps what is predicted alone
    assert less * counted.activations < kept.activations < 1.12 * counted.activations
    assert counted.logits == pytest.approx(kept.logits, rel=0.12)


@pytest.mark.parametrize("name", ["spanbert-tiny", "xlnet-tiny", "mpnet-tiny", "t5-tiny"])
def test_what_an_objective_adds_is_counted(name: str) -> None:
    chosen = recipe_named(name, length=32, batch_size=4, micro_batch=2)
    counted = cost(chosen, ImaginedDataset.of(500), steps=1)
    bert = cost(
        recipe_named("bert-tiny", length=32, batch_size=4, micro_batch=2, rate="0.15"), ImaginedDataset.of(500), steps=1
    )
    assert counted.parameters > bert.parameters and counted.forward > bert.forward


def test_operations_follow_from_the_shapes() -> None:
    chosen = recipe_named("bert-tiny", length=32, batch_size=8, micro_batch=4, rate="0.2")
    counted = cost(chosen, ImaginedDataset.of(500), steps=1)
    size, vocabulary, tokens = SIZES["tiny"], 500, 4 * 32
    matrices = 12 * size.width**2  # query, key, value, out, and four times the width back and forth
    attention = 4 * 32 * size.width  # a token with all 32 of its row, twice
    predicted = 64  # a fifth of the tokens is 24, filled up to a round number
    head = 2 * predicted * (size.width**2 + size.width * vocabulary)
    assert counted.forward == tokens * size.layers * (2 * matrices + attention) + head
    assert counted.backward == 2 * counted.forward + 2 * predicted * vocabulary  # of the bias
    assert (counted.micro_batches, counted.a_step) == (2, 2 * (counted.forward + counted.backward) + counted.optimizing)


def test_the_optimizer_s_products_are_counted() -> None:
    with FlopCounterMode(display=False) as flops:
        for shape in ((48, 16), (16, 48), (32, 32)):
            orthogonalize(torch.randn(1, *shape))
    assert flops.get_total_flops() == sum(muon_flops(torch.empty(s)) for s in ((48, 16), (16, 48), (32, 32)))
    gram, square = 2 * 32**3, 2 * 32**3
    assert muon_flops(torch.empty(32, 32)) == 5 * (gram + square + 2 * 32**3)


def test_a_checkpoint_has_the_bytes_that_were_planned(data: Path, tmp_path: Path) -> None:
    chosen, dataset = recipe_named("tiny", length=32, batch_size=2, micro_batch=2), Dataset.open(data)
    work = Session.begin(Pretraining.of(dataset, chosen, 0).job(), 1)
    take_step(work.learner, work.optimizer, work.source, step=0)
    work.save(tmp_path, Position(step=1), 1)
    written = sum(file.stat().st_size for file in tmp_path.rglob("*.safetensors"))
    planned = cost(chosen, dataset, steps=1).checkpoint
    assert planned < written < planned + 20_000  # names and shapes stand before the numbers


def test_marked_spans_are_not_needed_to_count() -> None:
    for name in ("ernie-tiny", "pmi-tiny"):
        assert without_marks(recipe_named(name)).settings.policy == "word"
        assert (
            cost(
                without_marks(recipe_named(name, batch_size=2, micro_batch=2)), ImaginedDataset.of(300), steps=1
            ).parameters
            > 0
        )
    assert without_marks(recipe_named("tiny")) == recipe_named("tiny")


def test_a_falling_rate_is_counted_all_over_the_run_and_its_peak_takes_the_memory() -> None:
    chosen = recipe_named("bert-tiny", batch_size=8, micro_batch=8, rate="linear 0.8 0.2")
    falling = cost(chosen, ImaginedDataset.of(4096), steps=100)
    level = cost(replace(chosen, settings=replace(chosen.settings, rate="0.5")), ImaginedDataset.of(4096), steps=1)
    peak = cost(replace(chosen, settings=replace(chosen.settings, rate="0.8")), ImaginedDataset.of(4096), steps=1)
    assert falling.forward == pytest.approx(level.forward, rel=0.02)
    assert falling.logits == peak.logits > level.logits


def test_counts_are_of_one_micro_batch_each_time(data: Path) -> None:
    small = recipe_named("tiny", length=32, batch_size=2, micro_batch=2)
    work = Session.begin(Pretraining.of(Dataset.open(data), small).job(), 1)
    (micro,) = micro_batches_of(work.source, 0)
    first, second = (micro_batch_cost(work.learner, micro, 300) for _ in range(2))
    assert (first.forward, first.backward, first.activations) == (second.forward, second.backward, second.activations)
    assert first.times(3).backward == 3 * first.backward


def test_each_length_of_a_schedule_is_counted_with_its_share_and_the_longest_takes_the_memory() -> None:
    def counted(length: int | str, rows: int) -> Cost:
        chosen = recipe_named("bert-tiny", length=length, batch_size=rows, micro_batch=rows, rate="0.15")
        return cost(chosen, ImaginedDataset.of(300), steps=100)

    short, long, scheduled = counted(64, 16), counted(512, 2), counted("64 until 0.75; 512", 16)
    assert long.forward > 1.1 * short.forward
    assert scheduled.forward == pytest.approx(0.75 * short.forward + 0.25 * long.forward, rel=1e-3)
    assert scheduled.activations == pytest.approx(max(short.activations, long.activations), rel=0.02)
    assert scheduled.parameters == long.parameters
