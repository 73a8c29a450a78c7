"""What the loop costs above its model: every recipe's step beside the bare passes and the optimizer.

    python benchmarks/overhead.py data                                  # every kind that the data serves, mini
    python benchmarks/overhead.py data --kinds bert electra --steps 40

Both sides take turns in one process, on the same learner and the same batches: a step of `loop.train` with all it does
(preparing the batch, counting, clipping, looking for what is not finite, figures, a line of metrics), and plain torch
on a batch prepared beforehand: forward, backward, the optimizer's step. Who goes first changes from step to step.
Seconds are those of the processor, on one thread, so that others on the machine hardly count.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

import sides
import torch
import tyro
from turns import Spread

from unmask.errors import BadInput
from unmask.pretraining.recipes import KINDS, recipe_named
from unmask.tokens.store.dataset import Dataset
from unmask.training import loop
from unmask.training.job import MicroBatch, micro_batches_of
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.session import Session

WARM = 4  # steps that are not counted


class Turns:
    """The bare side, which takes its turn whenever the loop has done a step."""

    def __init__(self, work: Session, metrics: Path) -> None:
        self.work, self.metrics = work, metrics
        self.loop: list[float] = []
        self.bare: list[float] = []
        self.take(0)
        self.begun = time.process_time()

    def __call__(self, position: loop.Position, figures: dict[str, Any]) -> None:
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(figures) + "\n")
        self.loop.append(time.process_time() - self.begun)
        done = position.step - 1
        if done % 2:  # it went before the loop in even steps
            self.take(done)
            if position.step < self.work.steps:
                self.take(position.step)
        self.begun = time.process_time()

    def take(self, step: int) -> None:
        """Both passes over the micro-batches of a step and the optimizer, nothing else."""
        micro_batches = micro_batches_of(self.work.source, step)
        begun = time.process_time()
        bare(self.work, micro_batches, step)
        self.bare.append(time.process_time() - begun)


def bare(work: Session, micro_batches: list[MicroBatch], step: int) -> None:
    for micro in micro_batches:
        outcome, objective = micro.objective.outcome(work.learner, micro.batch), micro.objective
        counts = objective.counts(micro.batch)
        losses = [loss * (objective.terms[term] / max(1, counts[term])) for term, loss in outcome.losses.items()]
        (torch.stack(losses).sum() / len(micro_batches)).backward()
    work.optimizer.step(step, work.steps)
    work.optimizer.clear()


def overhead(dataset: Dataset, name: str, steps: int, phrases: str | None) -> tuple[Spread, Spread, Spread]:
    """Seconds of the loop's steps, of the bare ones, and how much more the first are."""
    work = sides.session_of(dataset, recipe_named(name, phrases=phrases), WARM + steps)
    work.learner.train()
    with tempfile.TemporaryDirectory() as folder:
        turns = Turns(work, Path(folder) / "metrics.jsonl")
        loop.train(work.learner, work.optimizer, work.source, position=loop.Position(), after_step=turns)
    ours, bare_ones = turns.loop[WARM:], turns.bare[WARM:]
    more = [a / b - 1 for a, b in zip(ours, bare_ones, strict=True)]
    return Spread.of(ours), Spread.of(bare_ones), Spread.of(more)


def main(
    data: Path,
    /,
    kinds: tuple[str, ...] = tuple(KINDS),
    size: str = "mini",
    steps: int = 20,
    phrases: str | None = None,
) -> None:
    torch.set_num_threads(1)
    keep_large_blocks()
    dataset = Dataset.open(data)
    print("| recipe | bare step, s | the loop's, s | more |\n|---|---|---|---|")
    for kind in kinds:
        try:
            ours, plain, more = overhead(dataset, f"{kind}-{size}", steps, phrases)
        except BadInput as error:
            print(f"| `{kind}` | {error} | | |", flush=True)
            continue
        print(f"| `{kind}` | {plain:.3f} | {ours:.3f} | {more:.1%} |", flush=True)


if __name__ == "__main__":
    tyro.cli(main)
