"""Who waits for the same model is answered together; who fails in company is tried alone."""

from __future__ import annotations

import threading

import pytest

from unmask.web.batching import BatchWorker, Busy, Load


def test_what_gathers_while_the_model_computes_is_one_batch_of_a_kind() -> None:
    began, go_on, batches = threading.Event(), threading.Event(), []

    def answer(items: list[int]) -> list[int]:
        batches.append(items)
        began.set()
        go_on.wait(10)
        return [10 * item for item in items]

    worker = BatchWorker("model", Load(100), together=4)
    first = worker.submit("a", [0], answer)
    began.wait(10)
    others = [worker.submit(kind, [number], answer) for number, kind in enumerate("aabaaa", start=1)]
    others[0].cancel()  # given up before its turn
    go_on.set()
    assert first.result(10) == [0]
    assert [future.result(10) for future in others[1:]] == [[20], [30], [40], [50], [60]]
    assert batches == [[0], [2, 4, 5], [3], [6]] or batches == [[0], [2, 4, 5, 6], [3]]


def test_one_bad_request_does_not_spoil_the_others() -> None:
    began, go_on = threading.Event(), threading.Event()

    def answer(items: list[int]) -> list[int]:
        began.set()
        go_on.wait(10)
        return [1 // item for item in items]

    load = Load(4)
    worker = BatchWorker("model", load, together=64)
    first = worker.submit("a", [1], answer)
    began.wait(10)
    good, bad = worker.submit("a", [1], answer), worker.submit("a", [0], answer)
    worker.submit("b", [1], answer)
    with pytest.raises(Busy, match="4 requests are waiting already"):
        worker.submit("a", [1], answer)
    go_on.set()
    assert first.result(10) == good.result(10) == [1]
    with pytest.raises(ZeroDivisionError):
        bad.result(10)
