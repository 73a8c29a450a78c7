"""What long rows cost: a step under masks over everything beside one over what may be seen, and how time grows.

    python benchmarks/long_texts.py data                        # mini on rows of 4,096 packed tokens, then the slopes
    python benchmarks/long_texts.py data --lengths 128 1024     # on other rows
    python benchmarks/long_texts.py data --recipe bert-mini     # another family, its steps alone

Both ways take turns, each in a process of its own, and the ratio is taken within each round. Slopes are of the
logarithms, 1 is proportional: of the time of local layers alone, and of whole steps beside their counted work, on a row
that is one document, which is the most that there can be to see.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import sides
import torch
import tyro
from scaling import VOCABULARY, slope
from step import UNCOUNTED
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForMaskedLM
from turns import CLOCKS, THREADS, Clock, Spread, Turn, race, ratios

from unmask.models import inputs
from unmask.models.families.encoders import modernbert
from unmask.models.families.sizes import SIZES
from unmask.models.kernels import use_cpu_kernels
from unmask.objectives.mlm import masked_lm_loss
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import Recipe
from unmask.records import Batch
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.computing import Computing

EVERYTHING, SEEN = "a mask over everything", "what may be seen"
GROWING = (512, 1024, 2048, 4096, 8192)
STEPS = 1000
HIDDEN = 0.15


def steps_of(turn: Turn, *, data: Path, recipe: Recipe, way: str) -> None:
    """Steps of our loop, with attention the one way or the other."""
    if way == EVERYTHING:
        inputs._takes_parts = lambda _model: False  # as it was, and as it is on a GPU
    sides.ours(turn, data=data, recipe=recipe, steps=STEPS, spread=20, computing=Computing(precision="float32"))


def compare_ways(data: Path, name: str, length: int, tokens: int, rounds: int, clock: Clock) -> None:
    """Both ways on rows of a length, as many as make so many tokens."""
    recipe = recipe_named(name)
    rows = max(1, tokens // length)
    recipe = replace(recipe, settings=replace(recipe.settings, length=length, batch_size=rows, micro_batch=rows))
    contenders = {way: partial(steps_of, data=data, recipe=recipe, way=way) for way in (EVERYTHING, SEEN)}
    seconds = race(contenders, rounds, threads=THREADS[clock], clock=clock)
    print(f"\n{name}, {rows} rows of {length:,} tokens: a step over {SEEN} is ", end="")
    print(f"{ratios(seconds, EVERYTHING, SEEN):.2f} times as fast as under {EVERYTHING}")
    for way in contenders:
        print(f"  {way}: {Spread.of(seconds[way]):.3f} s", flush=True)


def growing(length: int, *, local: bool) -> Callable[[], None]:
    """Both passes of mini on one row: of its local layers alone, or of all with the loss."""
    config = modernbert(SIZES["mini"], VOCABULARY, length, 0.0)
    if local:
        config.layer_types = ["sliding_attention"] * config.num_hidden_layers
    model = AutoModelForMaskedLM.from_config(config, attn_implementation="sdpa")
    use_cpu_kernels(model)
    draw = np.random.default_rng(0)
    ids = draw.integers(5, VOCABULARY.size, (1, length))
    predicted = np.sort(draw.choice(length, int(HIDDEN * length), replace=False))
    batch = Batch(
        ids, np.arange(length)[None], np.ones_like(ids), predicted, ids.reshape(-1)[predicted], np.zeros(1, dtype=int)
    )

    def take() -> None:
        if local:
            states = model.base_model(**inputs.as_inputs(model, batch)).last_hidden_state
            states.backward(torch.ones_like(states))
        else:
            masked_lm_loss(model, batch).loss.backward()
        model.zero_grad()

    return take


def print_growth(rounds: int, clock: Clock) -> None:
    """How time grows with the length, the lengths taking turns."""
    keep_large_blocks()
    torch.set_num_threads(THREADS[clock])
    now = CLOCKS[clock]
    takes = {(length, local): growing(length, local=local) for length in GROWING for local in (True, False)}
    seconds: dict[tuple[int, bool], list[float]] = {point: [] for point in takes}
    work = {}
    for point, take in takes.items():
        take()
        with FlopCounterMode(display=False, custom_mapping=UNCOUNTED) as counter:
            take()
        work[point] = counter.get_total_flops()
    for _ in range(rounds):
        for point, take in takes.items():
            begun = now()
            take()
            seconds[point].append(now() - begun)
    print("\n| tokens | local layers, ms | all, ms | GFLOP of all |\n|---|---|---|---|")
    medians = {point: statistics.median(values) for point, values in seconds.items()}
    for length in GROWING:
        local, whole = (1e3 * medians[length, each] for each in (True, False))
        print(f"| {length:,} | {local:.1f} | {whole:.1f} | {work[length, False] / 1e9:.1f} |")
    of_local, of_all = (slope(GROWING, [medians[length, each] for length in GROWING]) for each in (True, False))
    of_work = slope(GROWING, [float(work[length, False]) for length in GROWING])
    print(f"slopes: local layers {of_local:.2f}, all {of_all:.2f}, the work of all {of_work:.2f}")


def main(
    data: Path,
    /,
    recipe: str = "mini",
    lengths: tuple[int, ...] = (4096,),
    tokens: int = 8192,
    rounds: int = 12,
    clock: Clock = "wall",
) -> None:
    """Set both ways side by side, and see how time grows."""
    for length in lengths:
        compare_ways(data, recipe, length, tokens, rounds, clock)
    if recipe == "mini":
        print_growth(rounds, clock)


if __name__ == "__main__":
    tyro.cli(main)
