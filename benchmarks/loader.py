"""Does training ever wait for its data? The loader without a model, and its share of a step with one.

    python benchmarks/loader.py data

With the model removed: tokens a second that the loader hands over, packed, hidden and collated, prepared by the loop
itself and by one and two processes. With the model: the part of a step's time that goes by before its batches are
there. The loop's own preparing is given by the processor's time as well, which a busy machine does not lengthen.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import sides
import torch
import tyro
from turns import Spread

from unmask.pretraining.recipes import recipe_named
from unmask.tokens.store.dataset import Dataset
from unmask.training.loader import Loader
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.session import Session

STEPS = 1_000_000  # of the run that the batches are taken from: more than any of the loops below


def speed(work: Session, workers: int, seconds: float) -> tuple[float, float]:
    """Tokens a second of wall time, and of this process's own processor time."""
    with Loader(work.source, range(work.source.micro_batches), workers=workers) as loader:
        loader.micro_batches(0)  # the first waits for the epoch's packing and for the processes to start
        tokens, step = 0, 0
        begun, worked = time.perf_counter(), time.process_time()
        while (elapsed := time.perf_counter() - begun) < seconds:
            step += 1
            tokens += sum(int((micro.batch.documents > 0).sum()) for micro in loader.micro_batches(step))
        return tokens / elapsed, tokens / (time.process_time() - worked)


def waiting(work: Session, workers: int, steps: int) -> Spread:
    """The part of each step that passes before its batches are there."""
    work.learner.train()
    shares = []
    with Loader(work.source, range(work.source.micro_batches), workers=workers) as loader:
        for step in range(steps + 2):
            begun = time.perf_counter()
            micro_batches = loader.micro_batches(step)
            there = time.perf_counter()
            sides.learn(work, micro_batches, step)
            if step >= 2:
                shares.append((there - begun) / (time.perf_counter() - begun))
    return Spread.of(shares)


def main(data: Path, /, size: str = "mini", seconds: float = 10, steps: int = 20, threads: int = 2) -> None:
    keep_large_blocks()
    torch.set_num_threads(threads)
    work = sides.session_of(Dataset.open(data), recipe_named(size), STEPS)
    found: dict[str, dict[str, float]] = {}
    print("| prepared by | tokens/s without a model | by processor time | part of a step spent waiting |")
    print("|---|---|---|---|")
    for workers in (0, 1, 2):
        name = f"{workers} processes" if workers else "the loop"
        wall, own = speed(work, workers, seconds)
        share = waiting(work, workers, steps)
        found[name] = {"tokens_per_second": wall, "by_processor": own, "waiting": share.median}
        print(f"| {name} | {wall / 1e6:.2f} M | {own / 1e6:.2f} M | {share:.2%} |", flush=True)
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    tyro.cli(main)
