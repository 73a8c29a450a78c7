"""Which precision is the fastest here that ends at the same loss: what `--precision auto` stands for.

In: how a run is to be computed, and where. Out: bfloat16 or float32, settled once, before the first step; the run keeps
it. float16 is never taken: its range is short, and steps that overflow are lost.

    --reproducible                            float32
    a GPU that computes in bfloat16           bfloat16
    a CPU that has instructions for products in bfloat16, layers not compiled
                                              bfloat16
    everything else                           float32

Torch's attention, which bfloat16 makes slower on CPUs, stays float32 there (`models.kernels`), so that every family
gains what products gain. What the processor has decides, and not a measurement, which another program could turn: the
same command gives the same weights.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf

import torch

from unmask.training.machine.computing import Computing
from unmask.training.machine.processor import half_precision_works, multiplies_bfloat16
from unmask.training.precision import AUTO, PRECISIONS

TRIALS, SIDE = 6, 1024  # matrix products that find out how fast this machine is, and how large they are
SINGLE, HALF = "float32", "bfloat16"


def fastest_precision(computing: Computing, device: torch.device, *, reproducible: bool = False) -> str:
    """The precision that was asked for or, where that is left open, the fastest on this device."""
    if computing.precision != AUTO:
        return computing.precision
    if reproducible:
        return SINGLE
    if device.type == "cuda":
        return HALF if torch.cuda.is_bf16_supported(including_emulation=False) else SINGLE
    return fastest_product() if device.type == "cpu" and not computing.compile else SINGLE


def fastest_product() -> str:
    """The precision whose products make steps faster on this machine's processors."""
    if not half_precision_works():  # asked before the first product, or it is too late
        return SINGLE
    return HALF if multiplies_bfloat16() else SINGLE


def product_speed(precision: str, *, seconds: float = inf, side: int = SIDE) -> float:
    """Operations a second of a matrix product on this machine's processors, the best of a few quick trials."""
    matrix = torch.ones(side, side, dtype=PRECISIONS[precision])
    best, begin = inf, time.perf_counter()
    for _ in range(TRIALS):
        start = time.perf_counter()
        matrix @ matrix
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - begin > seconds:
            break
    return 2 * side**3 / best


def product_speeds(ways: Sequence[tuple[str, int]]) -> list[float]:
    """Operations a second of a matrix product in each precision on so many threads, the best of a few trials.

    They take turns, so that whatever else the machine does falls on all of them.
    """
    matrices = [torch.ones(SIDE, SIDE, dtype=PRECISIONS[precision]) for precision, _ in ways]
    best, before = [inf] * len(ways), torch.get_num_threads()
    try:
        for _ in range(TRIALS):
            for place, (matrix, (_, threads)) in enumerate(zip(matrices, ways, strict=True)):
                torch.set_num_threads(threads)
                start = time.perf_counter()
                matrix @ matrix
                best[place] = min(best[place], time.perf_counter() - start)
    finally:
        torch.set_num_threads(before)
    return [2 * SIDE**3 / seconds for seconds in best]
