"""What `--precision auto` stands for: settled once, by a rule and a short measurement, and kept by the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from unmask.errors import Refused
from unmask.pretraining.pretrain import pretrain
from unmask.pretraining.recipes import recipe_named
from unmask.results import Trained
from unmask.runs.directory import read_description
from unmask.training.budget import Budget
from unmask.training.machine import fastest
from unmask.training.machine.computing import Computing
from unmask.training.machine.fastest import fastest_precision, fastest_product
from unmask.training.observer import Saving

AUTO, CPU, GPU = Computing(device="cpu", precision="auto"), torch.device("cpu"), torch.device("cuda")


def let_it_multiply(monkeypatch: pytest.MonkeyPatch, able: bool) -> None:
    """Let the processor have instructions for bfloat16, or not."""
    monkeypatch.setattr(fastest, "multiplies_bfloat16", lambda: able)


def test_the_processor_decides_and_no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastest.time, "perf_counter", lambda: pytest.fail("the same command, other weights"))
    for able, precision in ((False, "float32"), (True, "bfloat16")):
        let_it_multiply(monkeypatch, able)
        assert fastest_product() == precision
    monkeypatch.setattr(fastest, "half_precision_works", lambda: False)
    assert fastest_product() == "float32"


def test_on_a_processor_that_multiplies_it_bfloat16_is_taken_where_nothing_speaks_against_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_it_multiply(monkeypatch, True)
    assert fastest_precision(AUTO, CPU) == "bfloat16"
    assert fastest_precision(AUTO, CPU, reproducible=True) == "float32"
    assert fastest_precision(Computing(precision="auto", compile=True), CPU) == "float32"
    assert fastest_precision(AUTO, torch.device("mps")) == "float32"


def test_on_a_gpu_it_is_what_the_gpu_computes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    for supported, precision in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, supported=supported: supported)
        assert fastest_precision(AUTO, GPU) == precision


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_what_is_asked_for_is_taken(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastest, "product_speed", lambda _precision: pytest.fail("nothing to measure"))
    asked = Computing(precision=precision)
    assert fastest_precision(asked, CPU, reproducible=True) == precision


def test_this_processor_is_measured_and_answers() -> None:
    assert fastest.product_speed("float32") > 1e8 and fastest.product_speed("bfloat16") > 1e6
    assert fastest_product() in ("float32", "bfloat16")


def train(data: Path, out: Path, precision: str = "auto", *, reproducible: bool = False, **more: Any) -> Trained:
    recipe = recipe_named("tiny", length=32, batch_size=4, micro_batch=4)
    computing, saving = Computing(device="cpu", precision=precision), Saving(seconds=0, report=False)
    return pretrain(
        data, out, recipe, Budget(steps=3), computing=computing, saving=saving, reproducible=reproducible, **more
    )


def test_a_run_records_what_was_chosen_and_never_chooses_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_it_multiply(monkeypatch, True)
    chosen = train(data, tmp_path / "run")
    assert read_description(chosen.path)["computing"]["precision"] == "bfloat16"
    assert chosen.weights_sha256 == train(data, tmp_path / "asked", "bfloat16").weights_sha256
    (tmp_path / "run" / "checkpoints" / "step-0000003").rename(tmp_path / "aside")
    let_it_multiply(monkeypatch, False)  # another machine
    again = train(data, chosen.path, resume=True)
    assert again.weights_sha256 == chosen.weights_sha256
    assert read_description(chosen.path)["computing"]["precision"] == "bfloat16"
    with pytest.raises(Refused, match=r"precision"):
        train(data, chosen.path, "float32", resume=True)


def test_a_reproducible_run_is_one_in_float32(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    let_it_multiply(monkeypatch, True)
    run = train(data, tmp_path / "run", reproducible=True)
    assert read_description(run.path)["computing"]["precision"] == "float32"


def test_what_a_run_in_bfloat16_ends_with_is_what_evaluate_says(data: Path, tmp_path: Path) -> None:
    from unmask.evaluation.intrinsic import evaluate

    run = train(data, tmp_path / "run", "bfloat16")
    assert evaluate(run.path, data, length=32).loss.value == pytest.approx(run.loss, rel=1e-5)


def test_a_command_that_names_no_precision_takes_the_fastest_and_goes_on_in_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import unmask

    let_it_multiply(monkeypatch, True)
    run, small = tmp_path / "run", {"length": 32, "batch_size": 4, "report": False}
    unmask.pretrain(data, out=run, recipe="tiny", steps=2, device="cpu", **small)
    assert read_description(run)["computing"]["precision"] == "bfloat16"
    let_it_multiply(monkeypatch, False)
    for more in ({}, {"precision": "auto"}):
        unmask.pretrain(resume=run, **more)
        assert read_description(run)["computing"]["precision"] == "bfloat16"
    with pytest.raises(Refused, match="--precision"):
        unmask.pretrain(resume=run, precision="float32")
