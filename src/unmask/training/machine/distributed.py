"""Many processes: who computes which micro-batch, and how they find and hear each other.

The unit of work is the micro-batch. Processes share the micro-batches of a step out among themselves and add up what
they found (`training.gradients`), so the number of processes changes who computes, not what is computed. A sum in
another order differs in its last bits; with `reproducible` there is one order, and then the weights have the same hash
on any number of processes (with the same number of threads in each).

`torchrun --nproc-per-node N -m unmask pretrain …` starts N processes; a single one needs no launcher.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import count, islice
from typing import TypeVar

import torch
from torch import distributed
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from unmask.errors import BadInput, Lost

T = TypeVar("T")

PATIENCE = timedelta(seconds=60)  # for a process that does not answer; then torchrun starts all of them again

CPU = torch.device("cpu")
MEETINGS = count()  # how often the processes of this command have met
BACKENDS = {"cpu": "gloo", "cuda": "cpu:gloo,cuda:nccl"}  # figures are added on CPUs, gradients where they are


@dataclass(frozen=True)
class World:
    """All processes of a run, seen from one of them."""

    rank: int = 0
    size: int = 1
    reproducible: bool = False

    @property
    def first(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def share(self, count: int) -> range:
        """Which of `count` things this process does."""
        return range(self.rank, count, self.size)

    def padded_share(self, items: Iterable[T]) -> Iterator[tuple[T, bool]]:
        """This process's share of things, as many as every other has: where it has none left, another's, marked false.

        >>> [list(World(rank, 2).padded_share("abc")) for rank in range(2)]
        [[('a', True), ('c', True)], [('b', True), ('c', False)]]
        """
        items = iter(items)
        while turn := list(islice(items, self.size)):
            yield turn[min(self.rank, len(turn) - 1)], self.rank < len(turn)

    def total(self, *figures: float) -> list[float]:
        """Each figure, summed over all processes."""
        if self.size == 1:
            return [float(figure) for figure in figures]
        sums = torch.tensor(figures, dtype=torch.float64)
        distributed.all_reduce(sums)
        return sums.tolist()

    def agree(self, number: int) -> int:
        """The number that the first process has, for everyone."""
        return int(self.total(number if self.first else 0)[0])

    def hand_out(self, tensors: Iterable[torch.Tensor]) -> None:
        """Put what the first process has in these tensors into everyone's."""
        if self.size > 1:
            for tensor in tensors:
                distributed.broadcast(tensor.detach(), src=0)

    def wait(self) -> None:
        """Go on when all processes are here."""
        self.total(0.0)


ALONE = World()


def launched() -> tuple[int, int]:
    """How many processes torchrun has started, and which of them this is: 1 and 0 without it."""
    try:
        return int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    except ValueError:
        raise BadInput("WORLD_SIZE and RANK in the environment are set by torchrun and are whole numbers") from None


def launcher() -> str:
    """How unmask was started here, for a command to copy: on one machine by torchrun, or else plainly."""
    size, _ = launched()
    together = size > 1 and os.environ.get("LOCAL_WORLD_SIZE") == str(size)
    return f"torchrun --nproc-per-node {size} -m unmask" if together else "unmask"


@contextmanager
def process_group(
    device: torch.device = CPU, *, micro_batches: int | None = None, reproducible: bool = False, shard: bool = False
) -> Iterator[World]:
    """The processes that torchrun started, or just this one, if a step's micro-batches can be shared out."""
    size, rank = launched()
    if size == 1:
        yield World(reproducible=reproducible)
        return
    _check_shares(size, size if micro_batches is None else micro_batches, reproducible, shard)
    if device.type not in BACKENDS:
        raise BadInput(f"--device {device.type}: many processes need CPUs or CUDA; start one, or give --device cpu")
    try:
        backend = BACKENDS[device.type]
        distributed.init_process_group(backend, store=_store(rank, size), rank=rank, world_size=size, timeout=PATIENCE)
        yield World(rank, size, reproducible)
    except RuntimeError as error:
        if not any(sign in str(error).lower() for sign in ("gloo", "nccl")):
            raise
        remedy = "torchrun --max-restarts 3 starts all of them again"
        raise Lost(f"process {rank} of {size} lost contact with the others; {remedy}") from error
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


def _check_shares(size: int, micro_batches: int, reproducible: bool, shard: bool) -> None:
    """Say why so many processes cannot share so many micro-batches."""
    if micro_batches < size:
        raise BadInput(
            f"{micro_batches} micro-batches in a step cannot keep {size} processes busy: give a smaller --micro-batch"
        )
    if shard and reproducible:
        raise BadInput("--shard adds each layer's gradients in an order of its own: leave out --reproducible")
    if shard and micro_batches % size:
        raise BadInput(
            f"--shard keeps {size} processes in step: {micro_batches} micro-batches cannot be shared out evenly; "
            "give another --batch-size or --micro-batch, or start another number of processes"
        )


def _store(rank: int, size: int) -> Store:
    """Where the processes find each other.

    torchrun keeps one store for all its attempts: without a name of its own, an attempt may read the addresses of
    processes that are gone and wait for them in vain. So may the second of several runs that one command makes, one
    after the other, which every process counts alike.
    """
    store, _, _ = next(iter(rendezvous("env://", rank, size, timeout=PATIENCE)))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return PrefixStore(f"unmask/{size}/{attempt}/{next(MEETINGS)}", store)
