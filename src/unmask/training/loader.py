"""Batches prepared ahead of the loop, by processes of their own.

In: a source and the first step. Out: the micro-batches of that step and the following ones, the same whoever prepares
them: a batch is a function of its request. Each process holds one batch ready and a few more asked for.

A process that dies is noticed, said and started again with what it still owed; where they keep dying, or a batch
cannot be prepared, the loop prepares for itself, and an error comes up where its cause is.

On a CPU the loop prepares a batch in about 0.3 % of the time it trains on it (3 million tokens/s against 10 thousand),
so there no process is started unless one is asked for; a GPU has two.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count, islice
from types import TracebackType
from typing import Any

from unmask.progress import say
from unmask.training.job import MicroBatch, Preparer, Request, Source
from unmask.training.worker import receive_message, send_message

AHEAD = 3  # batches asked of a process: one in the pipe, one in its hands, one to go on with
DEATHS = 3  # of processes, after which the loop prepares for itself
PIPE = 1 << 20  # bytes that a pipe holds: a whole batch of mini, where Linux's usual 64 KB are half of one
LEAVING = 5.0  # seconds between the end of a pipe and the end of its process
PIPE_ERRORS = (EOFError, OSError)


class Worker:
    """One process, what it was asked for and what it still owes."""

    def __init__(self, preparer: Preparer) -> None:
        self.preparer = preparer
        self.pending: deque[Request] = deque()
        self._start()

    def _start(self) -> None:
        # a session of its own: Ctrl-C is for the loop, which then closes the pipes
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "unmask.training.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.requests_pipe, self.replies_pipe = self.process.stdin, self.process.stdout
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with suppress(OSError):  # more than this user may have
                fcntl.fcntl(self.replies_pipe.fileno(), fcntl.F_SETPIPE_SZ, PIPE)
        send_message(self.requests_pipe, self.preparer)
        for request in self.pending:
            send_message(self.requests_pipe, request)

    def ask(self, request: Request) -> None:
        """Have a batch prepared."""
        self.pending.append(request)
        with suppress(*PIPE_ERRORS):  # noticed when the batch is waited for
            send_message(self.requests_pipe, request)

    def take(self) -> Any:
        """The first batch that is owed, none where it cannot be prepared; owed still where the process is gone."""
        batch = receive_message(self.replies_pipe)
        self.pending.popleft()
        return batch

    def restart(self) -> str:
        """Start again with everything that is owed; what the process had died of."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(LEAVING)
        code = self.end()
        self._start()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def end(self) -> int:
        """End the process, which has nothing to lose."""
        self.process.kill()
        for pipe in (self.requests_pipe, self.replies_pipe):
            with suppress(OSError):  # what was still to be sent
                pipe.close()
        return self.process.wait()


class Loader:
    """The micro-batches of one step after the other, prepared by so many processes; with none, by the loop itself."""

    def __init__(self, source: Source, share: Sequence[int], *, first: int = 0, workers: int = 0) -> None:
        self.source, self.share = source, share
        self.requests = self._requests(first)
        self.requests_sent = self.batches_received = 0  # batches: who prepares one follows from its number
        self.deaths = 0
        self.workers: list[Worker] = []
        try:
            for _ in range(workers):
                self.workers.append(Worker(source.preparer))
        except PIPE_ERRORS as error:
            self._give_up(f"cannot be started ({error})")

    def micro_batches(self, step: int) -> list[MicroBatch]:
        """The micro-batches of a step; steps are asked for in their order."""
        planned_batches = self.source.plan_step(step, self.share)
        return [
            MicroBatch(planned_batch.number, planned_batch.objective, self._batch(planned_batch.request))
            for planned_batch in planned_batches
        ]

    def _batch(self, request: Request) -> Any:
        while self.workers:
            self._ask()
            if self.requests_sent == self.batches_received:  # beyond the last step: nobody was asked for it
                break
            worker = self.workers[self.batches_received % len(self.workers)]
            asked = worker.pending[0]
            try:
                batch = worker.take()
            except PIPE_ERRORS:
                self._restart(worker)
                continue
            self.batches_received += 1
            if batch is None or asked != request:  # which was asked for before the end was planned again
                break
            return batch
        return self.source.preparer.batch(request)

    def _requests(self, first: int) -> Iterator[Request | None]:
        """What there is to ask for, step by step; none for as long as the last step, as it is planned, is asked for."""
        for step in count(first):
            while step >= self.source.timetable.steps:
                yield None
            for planned_batch in self.source.plan_step(step, self.share):
                yield planned_batch.request

    def _ask(self) -> None:
        """Ask for as much as may be prepared ahead, each process in its turn."""
        for request in islice(self.requests, AHEAD * len(self.workers) - (self.requests_sent - self.batches_received)):
            if request is None:
                break
            self.workers[self.requests_sent % len(self.workers)].ask(request)
            self.requests_sent += 1

    def _restart(self, worker: Worker) -> None:
        self.deaths += 1
        if self.deaths > DEATHS:
            self._give_up(f"died {self.deaths} times")
            return
        try:
            say(f"[yellow]a process that prepares data died ({worker.restart()}) and was started again[/]")
        except PIPE_ERRORS as error:
            self._give_up(f"cannot be started again ({error})")

    def _give_up(self, why: str) -> None:
        say(f"[yellow]processes that prepare data {why}: from here on the training loop prepares for itself[/]")
        self.close()

    def close(self) -> None:
        """End the processes."""
        workers, self.workers = self.workers, []
        for worker in workers:
            worker.end()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
