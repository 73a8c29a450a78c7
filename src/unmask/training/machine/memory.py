"""Micro-batches that do not fit into memory, computed in parts.

In: something to compute and in how many parts. Out: the same sums from twice as many parts each time memory runs out.

A micro-batch remains the unit of work: its number, its rows, its objective and its share of the step stay as they
are, and a step's sums are over the same predictions, so the step is the same but for rounding. What a part draws,
dropout, comes from the micro-batch's number and the part's. How many parts there are is kept in checkpoints.

Each process finds its own number of parts; a checkpoint keeps the first one's. Gradients that are already on their way
to the other processes cannot be taken back, so in the first step of a sitting none leaves before all are computed; if
memory runs out later and on the way, the run ends with a line that says so.

Linux may kill a process instead of refusing it memory: then nothing can be halved, and --resume goes on.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

import torch

from unmask.errors import BadInput
from unmask.progress import say

T = TypeVar("T")

SIGNS = ("out of memory", "allocate memory", "not enough memory", "bad_alloc", "bad allocation")


def split_to_fit(
    compute: Callable[[int], T], start_again: Callable[[], None], *, splits: int, rows: int
) -> tuple[int, T]:
    """Compute in so many parts, or in twice as many each time memory runs out; in how many it went, and the result.

    `rows` are those of a micro-batch; `start_again` takes back what was half done.
    """
    while True:
        try:
            return splits, compute(splits)
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
        # only here is what the error held on to let go
        start_again()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if splits >= rows:
            raise BadInput(
                "out of memory: not even one row can be trained on by itself; "
                "give a smaller --length or a smaller --recipe"
            )
        splits *= 2
        say(
            f"[yellow]out of memory: micro-batches of {rows} rows are computed in {splits} parts from here on; "
            "a step stays what it is[/]"
        )


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there is no memory, in the words of Python, numpy, torch or a device."""
    return isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in SIGNS)
