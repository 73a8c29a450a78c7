"""How well a step uses the processors, and where its time goes.

    python benchmarks/step.py data                  # mini and small
    python benchmarks/step.py data --compile        # with layers that torch compiled
    python benchmarks/step.py data --precision bfloat16
    python benchmarks/step.py data --sizes mini --threads 1 --clock processor   # on a machine that is never quiet

The floating-point work of a step (both passes and the optimizer, counted by torch) over its time, as a fraction of the
speed of a float32 matrix product that takes turns with it. The profile is of the whole time of a few steps, by kind of
work: an operator counts with what it calls, and what the profiler itself costs is measured and taken off. The loop's
overhead is a step of the loop against the bare passes and the optimizer on batches made beforehand.
"""

from __future__ import annotations

import gc
import json
import time
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

from unmask.pretraining.recipes import recipe_named
from unmask.tokens.store.dataset import Dataset
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.computing import PLAIN, Computing
from unmask.training.session import Session

STEPS = 1000  # of the run that the steps are taken from
PROFILES, STEPS_PROFILED = 9, 5
SIDE, TIMES = 2048, 4  # of the matrix product, and how many make a turn

KINDS = {  # the beginnings of operators' names, the first that fits; an operator is taken with all that it calls
    "matrix products": (
        "aten::mm",
        "aten::addmm",
        "aten::bmm",
        "aten::baddbmm",
        "aten::mkldnn",
        "mkldnn",
        "aten::linear",
        "aten::matmul",
    ),
    "attention": ("aten::_scaled_dot_product", "aten::scaled_dot_product"),
    "loss over the vocabulary": (
        "aten::_softmax",
        "aten::_log_softmax",
        "aten::log_softmax",
        "aten::nll_loss",
        "aten::amax",
        "aten::argmax",
    ),
    "optimizer, element by element": ("aten::_fused_adam", "aten::_foreach", "aten::linalg_vector_norm"),
    "norms": ("aten::native_layer_norm", "aten::layer_norm"),
    "activations": ("aten::gelu", "aten::silu"),
    "gathering and scattering": ("aten::index", "aten::embedding", "aten::gather", "aten::scatter"),
    "copies": ("aten::copy_", "aten::cat", "aten::clone", "aten::stack", "aten::fill_", "aten::zero_", "aten::pad"),
    "sums and products of elements": ("aten::add", "aten::mul", "aten::div", "aten::sub", "aten::neg", "aten::sum"),
}
COMPILED = "norms, gates, rotary positions and residuals, compiled"
CALLING = {COMPILED: ("## Call CompiledFxGraph", "CompiledFunction", "Torch-Comp")}  # these call products
ELSE = "everything else, the interpreter included"


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


def work_of(data: Path, size: str, computing: Computing) -> Session:
    return sides.session_of(Dataset.open(data), recipe_named(size), STEPS, computing)


def operations(work: Session) -> int:
    """Floating-point operations of one step in the middle of the run, optimizer included."""
    sides.step(work, 0)  # fills the optimizer's state
    with FlopCounterMode(display=False, custom_mapping=UNCOUNTED) as counter:
        sides.step(work, STEPS // 2)
    return counter.get_total_flops()


def shares(work: Session, steps: int) -> dict[str, float]:
    """The share of each kind of work in the time of a few steps from the middle of the run, the profiler's left out."""
    cost = cost_of_an_event()
    gc.collect()  # what an earlier profile left would be collected in the middle of this one
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        begun = time.perf_counter()
        for step in range(steps):
            sides.step(work, STEPS // 2 + step)
        seconds = time.perf_counter() - begun
    events = profiled.events()
    spent: Counter[str] = Counter()
    for event in events:
        if event.cpu_parent is None:
            add(event, spent, cost)
    total = seconds * 1e6 - cost * len(events)
    spent[ELSE] += total - spent.total()
    return {kind: spent[kind] / total for kind in (*KINDS, *CALLING, ELSE)}


def add(event: Any, spent: Counter[str], cost: float) -> int:
    """Add the microseconds of an operator to its kind, or those of what it calls to theirs; how many it called."""
    kind = fitting(event.name, KINDS)
    inside = sum(add(child, Counter() if kind else spent, cost) for child in event.cpu_children)
    if kind is not None:
        spent[kind] += event.time_range.elapsed_us() - cost * (inside + 1)
    elif (calling := fitting(event.name, CALLING)) is not None:
        spent[calling] += event.self_cpu_time_total - cost
    return inside + 1


def fitting(name: str, kinds: dict[str, tuple[str, ...]]) -> str | None:
    return next((kind for kind, names in kinds.items() if name.startswith(names)), None)


def cost_of_an_event(times: int = 5, events: int = 10_000) -> float:
    """Microseconds that the profiler adds to an operator: the least of a few trials."""
    number = torch.zeros(1)

    def seconds() -> float:
        begun = time.perf_counter()
        for _ in range(events):
            number.add_(1)
        return time.perf_counter() - begun

    plain, profiled = [], []
    for _ in range(times):
        plain.append(seconds())
        with profile(activities=[ProfilerActivity.CPU]):
            profiled.append(seconds())
    return max(0.0, min(profiled) - min(plain)) / events * 1e6


def main(
    data: Path,
    /,
    sizes: tuple[str, ...] = ("mini", "small"),
    rounds: int = 12,
    threads: int = 2,
    clock: Clock = "wall",
    compile: bool = False,
    precision: str = "float32",
) -> None:
    computing = Computing(compile=compile, precision=precision)
    found: dict[str, dict[str, Any]] = {}
    for size in sizes:
        contenders = {
            "product": partial(sides.matrix_product, size=SIDE, times=TIMES),
            "step": partial(sides.ours, data=data, recipe=recipe_named(size), steps=STEPS, computing=computing),
            "bare": partial(sides.bare, data=data, recipe=recipe_named(size), steps=STEPS, computing=computing),
        }
        if computing != PLAIN:
            contenders["plain"] = partial(sides.ours, data=data, recipe=recipe_named(size), steps=STEPS)
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
        for step in range(STEPS_PROFILED):  # compiles what has to be, and warms up
            sides.step(work, STEPS // 2 + step)
        profiles = [shares(work, STEPS_PROFILED) for _ in range(PROFILES)]
        parts = {kind: Spread.of([each[kind] for each in profiles]) for kind in profiles[0]}
        products = Spread.of([each["matrix products"] + each["attention"] for each in profiles])
        medians = {kind: spread.median for kind, spread in parts.items()}
        found[size] = {"flops": flops, "seconds": seconds, "reached": reached.median, "shares": medians}
        print(f"\n{size}: {flops / 1e9:.1f} GFLOP a step of {Spread.of(seconds['step']):.3f} s")
        print(f"  matrix product {speed.median / 1e9:.0f} GFLOP/s; the step reaches {reached:.1%} of it")
        print(f"  the loop takes {overhead:.1%} more than the bare passes and optimizer")
        if computing != PLAIN:
            times = Spread.of([a / b for a, b in zip(seconds["plain"], seconds["step"], strict=True)])
            print(f"  {times:.2f} times as fast as in float32 and without --compile")
        print("  | part of a step | share |\n  |---|---|")
        for kind, share in sorted(parts.items(), key=lambda item: -item[1].median):
            print(f"  | {kind} | {share:.1%} |")
        print(f"  {products:.1%} of a step is in matrix products and attention, in {PROFILES} profiles")
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    tyro.cli(main)
