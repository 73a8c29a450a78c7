"""How steps are computed: on which device, in which numbers, and what is done to fit them in.

In: what was asked for, and a learner. Out: the learner on its device, ready to be trained, or one line that says what
this machine lacks. None of it changes what is trained on; numbers of another precision, and products in the order of
a compiler, change the outcome in its last digits, so a run keeps the precision and the compiling it began with.

Layers are compiled one by one: those of one kind share their code, and what depends on the number of predicted tokens,
which is different in each step, lies outside of them. A kind of layer is compiled once for packed rows, and once each
for rows of one document with and without padding, where such micro-batches occur.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.errors import BadInput, did_you_mean
from unmask.models.first_token import leave_out_unread
from unmask.models.kernels import use_cpu_kernels
from unmask.models.layers import layers_of
from unmask.training.machine.processor import half_precision_works, processor_name
from unmask.training.precision import AUTO, PRECISIONS

DEVICES: dict[str, Callable[[], bool]] = {  # the best first
    "cuda": torch.cuda.is_available,
    "mps": torch.backends.mps.is_available,
    "cpu": lambda: True,
}
BACKEND = "inductor"  # of torch.compile
# what others call them
MEANT = {"gpu": "cuda", "nvidia": "cuda", "rocm": "cuda", "metal": "mps", "x86": "cpu"}
MEANT |= {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "fp32": "float32", "single": "float32"}


@dataclass(frozen=True, kw_only=True)
class Computing:
    """How a run is computed, as it was asked for."""

    device: str = "auto"
    precision: str = "float32"  # of products; weights, gradients and the optimizer's state are float32 always
    recompute: bool = False  # compute each layer again in backward instead of keeping what happened inside it
    compile: bool = False
    shard: bool = False  # cut the layers up among the processes

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("device", self.device, ("auto", *DEVICES)),
            ("precision", self.precision, (AUTO, *PRECISIONS)),
        ):
            if value not in choices:
                near = did_you_mean(value, choices, MEANT)
                raise BadInput(f"--{name} {value}: choose one of {', '.join(choices)}{near and f'; {near}'}")


PLAIN = Computing()
FASTEST = Computing(precision=AUTO)  # what a command takes where nothing is asked for


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a run was computed on when it began: `run.json` keeps it."""

    device: str  # cpu, cuda or mps
    name: str  # of the processor or the GPU, as the system says it
    threads: int
    processes: int

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'' if self.threads == 1 else 's'}"
        many = f"{self.processes} × " if self.processes > 1 or self.device != "cpu" else ""
        return f"{many}{self.name}" + (f", {threads}" if self.device == "cpu" else "")


def machine_of(device: torch.device, processes: int = 1) -> Machine:
    """What a device is called, and how many processes with one each there are."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else processor_name()
    return Machine(device=device.type, name=name, threads=torch.get_num_threads(), processes=processes)


def device_for(name: str) -> torch.device:
    """The device of a name, `auto` being the best there is; each process of a machine has a GPU of its own."""
    available = [kind for kind, is_available in DEVICES.items() if is_available()]
    kind = available[0] if name == "auto" else name
    if kind not in available:
        raise BadInput(f"--device {name}: torch finds none on this machine; give --device {available[0]}")
    if kind != "cuda":
        return torch.device(kind)
    local_rank, count = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    local_size = int(os.environ.get("LOCAL_WORLD_SIZE", local_rank + 1))  # so that all find out, not just the last
    if local_size > count:
        raise BadInput(f"{local_size} processes on a machine with {count} GPUs: give torchrun --nproc-per-node {count}")
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)


def make_ready(learner: Module, computing: Computing, device: torch.device) -> Module:
    """A learner on its device, its layers computed as asked."""
    if device.type == "cpu" and computing.precision != "float32":
        half_precision_works()
    learner.to(device)
    if computing.recompute:
        for model in _models(learner):
            if not model.supports_gradient_checkpointing:
                raise BadInput(f"--recompute: transformers has none for {type(model).__name__}; leave it out")
            model.gradient_checkpointing_enable({"use_reentrant": False})
    if computing.compile:
        check_compiler(device)
        for layer in layers_of(learner):
            layer.compile(backend=BACKEND)
        return learner
    leave_out_unread(learner)
    if device.type == "cpu" and computing.precision != "float16":
        use_cpu_kernels(learner)
    return learner


def _models(learner: Module) -> Iterator[PreTrainedModel]:
    """The models of transformers in a learner, the outermost of each."""
    if isinstance(learner, PreTrainedModel):
        yield learner
    else:
        for child in learner.children():
            yield from _models(child)


def check_compiler(device: torch.device) -> None:
    """Say what torch.compile lacks here: a C++ compiler for CPUs, Triton for GPUs."""
    compiler = os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
    if device.type == "cpu" and shutil.which(compiler) is None:
        raise BadInput(f"--compile: needs a C++ compiler and finds no {compiler}; install one, or leave it out")
    if device.type == "cuda":
        from torch.utils._triton import has_triton

        if not has_triton():
            raise BadInput("--compile: needs Triton on a GPU of compute capability 7.0 or newer; leave it out")


def force_eager(computing: Computing) -> AbstractContextManager[object]:
    """Layers as they are written: measuring takes texts of many lengths, each of which would be compiled for."""
    return torch.compiler.set_stance("force_eager") if computing.compile else nullcontext()
