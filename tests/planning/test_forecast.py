"""What a training would take: the arithmetic, by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from unmask.errors import BadInput
from unmask.files import with_seal
from unmask.planning import forecast as forecasts
from unmask.planning.cost import Cost, ImaginedDataset
from unmask.planning.forecast import (
    Pace,
    compare_with_run,
    forecast,
    memory_of,
    precision_of,
    published_pace,
    recipe_of,
    steps_of,
    suggest_batch,
    validation_seconds,
)
from unmask.planning.hardware import Hardware
from unmask.pretraining.recipes import recipe_named
from unmask.runs.directory import FORMAT
from unmask.tokens.store.dataset import Dataset
from unmask.training.budget import Budget
from unmask.training.machine import fastest

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
)
HARDWARE = Hardware(name="4 × X", devices=4, memory=100_000, peak=1e12, precision="bfloat16")
TINY = recipe_named("tiny", length=128, batch_size=32, micro_batch=4)


def test_time_follows_from_operations_the_slowest_process_and_the_utilisation() -> None:
    # 8 micro-batches on 4 devices are 2 rounds of 3 GFLOP, and 0.5 GFLOP of the optimizer, at 0.5 TFLOP/s
    assert published_pace(COST, HARDWARE, 0.5, TINY.settings).a_step == pytest.approx(6.5e9 / 5e11)
    assert published_pace(COST, replace(HARDWARE, devices=3), 0.5, TINY.settings).a_step == pytest.approx(9.5e9 / 5e11)
    assert published_pace(COST, HARDWARE, 0.5, TINY.settings).a_validated_token == pytest.approx(1e9 / 512 / 5e11 / 4)


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


def test_the_suggested_batch_fits_keeps_devices_busy_and_takes_its_rate_along() -> None:
    # a row takes 8,000 / 4 bytes; (0.9 × 100,000 − 13,620) / 2,000 are 38 rows, and 32 is a power of two
    found = suggest_batch(COST, HARDWARE, TINY.settings, None)
    assert (found.micro_batch, found.batch_size) == (32, 128)
    assert found.learning_rates == pytest.approx({"muon": 3e-2 * sqrt(4), "adamw": 3e-3 * sqrt(4)})
    few = suggest_batch(COST, HARDWARE, TINY.settings, 64 * 128 * 1000)  # tokens for a thousand steps of 64 blocks
    assert (few.micro_batch, few.batch_size) == (16, 64)
    alone = Hardware(name="here", devices=1, memory=10**9, peak=1e9, precision="float32", processor=True)
    assert suggest_batch(COST, alone, TINY.settings, None).batch_size == TINY.settings.batch_size
    assert suggest_batch(COST, replace(alone, memory=20_000), TINY.settings, None).micro_batch == 1


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


def test_where_no_precision_is_asked_for_the_plan_is_for_what_a_run_would_take(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecasts, "CALIBRATION", 0.0)
    small = {"length": 32, "batch_size": 2, "micro_batch": 2}
    for times, recipe, precision in (
        (2.0, "tiny", "bfloat16"),
        (1.2, "tiny", "float32"),
        (2.0, "bert-tiny", "float32"),
    ):
        speeds = {"float32": 1e9, "bfloat16": times * 1e9}
        monkeypatch.setattr(fastest, "product_speed", speeds.__getitem__)
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
    (tmp_path / "metrics.jsonl").unlink()
    with pytest.raises(BadInput, match="nothing to compare"):
        compare_with_run(planned, tmp_path)


def test_a_recipe_of_another_version_is_named(tmp_path: Path) -> None:
    known = {"format": FORMAT, "recipe": {"name": "x", "settings": {"optimizing": {"betas": [0, 1], "odd": 1}}}}
    (tmp_path / "run.json").write_text(json.dumps(with_seal(known)))
    with pytest.raises(BadInput, match="its recipe is not one that this version knows"):
        recipe_of(tmp_path)
