"""A process that prepares batches ahead of the training loop.

In, on standard input: what prepares batches once, then requests. Out, on standard output: a batch for each, in the
order they were asked for, or none where it cannot be prepared. It ends when whoever started it closes the pipe or
dies, so it is never left over.

Messages are pickled, between two processes of one run on private pipes; no file is ever unpickled.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import IO, Any

LENGTH = 8  # bytes that say how long a message is


def send_message(pipe: IO[bytes], message: Any) -> None:
    """Write one message."""
    text = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(len(text).to_bytes(LENGTH, "little"))
    pipe.write(text)
    pipe.flush()


def receive_message(pipe: IO[bytes]) -> Any:
    """Read one message; `EOFError` where the other side is gone, be it in the middle of a message."""
    length = int.from_bytes(_exactly(pipe, LENGTH), "little")
    return pickle.loads(_exactly(pipe, length))


def _exactly(pipe: IO[bytes], count: int) -> bytes:
    text = pipe.read(count)
    if len(text) < count:
        raise EOFError
    return text


def _prepare(preparer: Any, request: Any) -> Any:
    try:
        return preparer.batch(request)
    except Exception:
        return None  # the loop, which then prepares it, has the error where somebody sees it


def main() -> None:
    """Prepare what is asked for until nobody asks any more."""
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a stray print must not come between two batches
    try:
        preparer = receive_message(requests)
        while True:
            send_message(replies, _prepare(preparer, receive_message(requests)))
    except (EOFError, BrokenPipeError):
        pass
    finally:
        os._exit(0)  # nothing here needs cleaning up, and what is buffered has no reader


if __name__ == "__main__":
    main()
