"""General text is a little among the domain's: evenly over the steps, each block once, whoever computes it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from unmask.adapting.replay import ReplayedBatches, ReplayFeed
from unmask.corruption.schedule import parse_schedule
from unmask.objectives.curriculum import parse_curriculum
from unmask.pretraining.batches import MaskedBatches
from unmask.tokens.store.dataset import Dataset
from unmask.training.job import micro_batches_of
from unmask.training.timetable import Timetable


def feed(data: Path, share: float, batch_size: int = 8, micro_batch: int = 3) -> ReplayFeed:
    dataset = Dataset.open(data)
    text = MaskedBatches(
        stream=dataset.split("train"),
        vocabulary=dataset.vocabulary,
        masking=parse_schedule("token", 0.15),
        length=32,
        batch_size=batch_size,
        micro_batch=micro_batch,
        seed=0,
    )
    batches = ReplayedBatches(domain=text, general=text if share else None)
    return ReplayFeed(
        preparer=batches,
        curriculum=parse_curriculum("mlm"),
        timetable=Timetable(40),
        batch_size=batch_size,
        micro_batch=micro_batch,
        share=share,
        seed=0,
    )


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3])
def test_every_block_comes_once_and_in_order_and_the_share_is_kept(data: Path, share: float) -> None:
    source = feed(data, share)
    seen: dict[bool, list[int]] = {True: [], False: []}
    for step in range(40):
        requests = [planned.request for planned in source.plan_step(step)]
        assert sum(each.blocks.end - each.blocks.begin for each in requests) == 8
        for each in requests:
            seen[each.general] += range(each.blocks.begin, each.blocks.end)
    assert seen[False] == list(range(len(seen[False]))) and seen[True] == list(range(len(seen[True])))
    assert len(seen[True]) == int(320 * share + 1e-9)


def test_processes_share_a_step_out_and_prepare_it_alike(data: Path) -> None:
    source, other = feed(data, 0.3), pickle.loads(pickle.dumps(feed(data, 0.3).preparer))
    whole = [*source.plan_step(5)]
    parts = [planned for index in range(source.micro_batches) for planned in source.plan_step(5, [index])]
    assert whole == parts
    for planned, prepared in zip(whole, micro_batches_of(source, 5), strict=True):
        again = other.batch(planned.request)
        assert (again.ids == prepared.batch.ids).all() and (again.targets == prepared.batch.targets).all()
