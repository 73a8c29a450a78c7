"""How well a step uses the processors, and where its time goes.

    python benchmarks/step.py data                  # mini and small
    python benchmarks/step.py data --compile        # with layers that torch compiled
    python benchmarks/step.py data --sizes mini --threads 1 --clock processor   # on a machine that is never quiet

The floating-point work of a step (both passes and the optimizer, counted by torch) over its time, as a fraction of the
speed of a float32 matrix product that takes turns with it. The profile is of the processors' own time, by kind of work;
the loop's overhead is a step of the loop against the bare passes and the optimizer on batches made beforehand.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import sides
import torch
import tyro
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode
from turns import Clock, Spread, race

from unmask.recipes import recipe
from unmask.tokens.dataset import Dataset
from unmask.training.allocator import keep_large_blocks
from unmask.training.computing import PLAIN, Computing
from unmask.training.work import Work

STEPS = 1000  # of the run that the steps are taken from
SIDE, TIMES = 2048, 4  # of the matrix product, and how many make a turn

KINDS = {  # the beginnings of operators' names, the first that fits
    "matrix products": (
        "aten::mm",
        "aten::addmm",
        "aten::bmm",
        "aten::baddbmm",
        "aten::mkldnn",
        "mkldnn",
        "aten::linear",
    ),
    "attention": ("aten::_scaled_dot_product", "aten::scaled_dot_product"),
    "loss over the vocabulary": ("aten::_log_softmax", "aten::log_softmax", "aten::nll_loss", "aten::argmax"),
    "optimizer, element by element": ("aten::_fused_adam", "aten::lerp", "aten::_foreach", "aten::linalg_vector_norm"),
    "norms, gates, rotary positions and residuals, compiled": (
        "## Call CompiledFxGraph",
        "CompiledFunction",
        "Torch-Comp",
    ),
    "norms": ("aten::native_layer_norm", "aten::layer_norm"),
    "activations": ("aten::gelu", "aten::silu"),
    "gathering and scattering": ("aten::index", "aten::embedding", "aten::gather", "aten::scatter"),
    "copies": ("aten::copy_", "aten::cat", "aten::clone", "aten::stack", "aten::fill_", "aten::zero_", "aten::pad"),
    "sums and products of elements": ("aten::add", "aten::mul", "aten::div", "aten::sub", "aten::neg", "aten::sum"),
}


def attention_work(query: Any, key: Any, value: Any, *_: Any, out_shape: Any = None, **__: Any) -> int:
    """Two products, B·H·L·L·D multiplications and additions each, which torch does not count on processors."""
    batch, heads, length, width = query
    return 2 * 2 * batch * heads * length * key[-2] * width


def attention_work_back(_: Any, query: Any, key: Any, *__: Any, out_shape: Any = None, **___: Any) -> int:
    """Five products: the scores again, and the gradients of scores, queries, keys and values."""
    batch, heads, length, width = query
    return 5 * 2 * batch * heads * length * key[-2] * width


UNCOUNTED = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: attention_work,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: attention_work_back,
}


def work_of(data: Path, size: str, computing: Computing) -> Work:
    return Work.of(Dataset.open(data), recipe(size), STEPS, seed=0, computing=computing)


def operations(work: Work) -> int:
    """Floating-point operations of one step in the middle of the run, optimizer included."""
    sides.step(work, 0)  # fills the optimizer's state
    with FlopCounterMode(display=False, custom_mapping=UNCOUNTED) as counter:
        sides.step(work, STEPS // 2)
    return counter.get_total_flops()


def shares(work: Work, steps: int = 5) -> dict[str, float]:
    """The share of the processors' time in each kind of work, over a few steps."""
    for step in range(2):
        sides.step(work, step)
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for step in range(2, 2 + steps):
            sides.step(work, step)
    spent: Counter[str] = Counter()
    for event in profiled.key_averages():
        kind = next((kind for kind, names in KINDS.items() if event.key.startswith(names)), "everything else")
        spent[kind] += event.self_cpu_time_total
    return {kind: spent[kind] / spent.total() for kind in (*KINDS, "everything else")}


def main(
    data: Path,
    /,
    sizes: tuple[str, ...] = ("mini", "small"),
    rounds: int = 12,
    threads: int = 2,
    clock: Clock = "wall",
    compile: bool = False,
) -> None:
    computing = Computing(compile=compile)
    found: dict[str, dict[str, Any]] = {}
    for size in sizes:
        contenders = {
            "product": partial(sides.matrix_product, size=SIDE, times=TIMES),
            "step": partial(sides.ours, data=data, recipe=recipe(size), steps=STEPS, computing=computing),
            "bare": partial(sides.bare, data=data, recipe=recipe(size), steps=STEPS, computing=computing),
        }
        seconds = race(contenders, rounds, threads=threads, clock=clock)
        torch.set_num_threads(threads)
        keep_large_blocks()
        flops = operations(work_of(data, size, PLAIN))
        work = work_of(data, size, computing)
        speed = Spread.of([2 * SIDE**3 * TIMES / each for each in seconds["product"]])
        reached = Spread.of(
            [flops / a / (2 * SIDE**3 * TIMES / b) for a, b in zip(seconds["step"], seconds["product"], strict=True)]
        )
        overhead = Spread.of([a / b - 1 for a, b in zip(seconds["step"], seconds["bare"], strict=True)])
        parts = shares(work)
        found[size] = {"flops": flops, "seconds": seconds, "reached": reached.median, "shares": parts}
        print(f"\n{size}: {flops / 1e9:.1f} GFLOP a step of {Spread.of(seconds['step']):.3f} s")
        print(f"  matrix product {speed.median / 1e9:.0f} GFLOP/s; the step reaches {reached:.1%} of it")
        print(f"  the loop takes {overhead:.1%} more than the bare passes and optimizer")
        print("  | part of the processors' time | share |\n  |---|---|")
        for kind, share in sorted(parts.items(), key=lambda item: -item[1]):
            print(f"  | {kind} | {share:.1%} |")
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    tyro.cli(main)
