"""Devices, checkpointing and compiling: the same numbers, for less memory or time, or a line that says what lacks."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters
from transformers import MPNetConfig, MPNetForMaskedLM

from unmask.errors import BadInput, Refused
from unmask.pretraining.pretrain import Pretraining, pretrain
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import Recipe
from unmask.results import Trained
from unmask.tokens.store.dataset import Dataset
from unmask.training.budget import Budget
from unmask.training.job import micro_batches_of
from unmask.training.machine import computing as module
from unmask.training.machine.computing import Computing, Machine, check_compiler, device_for, machine_of, make_ready
from unmask.training.machine.distributed import ALONE
from unmask.training.observer import Saving
from unmask.training.session import Session
from unmask.training.step import take_step

CPU = torch.device("cpu")


def small(name: str, **training: Any) -> Recipe:
    chosen = recipe_named(name)
    settings = {"length": 32, "batch_size": 8, "micro_batch": 8, "dropout": 0.1, **training}
    return replace(chosen, settings=replace(chosen.settings, **settings))


def work_of(data: Path, made: Recipe | None = None, **computing: Any) -> Session:
    return Session.begin(
        Pretraining.of(Dataset.open(data), made or small("tiny"), 0).job(), 8, Computing(device="cpu", **computing)
    )


def steps(work: Session, count: int, first: int = 0) -> list[float]:
    work.learner.train()
    return [
        take_step(work.learner, work.optimizer, work.source, step=step).loss for step in range(first, first + count)
    ]


def kept_for_backward(work: Session) -> tuple[int, torch.Tensor]:
    """How many bytes a forward pass keeps, and the gradient it leads to."""
    (micro, *_) = micro_batches_of(work.source, 0)
    work.learner.train()
    torch.manual_seed(0)
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = micro.objective.outcome(work.learner, micro.batch).losses["mlm"]
    loss.backward()
    own = {parameter.untyped_storage().data_ptr() for parameter in work.learner.parameters()}
    gradient = torch.cat([p.grad.flatten() for p in work.learner.parameters() if p.grad is not None])
    return sum(size for place, size in kept.items() if place not in own), gradient


@pytest.mark.parametrize("name", ["tiny", "bert-tiny"])
def test_checkpointing_keeps_far_less_for_backward_and_gives_the_same_gradient(data: Path, name: str) -> None:
    usual, gradient = kept_for_backward(work_of(data, small(name)))
    less, same = kept_for_backward(work_of(data, small(name), recompute=True))
    assert less < usual / 2
    torch.testing.assert_close(same, gradient, rtol=0, atol=1e-6)


def test_a_model_that_cannot_be_checkpointed_is_named() -> None:
    config = MPNetConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    with pytest.raises(BadInput, match="--recompute: transformers has none for MPNetForMaskedLM; leave it out"):
        make_ready(MPNetForMaskedLM(config), Computing(recompute=True), CPU)


@pytest.mark.filterwarnings("ignore")  # torch warns itself while it looks at tensors
def test_compiled_layers_give_the_same_losses_and_are_compiled_once_for_each_kind(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # all that happens before code is generated, which takes minutes: see the next test
    monkeypatch.setattr(module, "BACKEND", "aot_eager")
    packed = small("tiny", length=96, dropout=0.0)  # compiled attention takes the dense mask, and drops others
    expected = steps(work_of(data, packed), 3)
    torch._dynamo.reset()
    counters.clear()
    work = work_of(data, packed, compile=True)
    losses = steps(work, 2)
    assert counters["stats"]["unique_graphs"] == 2, "the first layer of ModernBERT has no norm before it"
    work.measure(None, ALONE)  # texts of many lengths
    losses += steps(work, 1, first=2)
    assert counters["stats"]["unique_graphs"] == 2
    torch.testing.assert_close(losses, expected, rtol=0, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif("UNMASK_SLOW_TESTS" not in os.environ, reason="minutes of C++: UNMASK_SLOW_TESTS=1 runs it")
def test_generated_code_gives_the_same_losses(data: Path) -> None:
    torch._dynamo.reset()
    plain = small("tiny", length=96, dropout=0.0)  # generated code draws in its own way
    losses = steps(work_of(data, plain, compile=True), 3)
    torch.testing.assert_close(losses, steps(work_of(data, plain), 3), rtol=0, atol=1e-4)


def test_without_a_compiler_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BadInput, match=r"--compile: needs a C\+\+ compiler and finds no no-such-compiler"):
        check_compiler(CPU)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there_is_refused_in_one_line() -> None:
    with pytest.raises(BadInput, match="--device cuda: torch finds none on this machine; give --device "):
        device_for("cuda")


def test_auto_is_the_best_device_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("cuda", "mps"):
        monkeypatch.setitem(module.DEVICES, kind, lambda: False)
    assert device_for("auto") == CPU
    monkeypatch.setitem(module.DEVICES, "mps", lambda: True)
    assert device_for("auto") == torch.device("mps")


@pytest.mark.parametrize(("name", "value"), [("device", "tpu"), ("precision", "int8")])
def test_what_is_unknown_is_refused_with_what_is_known(name: str, value: str) -> None:
    with pytest.raises(BadInput, match=f"--{name} {value}: choose one of .*(cpu|bfloat16)"):
        Computing(**{name: value})  # type: ignore[arg-type]


def train(data: Path, out: Path, *, resume: bool = False, **computing: Any) -> Trained:
    saving = Saving(seconds=0, report=False)
    asked = Computing(device="cpu", **computing)
    return pretrain(data, out, small("tiny"), Budget(steps=2), resume=resume, saving=saving, computing=asked)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, while it loads its compiler
def test_a_run_goes_on_with_or_without_checkpointing_but_in_its_own_precision(data: Path, tmp_path: Path) -> None:
    first = train(data, tmp_path / "run")
    with pytest.raises(Refused, match="--precision: the run has float32, asked for bfloat16"):
        train(data, first.path, resume=True, precision="bfloat16")
    with pytest.raises(Refused, match="--compile: the run has no, asked for yes"):
        train(data, first.path, resume=True, compile=True)
    for newest in sorted((first.path / "checkpoints").iterdir())[1:]:
        newest.rename(tmp_path / "aside")
    assert train(data, first.path, resume=True, recompute=True).weights_sha256 == first.weights_sha256


def test_what_cannot_be_computed_leaves_nothing_behind(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BadInput, match="--compile"):
        train(data, tmp_path / "run", compile=True)
    assert not (tmp_path / "run").exists()


def test_a_run_says_what_it_was_computed_on() -> None:
    here = machine_of(torch.device("cpu"))
    assert here.device == "cpu" and here.name and here.threads == torch.get_num_threads() and here.processes == 1
    assert str(Machine(device="cpu", name="EPYC", threads=1, processes=1)) == "EPYC, 1 thread"
    assert str(Machine(device="cpu", name="EPYC", threads=2, processes=4)) == "4 × EPYC, 2 threads"
    assert str(Machine(device="cuda", name="A100", threads=2, processes=1)) == "1 × A100"
