"""Ctrl-C and SIGTERM: the first is remembered, the second does not wait."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from unmask.errors import Interrupted, Terminated, UnmaskError
from unmask.training.interrupt import interruptible

KINDS = [(signal.SIGINT, Interrupted), (signal.SIGTERM, Terminated)]


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(("number", "kind"), KINDS)
def test_the_first_signal_is_remembered_with_its_kind_and_the_second_ends_the_work_at_once(
    number: int, kind: type[UnmaskError]
) -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interruptible() as interruption:
        assert not interruption.pending
        send(number)
        done.append(interruption.pending)
        assert type(interruption.error("so")) is kind
        send(number)
        done.append("not reached")
    assert done == [True]


@pytest.mark.parametrize(("number", "kind"), KINDS)
def test_where_nothing_has_to_be_brought_to_an_end_the_first_ends_the_work_with_its_line(
    number: int, kind: type[UnmaskError]
) -> None:
    with interruptible() as interruption:
        with pytest.raises(kind, match=r"^nothing is lost$"), interruption.at_once("nothing is lost"):
            send(number)
            raise AssertionError("not reached")
        with pytest.raises(kind, match=r"^it had come before$"), interruption.at_once("it had come before"):
            raise AssertionError("not reached")


def test_afterwards_and_in_a_thread_signals_are_whose_they_were() -> None:
    before = [signal.getsignal(number) for number, _ in KINDS]
    heard = []
    with interruptible():
        assert [signal.getsignal(number) for number, _ in KINDS] != before
    assert [signal.getsignal(number) for number, _ in KINDS] == before

    def work() -> None:
        with interruptible() as interruption:
            heard.append((interruption.pending, [signal.getsignal(number) for number, _ in KINDS]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert heard == [(False, before)]
