"""What bfloat16 brings: how many times as fast a step is beside float32, and at which loss each ends.

    python benchmarks/precision.py data                                  # mini: what is not kept yet, then the table
    python benchmarks/precision.py data --recipe bert-mini --only times     # another family, its steps alone

Steps of both precisions take turns, each in a process of its own, and the ratio is taken within each round. The runs
have the same seeds, data and steps, and are measured in float32 on everything that is held out. `--precision auto`
rests on this for ModernBERT.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

import sides
import torch
import tyro
from recorded import Figures, kept, key
from turns import THREADS, Clock, Spread, race, ratios

from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import Recipe
from unmask.tokens.store.dataset import Dataset
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.computing import Computing
from unmask.training.machine.distributed import ALONE
from unmask.training.machine.fastest import fastest_product

PRECISIONS = ("float32", "bfloat16")
SPREAD = 20  # steps that are timed are from so many places of the run: more is hidden at its beginning


def trained(data: Path, recipe: Recipe, steps: int, seed: int, precision: str) -> Figures:
    """Train to the end, and measure."""
    keep_large_blocks()
    work = sides.session_of(Dataset.open(data), recipe, steps, Computing(precision=precision, device="cpu"), seed)
    sides.train(work)
    loss = work.measure(None, ALONE)["loss"]
    print(f"{recipe.name}, {precision}, seed {seed}: {steps} steps end at {loss:.4f}", flush=True)
    return {"recipe": recipe.name, "precision": precision, "seed": seed, "steps": steps, "loss": loss}


def main(
    data: Path,
    /,
    out: Path = Path("benchmarks/results"),
    recipe: str = "mini",
    steps: int = 480,
    seeds: tuple[int, ...] = (0, 1, 2),
    rounds: int = 20,
    only: Literal["all", "runs", "times"] = "all",
    clock: Clock = "wall",
) -> None:
    """Set both precisions side by side."""
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(THREADS[clock])
    plan = recipe_named(recipe)
    known = key(plan, steps, Dataset.open(data).fingerprint)
    if only != "runs":
        contenders = {
            precision: partial(
                sides.ours,
                data=data,
                recipe=plan,
                steps=steps,
                spread=min(SPREAD, steps),
                computing=Computing(precision=precision, device="cpu"),
            )
            for precision in PRECISIONS
        }
        name = f"precision-times-{clock}-{known}-{rounds}"
        seconds = kept(out, name, lambda: race(contenders, rounds, threads=THREADS[clock], clock=clock))
        print(f"\n{recipe}: a step in bfloat16 is {ratios(seconds, *PRECISIONS):.2f} times as fast as in float32")
        for precision in PRECISIONS:
            print(f"  {precision}: {Spread.of(seconds[precision]):.3f} s")
        print(f"  by its matrix products this machine is told to train in {fastest_product()}")
    if only == "times":
        return
    losses = {
        precision: [
            kept(
                out,
                f"precision-{known}-{precision}-seed-{seed}",
                partial(trained, data, plan, steps, seed, precision),
            )["loss"]
            for seed in seeds
        ]
        for precision in PRECISIONS
    }
    print(f"\n| held-out loss after {steps:,} steps | {' | '.join(f'seed {seed}' for seed in seeds)} |")
    print("|---" * (len(seeds) + 1) + "|")
    for precision, values in losses.items():
        print(f"| {precision} | {' | '.join(f'{value:.4f}' for value in values)} |")
    differences = [half - single for single, half in zip(*losses.values(), strict=True)]
    print(f"| bfloat16 − float32 | {' | '.join(f'{difference:+.4f}' for difference in differences)} |")


if __name__ == "__main__":
    tyro.cli(main)
