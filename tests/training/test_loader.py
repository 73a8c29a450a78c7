"""Real processes that prepare ahead, killed on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from unmask.errors import Damaged
from unmask.pretraining.batches import BlockRange
from unmask.pretraining.feed import Feed
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.records import Batch
from unmask.tokens.store.dataset import Dataset
from unmask.training import loader
from unmask.training.job import MicroBatch, micro_batches_of
from unmask.training.loader import Loader
from unmask.training.timetable import Timetable

STEPS = 30


@pytest.fixture(scope="module")
def feed(data: Path) -> Feed:
    plan = recipe_named("tiny", length=32, batch_size=10, micro_batch=4, policy="span 0.7, token 0.3")
    return Pretraining.of(Dataset.open(data), plan).feed(Timetable(STEPS))


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(loader, "say", lines.append)
    return lines


def same(some: list[MicroBatch], others: list[MicroBatch]) -> bool:
    return [each.number for each in some] == [each.number for each in others] and all(
        np.array_equal(getattr(one.batch, each.name), getattr(other.batch, each.name))
        for one, other in zip(some, others, strict=True)
        for each in fields(Batch)
    )


@pytest.mark.parametrize(("workers", "share", "first"), [(0, range(3), 0), (1, range(3), 7), (2, range(1, 3), 5)])
def test_micro_batches_are_the_same_whoever_prepares_them_and_wherever_one_begins(
    feed: Feed, workers: int, share: range, first: int
) -> None:
    with Loader(feed, share, first=first, workers=workers) as loading:
        assert len(loading.workers) == workers
        assert all(
            same(loading.micro_batches(step), micro_batches_of(feed, step, share)) for step in range(first, STEPS)
        )


def test_a_step_beyond_the_last_is_prepared_by_whoever_asks(feed: Feed) -> None:
    with Loader(feed, range(3), first=STEPS - 2, workers=2) as loading:
        assert all(
            same(loading.micro_batches(step), micro_batches_of(feed, step)) for step in range(STEPS - 2, STEPS + 2)
        )


def test_what_is_prepared_ahead_is_bounded(feed: Feed) -> None:
    with Loader(feed, range(3), workers=2) as loading:
        for step in range(4):
            loading.micro_batches(step)
            assert 0 < loading.requests_sent - loading.batches_received < loader.AHEAD * 2


def test_a_killed_process_is_said_and_started_again_and_after_three_deaths_the_loop_prepares_for_itself(
    feed: Feed, said: list[str]
) -> None:
    with Loader(feed, range(3), workers=2) as loading:
        for step in range(STEPS):
            if step in (3, 9, 15, 21):
                loading.workers[step % 2].process.kill()
            assert same(loading.micro_batches(step), micro_batches_of(feed, step))
        assert loading.workers == []
    assert said == [
        *["[yellow]a process that prepares data died (SIGKILL) and was started again[/]"] * 3,
        "[yellow]processes that prepare data died 4 times: from here on the training loop prepares for itself[/]",
    ]


def test_where_no_process_can_be_started_the_loop_prepares_for_itself(
    feed: Feed, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with Loader(feed, range(3), workers=2) as loading:
        assert same(loading.micro_batches(0), micro_batches_of(feed, 0))
    assert len(said) == 1 and "cannot be started" in said[0]


def test_an_error_comes_up_in_the_loop_with_its_cause(feed: Feed, said: list[str]) -> None:
    vocabulary = replace(feed.preparer.vocabulary, size=100)
    damaged = replace(feed, preparer=replace(feed.preparer, vocabulary=vocabulary))
    with Loader(damaged, range(3), workers=1) as loading, pytest.raises(Damaged, match="unmask verify"):
        loading.micro_batches(0)
    assert said == []


def test_no_process_is_left_over(feed: Feed) -> None:
    with pytest.raises(ZeroDivisionError), Loader(feed, range(3), workers=2) as loading:
        processes = [worker.process for worker in loading.workers]
        loading.micro_batches(0)
        raise ZeroDivisionError
    assert [process.poll() for process in processes] == [-signal.SIGKILL] * 2


def test_a_process_whose_starter_is_gone_ends_by_itself(feed: Feed) -> None:
    for pipe in ("requests_pipe", "replies_pipe"):  # the kernel closes both ends of whoever is killed
        with Loader(feed, range(3), workers=1) as loading:
            loading.micro_batches(0)
            with suppress(BrokenPipeError):
                getattr(loading.workers[0], pipe).close()
            loading.workers[0].ask(BlockRange(0, 4, True, 0.0)) if pipe == "telling" else None
            assert loading.workers[0].process.wait(60) == 0


def test_a_process_that_prepares_needs_no_torch() -> None:
    ask = "import unmask.training.worker, sys; print('torch' in sys.modules or 'transformers' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "False"
