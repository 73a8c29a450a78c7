"""What a training would take: the arithmetic, by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from torch.autograd.graph import saved_tensors_hooks

from unmask.errors import BadInput
from unmask.files import with_seal
from unmask.planning import forecast as forecasts
from unmask.planning.cost import Cost, ImaginedDataset, MicroBatchCost
from unmask.planning.forecast import (
    Pace,
    compare_with_run,
    forecast,
    memory_of,
    precision_of,
    published_pace,
    recipe_of,
    rows_that_fill,
    step_at,
    steps_of,
    suggest_batch,
    validation_seconds,
)
from unmask.planning.hardware import Hardware, hardware_named
from unmask.pretraining.pretrain import Pretraining, pretrain
from unmask.pretraining.recipes import recipe_named
from unmask.results import ProductSpeed
from unmask.runs.directory import FORMAT
from unmask.tokens.store.dataset import Dataset
from unmask.training.budget import Budget
from unmask.training.job import micro_batches_of
from unmask.training.machine import fastest
from unmask.training.machine.computing import Computing
from unmask.training.session import Session

COST = Cost(
    parameters=1000,
    by_optimizer={"muon": 600, "adamw": 400},
    state={"muon": 2400, "adamw": 3220},
    forward=1e9,
    backward=2e9,
    optimizing=5e8,
    activations=8_000,
    logits=4_000,
    micro_batches=8,
    launches=100,
    optimizer_launches=50,
    matrices=5,
)
HARDWARE = Hardware(name="4 × X", devices=4, memory=100_000, peak=1e12, precision="bfloat16")
TINY = recipe_named("tiny", length=128, batch_size=32, micro_batch=4)


def test_time_follows_from_operations_the_slowest_process_and_the_utilisation() -> None:
    # 8 micro-batches on 4 devices are 2 rounds of 3 GFLOP, and 0.5 GFLOP of the optimizer, at 0.5 TFLOP/s; and 1 ms
    assert published_pace(COST, HARDWARE, 0.5, TINY.settings).a_step == pytest.approx(6.5e9 / 5e11 + 1e-3)
    three = published_pace(COST, replace(HARDWARE, devices=3), 0.5, TINY.settings)
    assert three.a_step == pytest.approx(9.5e9 / 5e11 + 1e-3)
    assert published_pace(COST, HARDWARE, 0.5, TINY.settings).a_validated_token == pytest.approx(1e9 / 512 / 5e11 / 4)


def test_a_step_too_small_to_fill_a_gpu_takes_as_long_as_its_kernels_take_to_launch() -> None:
    fast = replace(HARDWARE, peak=1e18)
    # 2 rounds of 100 kernels and 4 casts for each of 5 matrices, 50 of the optimizer, 8 µs each
    pace = published_pace(COST, fast, 0.5, TINY.settings)
    assert pace.launches == 2 * 120 + 50
    assert pace.a_step == pace.floor == pytest.approx(290 * 8e-6 + 1e-3)
    assert published_pace(COST, replace(fast, precision="float32"), 0.5, TINY.settings).launches == 250
    assert published_pace(COST, HARDWARE, 0.5, TINY.settings).floor == pace.floor  # where computing takes longer too


def test_so_many_blocks_fill_a_gpu_that_computing_takes_as_long_as_launching() -> None:
    settings, fast = TINY.settings, replace(HARDWARE, devices=1, peak=2e14)
    fills = rows_that_fill(COST, fast, 0.5, settings)
    floor = (120 + 50) * 8e-6 + 1e-3
    assert (fills - 1) * 3e9 / 4 / 1e14 < floor <= fills * 3e9 / 4 / 1e14
    found = suggest_batch(COST, replace(fast, memory=10**9), settings, None, fills=fills)
    assert found.fills == fills <= found.micro_batch < 2 * fills
    assert found.learning_rates["muon"] == pytest.approx(1.5e-2 * min(4, sqrt(found.batch_size / 32)))
    tight = suggest_batch(COST, HARDWARE, settings, None, fills=fills)
    assert tight.micro_batch == 32 < fills  # as many as fit


def test_a_tiny_model_on_a_large_gpu_is_planned_at_a_speed_that_can_be_believed() -> None:
    text, hardware, budget = ImaginedDataset.of(16_000), hardware_named("A100"), Budget(tokens=10**10)
    planned = forecast(recipe_named("tiny"), text, budget, hardware)
    assert planned.seconds_per_step is not None and planned.floor is not None and planned.launches is not None
    assert planned.seconds_per_step >= planned.floor > planned.launches * 5e-6
    assert 200 < planned.launches < 1000  # three layers, forward and backward, and the optimizer
    assert planned.utilisation is not None and planned.utilisation < 0.05
    assert planned.suggested.fills is not None and planned.suggested.fills > planned.micro_batch
    found = planned.suggested
    assert found.micro_batch >= planned.suggested.fills
    large = recipe_named("tiny", batch_size=found.batch_size, micro_batch=found.micro_batch)
    full = forecast(large, text, budget, hardware)
    assert full.utilisation is not None and full.utilisation > 0.2 and full.seconds is not None
    assert planned.seconds is not None and full.seconds < planned.seconds / 5


def test_a_budget_becomes_steps() -> None:
    pace = Pace(2.0, 0.001)
    assert steps_of(Budget(steps=7), 100, 0, None) == 7
    assert steps_of(Budget(tokens=1000), 100, 0, None) == 10
    assert steps_of(Budget(), 100, 5000, None) == 50  # one pass over the text
    assert steps_of(Budget(epochs=2.5), 100, 5000, None) == 125
    assert steps_of(Budget(), 100, 0, None) is None
    # a step of 100,000 tokens brings 11,000 of them to be measured on: 2 s and 11 s
    assert steps_of(Budget(minutes=1), 100_000, 0, pace) == 4
    with pytest.raises(BadInput, match="--minutes"):
        steps_of(Budget(minutes=1), 100, 0, None)
    assert validation_seconds(pace, 100, 10) == 11 * 4096 * 0.001  # at the least
    assert validation_seconds(pace, 100_000, 1000) == 11 * 65_536 * 0.001  # at the most


def test_memory_is_told_by_part_and_halved_only_where_products_are() -> None:
    parts = {"weights": 4000, "gradients": 4000, "muon": 2400, "adamw": 3220, "activations": 4000, "logits": 4000}
    assert memory_of(COST, HARDWARE) == parts
    assert memory_of(COST, replace(HARDWARE, precision="float32"))["activations"] == 8000
    assert memory_of(COST, replace(HARDWARE, processor=True))["activations"] == 8000  # counted as processors keep them


def test_the_suggested_batch_fits_keeps_devices_busy_and_takes_its_rate_along() -> None:
    # a row takes 8,000 / 4 bytes; (0.9 × 100,000 − 13,620) / 2,000 are 38 rows, and 32 is a power of two
    found = suggest_batch(COST, HARDWARE, TINY.settings, None)
    assert (found.micro_batch, found.batch_size) == (32, 128)
    assert found.learning_rates == pytest.approx({"muon": 1.5e-2 * sqrt(4), "adamw": 1.5e-3 * sqrt(4)})
    few = suggest_batch(COST, HARDWARE, TINY.settings, 64 * 128 * 1000)  # tokens for a thousand steps of 64 blocks
    assert (few.micro_batch, few.batch_size) == (16, 64)
    alone = Hardware(name="here", devices=1, memory=10**9, peak=1e9, precision="float32", processor=True)
    here = partial(suggest_batch, COST, settings=TINY.settings, tokens=None)
    assert here(alone).batch_size == TINY.settings.batch_size
    assert here(replace(alone, memory=20_000)).micro_batch == 1


def test_a_plan_for_named_hardware_needs_no_data() -> None:
    planned = forecast(TINY, ImaginedDataset.of(500), Budget(steps=1000), HARDWARE, utilisation=0.5)
    assert planned.tokens == 1000 * 32 * 128 and planned.passes is None
    assert planned.flops == pytest.approx(1000 * planned.flops_per_step)
    assert planned.seconds is not None and planned.seconds_per_step is not None
    assert planned.seconds == pytest.approx(1000 * planned.seconds_per_step, rel=0.05)
    assert planned.parameters == sum(planned.by_optimizer.values())
    with pytest.raises(BadInput, match="--utilisation 2"):
        forecast(TINY, ImaginedDataset.of(500), Budget(), HARDWARE, utilisation=2)


def test_without_hardware_real_steps_are_timed(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecasts, "CALIBRATION", 0.0)
    planned = forecast(recipe_named("tiny", length=32, batch_size=2, micro_batch=2), Dataset.open(data), Budget())
    assert planned.seconds_per_step is not None and planned.seconds_per_step > 0
    assert planned.utilisation == pytest.approx(planned.flops_per_step / planned.seconds_per_step / planned.peak)
    assert planned.passes == pytest.approx(1, abs=0.01) and planned.hardware.startswith("this machine")
    assert planned.products[0].seconds_per_step == pytest.approx(planned.seconds_per_step)
    assert planned.launches is None and planned.floor is None and planned.suggested.fills is None
    assert planned.precision == planned.suggested.precision in ("float32", "bfloat16")
    without = forecast(
        recipe_named("bert-tiny", length=128, batch_size=32, micro_batch=32), ImaginedDataset.of(500), Budget(steps=10)
    )
    assert without.seconds is None and without.utilisation is None and without.tokens == 10 * 32 * 128


def test_steps_are_timed_in_the_precision_that_is_asked_for(
    data: Path, monkeypatch: pytest.MonkeyPatch, recorded: Callable[[Any, str], list[dict[str, Any]]]
) -> None:
    monkeypatch.setattr(forecasts, "CALIBRATION", 0.0)
    timed = recorded(forecasts, "seconds_a_step")
    small = recipe_named("tiny", length=32, batch_size=2, micro_batch=2)
    assert forecast(small, Dataset.open(data), Budget(), precision="bfloat16").precision == "bfloat16"
    assert [call["session"].computing.precision for call in timed] == ["bfloat16"]
    with pytest.raises(BadInput, match="--precision int8"):
        forecast(small, Dataset.open(data), Budget(), precision="int8")


def test_what_another_precision_would_save_is_what_products_take_and_threads_change_all_of_a_step() -> None:
    ways = (("float32", 2, 1e12), ("bfloat16", 2, 4e12), ("float32", 1, 5e11))
    products = tuple(ProductSpeed(precision=kind, threads=count, flops=speed) for kind, count, speed in ways)
    here = Hardware(name="here", devices=1, memory=1, peak=1e12, precision="float32", processor=True, products=products)
    half_in_products = 2 * COST.a_step / 1e12
    steps = [step_at(product, here, COST, half_in_products).seconds_per_step for product in products]
    assert steps == pytest.approx([half_in_products, half_in_products * (0.5 + 0.5 / 4), half_in_products * 2])
    assert step_at(products[1], here, COST, None).seconds_per_step is None


@pytest.mark.parametrize("name", ["modernbert-tiny", "bert-tiny"])
def test_memory_in_bfloat16_on_processors_is_what_their_kernels_keep(
    name: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecasts, "CALIBRATION", 0.0)
    small = recipe_named(name, length=64, batch_size=4, micro_batch=4)
    half, full = (forecast(small, Dataset.open(data), Budget(), precision=kind) for kind in ("bfloat16", "float32"))
    session = Session.begin(Pretraining.of(Dataset.open(data), small).job(), 1, Computing(precision="bfloat16"))
    (micro,) = micro_batches_of(session.source, 0, [0])
    parameters = {parameter.untyped_storage()._cdata for parameter in session.learner.parameters()}
    kept = MicroBatchCost(half.vocabulary, storages=parameters)
    with saved_tensors_hooks(kept.keep, lambda tensor: tensor), session.precision.casting():
        micro.objective.outcome(session.learner.train(), micro.batch)
    assert half.memory["activations"] == pytest.approx(kept.activations, rel=0.02)
    assert 0.5 * full.memory["activations"] < half.memory["activations"]


def test_where_no_precision_is_asked_for_the_plan_is_for_what_a_run_would_take(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecasts, "CALIBRATION", 0.0)
    small = {"length": 32, "batch_size": 2, "micro_batch": 2}
    for able, recipe, precision in (
        (True, "tiny", "bfloat16"),
        (False, "tiny", "float32"),
        (True, "bert-tiny", "bfloat16"),
    ):
        monkeypatch.setattr(fastest, "multiplies_bfloat16", lambda able=able: able)
        planned = forecast(recipe_named(recipe, **small), Dataset.open(data), Budget(steps=10), precision="auto")
        assert planned.precision == precision


def test_a_run_is_compared_with_its_plan_over_the_steps_it_has_taken(tmp_path: Path) -> None:
    known = {"format": FORMAT, "unmask": "0", "recipe": asdict(TINY), "steps": 40}
    (tmp_path / "run.json").write_text(json.dumps(with_seal(json.loads(json.dumps(known)))))
    lines = [{"step": step, "tokens": step * 4000, "tokens_per_second": 2000.0} for step in range(1, 11)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert recipe_of(tmp_path) == (TINY, 40) and precision_of(tmp_path) == "float32"
    planned = replace(forecast(TINY, ImaginedDataset.of(500), Budget(steps=40), HARDWARE), seconds_per_step=3.0)
    beside = compare_with_run(planned, tmp_path).compared
    assert beside is not None
    assert (beside.steps, beside.planned, beside.took) == (10, 30.0, 20.0)
    assert (beside.tokens_planned, beside.tokens) == (40_960, 40_000)
    assert beside.hardware is None and beside.same_hardware is None  # of an earlier version: it does not say
    (tmp_path / "metrics.jsonl").unlink()
    with pytest.raises(BadInput, match="nothing to compare"):
        compare_with_run(planned, tmp_path)


def test_a_run_on_other_hardware_than_what_is_planned_for_is_told(data: Path, tmp_path: Path) -> None:
    small = recipe_named("tiny", length=32, batch_size=2, micro_batch=2)
    run = pretrain(data, tmp_path / "run", small, Budget(steps=2)).path
    planned = replace(forecast(small, ImaginedDataset.of(500), Budget(), HARDWARE), seconds_per_step=3.0)
    here = compare_with_run(planned, run).compared
    elsewhere = compare_with_run(planned, run, hardware_named("A100")).compared
    assert here is not None and elsewhere is not None
    assert here.same_hardware is True and here.hardware == elsewhere.hardware
    assert elsewhere.same_hardware is False


def test_a_recipe_of_another_version_is_named(tmp_path: Path) -> None:
    known = {"format": FORMAT, "recipe": {"name": "x", "settings": {"optimizing": {"betas": [0, 1], "odd": 1}}}}
    (tmp_path / "run.json").write_text(json.dumps(with_seal(known)))
    with pytest.raises(BadInput, match="its recipe is not one that this version knows"):
        recipe_of(tmp_path)
