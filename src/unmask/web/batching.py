"""Requests that wait for the same model are answered together.

In: from many threads, items with what answers them. Out: a future for each request. A model has one thread; while it
computes, requests gather, and the next batch takes all that ask the same way (`kind`), so nobody waits for a batch to
fill up. A request that was given up before its turn costs nothing; one that fails in company is tried alone.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from unmask.errors import UnmaskError

Answerer = Callable[[list[Any]], Sequence[Any]]  # an answer for each item


class Busy(UnmaskError):
    """More requests wait than may."""


@dataclass
class Load:
    """How much there is to do, over all models."""

    capacity: int
    unfinished: int = 0  # requests that are computed or wait for it
    batches: int = 0  # that were computed
    batched: int = 0  # requests in them
    lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self) -> None:
        """One more request, if there is room for it."""
        with self.lock:
            if self.unfinished >= self.capacity:
                raise Busy(f"{self.capacity} requests are waiting already; try again in a moment")
            self.unfinished += 1

    def leave(self, _future: Future[Any] | None = None) -> None:
        """One less."""
        with self.lock:
            self.unfinished -= 1

    def count(self, requests: int) -> None:
        """A batch is taken up."""
        with self.lock:
            self.batches += 1
            self.batched += requests


@dataclass(eq=False)
class WaitingRequest:
    """Items that wait for their answers."""

    kind: Hashable
    items: list[Any]
    answerer: Answerer
    future: Future[list[Any]] = field(default_factory=Future)


class BatchWorker:
    """The thread of a model."""

    def __init__(self, name: str, load: Load, together: int) -> None:
        self.load, self.together = load, together
        self.waiting: deque[WaitingRequest] = deque()
        self.changed = threading.Condition()
        threading.Thread(target=self._work, name=f"answers of {name}", daemon=True).start()

    def submit(self, kind: Hashable, items: list[Any], answerer: Answerer) -> Future[list[Any]]:
        """Have items answered, with those of others of the same kind."""
        self.load.enter()
        request = WaitingRequest(kind, items, answerer)
        request.future.add_done_callback(self.load.leave)
        with self.changed:
            self.waiting.append(request)
            self.changed.notify()
        return request.future

    def _work(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.waiting)
                batch = self._take()
            batch = [request for request in batch if request.future.set_running_or_notify_cancel()]
            if batch:
                self.load.count(len(batch))
                _answer(batch)

    def _take(self) -> list[WaitingRequest]:
        """The first that waits, and of the others those that can be answered with it."""
        first = self.waiting.popleft()
        batch, items = [first], len(first.items)
        for request in list(self.waiting):
            if request.kind == first.kind and items + len(request.items) <= self.together:
                self.waiting.remove(request)
                batch.append(request)
                items += len(request.items)
        return batch


def _answer(batch: list[WaitingRequest]) -> None:
    try:
        answers = iter(batch[0].answerer([item for request in batch for item in request.items]))
        shares = [[next(answers) for _ in request.items] for request in batch]
    except BaseException as error:
        if len(batch) == 1:
            batch[0].future.set_exception(error)
            return
        for request in batch:
            _answer([request])
        return
    for request, share in zip(batch, shares, strict=True):
        request.future.set_result(share)
