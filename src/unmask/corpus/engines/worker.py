"""A process that runs a function over parts for the one that started it.

In, on a pipe whose number is its argument: the function, then parts. Out, for each: how far it is, then what came of it
or the error. It ends when the other side closes the pipe; and at once, in the midst of a part, when the other side is
gone, so that nobody writes where the next run does: then its standard input ends.

Messages are pickled, between two processes of one run on a private pipe; no file is ever unpickled.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Thread


def main(pipe: Connection) -> None:
    """Work on parts until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it ends it
    Thread(target=_end_with_the_other_side, daemon=True).start()

    def report(count: int, documents: int) -> None:
        pipe.send(("progress", count, documents))

    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        work = pipe.recv()
        while True:
            part = pipe.recv()
            try:
                answer = ("done", work(part, report))
            except Exception as error:
                answer = ("error", error)
            pipe.send(answer)


def _end_with_the_other_side() -> None:
    sys.stdin.buffer.read()  # nothing is ever written to it
    os._exit(1)


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
