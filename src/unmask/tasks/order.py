"""The order of examples through all epochs: which ones a stretch of the run has, as a function of its numbers.

In: how much work each example is, and a seed. Out: the numbers of examples. Neither torch nor a tokenizer is needed
here: processes that prepare ahead compute it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from unmask.records import Integers
from unmask.tokens.pack import random_order

POOL = 50  # steps' worth of examples that are put in order by their work together


@dataclass(frozen=True, eq=False, kw_only=True)
class ExampleOrder:
    """Every epoch has an order of its own, in which a step has examples of like length."""

    work: Integers  # N: the tokens of each example, which those of a step have about the same of
    batch_size: int  # examples in a step
    seed: int

    @property
    def per_epoch(self) -> int:
        """How many examples an epoch has."""
        return len(self.work)

    def examples(self, begin: int, end: int) -> Integers:
        """Which examples these numbers of the whole run are; they may lie in two epochs, or in many."""
        epochs, places = np.divmod(np.arange(begin, end), self.per_epoch)
        return np.array([_epoch_order(self, int(epoch))[place] for epoch, place in zip(epochs, places, strict=True)])


@lru_cache(maxsize=4)  # a step may lie in two epochs, or on few examples in more
def _epoch_order(order: ExampleOrder, epoch: int) -> Integers:
    """The order of an epoch: at random, but a step has examples of like length, so that little of it is padding.

    Steps go on from one epoch into the next: the first examples complete a step that the one before has begun.
    """
    count, size = order.per_epoch, order.batch_size
    shuffled = random_order(count, order.seed, epoch, 1)
    lead = -epoch * count % size
    first, others = shuffled[:lead], shuffled[lead:]
    pools = [others[begin : begin + POOL * size] for begin in range(0, len(others), POOL * size)]
    pools = [pool[np.argsort(order.work[pool], kind="stable")] for pool in pools]
    alike = np.concatenate(pools) if pools else others
    whole = len(alike) // size
    steps = alike[: whole * size].reshape(whole, size)[random_order(whole, order.seed, epoch, 2)]
    return np.concatenate((first, steps.reshape(-1), alike[whole * size :]))
