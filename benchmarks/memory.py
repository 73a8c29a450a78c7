"""Peak memory of a training step: ours beside transformers' Trainer, each in a process of its own.

    unmask prepare texts --vocab-size 30522 --out data30k
    python benchmarks/memory.py data30k             # 32×128 tokens a step

Peak memory is the largest resident set over three steps, less what was resident before the first of them: gradients,
activations, logits and the optimizer's state, but neither the weights nor what Python and torch bring.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import rival
import sides
import tyro

from unmask.pretraining.recipes import recipe_named
from unmask.tokens.store.dataset import Dataset
from unmask.training.machine.allocator import keep_large_blocks

ROWS, STEPS = 32, 3
MEGA = 1e6


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def theirs(data: Path) -> int:
    """What Trainer's steps take at most, at mini size."""
    trainer = rival.trainer_of(Dataset.open(data), rival.Plan(steps=STEPS, rows=ROWS), lambda _: None)
    return peak(trainer.train)


def ours(data: Path, micro: int) -> int:
    """What steps of our loop take at most."""
    keep_large_blocks()
    plan = recipe_named("mini")
    plan = replace(plan, settings=replace(plan.settings, batch_size=ROWS, micro_batch=micro))
    work = sides.session_of(Dataset.open(data), plan, STEPS)
    return peak(lambda: [sides.step(work, number) for number in range(STEPS)])


def peak(steps: Callable[[], object]) -> int:
    """By how much the largest resident set exceeds the one before."""
    before = resident()
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the peak of the imports
    steps()
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    high = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
    return min(high, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024) - before


def main(data: Path, /, threads: int = 2) -> None:
    os.environ["OMP_NUM_THREADS"] = str(threads)
    vocabulary, own = Dataset.open(data).vocabulary.size, min(ROWS, recipe_named("mini").settings.micro_batch)
    contenders = {
        "theirs": partial(theirs, data),
        f"ours, all {ROWS} blocks at once": partial(ours, data, ROWS),
        f"ours, {ROWS // 2} blocks at once": partial(ours, data, ROWS // 2),
    }
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        found = {name: pool.apply(contender) for name, contender in contenders.items()}
    print(f"peak memory of a step of {ROWS}×{rival.LENGTH} tokens, mini, vocabulary {vocabulary:,}")
    for name, most in found.items():
        print(f"  {name:<28} {most / MEGA:>6.0f} MB  {most / found['theirs']:.2f} of theirs")
    print(f"  the recipe takes {own} blocks at once")
    print(json.dumps({**found, "vocabulary": vocabulary}))


if __name__ == "__main__":
    tyro.cli(main)
