"""What each step trains on: spans as the data marks them, and masks that are fresh or static."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unmask.pretraining.batches import BlockRange
from unmask.pretraining.feed import Feed
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.settings import PretrainSettings, Recipe
from unmask.records import Batch
from unmask.tokens.prepare import prepare
from unmask.tokens.store.dataset import Dataset
from unmask.training.job import MicroBatch, micro_batches_of
from unmask.training.timetable import Timetable

SETTINGS = PretrainSettings(length=32, batch_size=8, micro_batch=4, rate="0.3")


def feed_of(settings: PretrainSettings, data: Path, family: str = "modernbert") -> Feed:
    made = Recipe(name="test", family=family, size="tiny", settings=settings)
    return Pretraining.of(Dataset.open(data), made).feed(Timetable(100))


def with_batches(feed: Feed, **changes: object) -> Feed:
    return replace(feed, preparer=replace(feed.preparer, **changes))


def fields(micro_batches: list[MicroBatch]) -> list[list[object]]:
    return [
        [getattr(micro.batch, name).tolist() for name in ("ids", "predicted", "targets")] for micro in micro_batches
    ]


def epochs(feed: Feed) -> list[list[list[object]]]:
    """The first two epochs, block by block."""
    each = with_batches(feed, batch_size=1, micro_batch=1)
    blocks = each.preparer.plan(0).blocks
    return [[fields(micro_batches_of(each, epoch * blocks + number)) for number in range(blocks)] for epoch in (0, 1)]


@pytest.mark.parametrize("policy", ["token", "span 0.7, token 0.3"])
def test_masks_are_fresh_in_each_epoch_unless_they_are_asked_to_be_static(data: Path, policy: str) -> None:
    fresh = feed_of(replace(SETTINGS, policy=policy), data)
    static = feed_of(replace(SETTINGS, policy=policy, static_masks=True), data)
    first, second = epochs(fresh)
    assert first != second
    again, once_more = epochs(static)
    assert again == once_more == first  # as those of the first epoch
    rows = static.preparer.plan(0).blocks + 3  # one batch over the end of an epoch
    across = with_batches(static, batch_size=rows, micro_batch=rows)
    batch = micro_batches_of(across, 0)[0].batch
    assert (batch.ids[:3] == batch.ids[-3:]).all()


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data in which every text has the entity `xx yy` and the phrase `zz zz zz`, found nowhere else."""
    folder = tmp_path_factory.mktemp("marked")
    texts = [f"the number {n} of {'many ' * (n % 7)}towns is xx yy and zz zz zz or so" for n in range(300)]
    lines = [
        {"text": text, "spans": [[a := text.index("xx"), a + 5, "entity"], [b := text.index("zz"), b + 8, "phrase"]]}
        for text in texts
    ]
    (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    prepare([str(folder / "in.jsonl")], folder / "data", valid=0.1)
    return folder / "data"


def whole(batches: list[Batch], originals: list[int], size: int) -> bool:
    """Whether the tokens of a span are predicted all or not at all, in every row."""
    fates = set()
    for batch in batches:
        ids = batch.ids.ravel().copy()
        ids[batch.predicted] = batch.targets
        hidden = np.zeros(len(ids), dtype=bool)
        hidden[batch.predicted] = True
        places = np.flatnonzero(np.isin(ids, originals))
        assert len(places) and len(places) % size == 0
        fates |= {tuple(fate) for fate in hidden[places].reshape(-1, size).tolist()}
    return fates == {(True,) * size, (False,) * size}


def test_what_the_data_marks_is_hidden_whole_stage_by_stage(marked: Path) -> None:
    dataset = Dataset.open(marked)
    vocabulary = dataset.tokenizer().get_vocab()
    xx_yy, zz = [vocabulary["xx"], vocabulary["yy"]], [vocabulary["zz"]]
    plan = replace(SETTINGS, policy="token until 0.3; phrase until 0.6; entity")
    feed = feed_of(plan, marked)
    assert set(feed.preparer.spans) == {"entity", "phrase"}

    def stage(first: int) -> list[Batch]:
        return [micro.batch for step in range(first, first + 20) for micro in micro_batches_of(feed, step)]

    assert [whole(stage(first), xx_yy, 2) for first in (5, 35, 75)] == [False, False, True]
    assert [whole(stage(first), zz, 3) for first in (5, 35, 75)] == [False, True, False]


def test_a_list_of_phrases_stands_instead_of_what_the_data_marks(marked: Path, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("towns is\n")
    listed = replace(SETTINGS, policy="entity", phrases=str(tmp_path / "list.txt"))
    feed = feed_of(listed, marked)
    vocabulary = Dataset.open(marked).tokenizer().get_vocab()
    batches = [micro.batch for step in range(20) for micro in micro_batches_of(feed, step)]
    assert feed.preparer.spans == {} and whole(batches, [vocabulary["towns"], vocabulary["is"]], 2)


def test_what_nobody_marked_is_mined_and_what_its_list_says_is_hidden_whole(marked: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(marked, tmp_path / "data"))
    feed = feed_of(replace(SETTINGS, policy="entity 0.5, collocation 0.5"), data)
    assert set(feed.preparer.spans) == {"entity"} and set(feed.preparer.marks) == {"collocation"}
    assert "zz zz zz" in (data / "collocations.txt").read_text()
    (data / "collocations.txt").write_text("xx yy\n")
    feed = feed_of(replace(SETTINGS, policy="collocation"), data)
    vocabulary = Dataset.open(data).tokenizer().get_vocab()
    batches = [micro.batch for step in range(20) for micro in micro_batches_of(feed, step)]
    assert whole(batches, [vocabulary["xx"], vocabulary["yy"]], 2)


def test_without_packing_each_row_is_one_document_and_widths_are_few(data: Path) -> None:
    feed = feed_of(replace(SETTINGS, length=60), data, family="deberta")
    batches = [micro.batch for step in range(20) for micro in micro_batches_of(feed, step)]
    assert max(batch.documents.max() for batch in batches) == 1
    assert {batch.ids.shape[1] for batch in batches} <= {16, 32, 48, 60}


SCHEDULED = replace(SETTINGS, length="32 until 0.5; 128")


def test_blocks_become_longer_when_the_schedule_says_so_and_steps_keep_their_tokens(data: Path) -> None:
    feed = feed_of(SCHEDULED, data)
    steps = [micro_batches_of(feed, step) for step in (0, 49, 50, 99)]
    widths = [{micro.batch.ids.shape[1] for micro in step} for step in steps]
    assert max(widths[0] | widths[1]) <= 32 < min(widths[2] | widths[3])
    assert [[len(micro.batch.ids) for micro in step] for step in steps] == [[4, 4], [4, 4], [1, 1], [1, 1]]
    numbers = [micro.number for step in steps for micro in step]
    assert len(set(numbers)) == len(numbers), "each has draws of its own"


@pytest.mark.parametrize("family", ["modernbert", "deberta"])
def test_an_epoch_has_the_same_text_at_each_length(data: Path, family: str) -> None:
    batches = feed_of(SCHEDULED, data, family).preparer
    texts = []
    for length in (32, 128):
        at_length = batches.at_length(length)
        batch = at_length.batch(BlockRange(0, at_length.per_epoch, False, 0.0))
        inside = ~batches.vocabulary.is_special[batch.ids] & (batch.documents > 0)
        texts.append(np.sort(batch.ids[inside]))
    np.testing.assert_array_equal(*texts)
    assert batches.at_length(128).per_epoch < batches.per_epoch / 2


def test_a_feed_of_one_length_is_the_part_of_a_schedule_that_has_it(data: Path) -> None:
    scheduled = feed_of(SCHEDULED, data)
    short, long = (
        feed_of(replace(SETTINGS, length=length, batch_size=rows, micro_batch=rows // 2), data)
        for length, rows in ((32, 8), (128, 2))
    )
    for step in (0, 31, 50, 77):
        other = short if step < 50 else long
        assert fields(micro_batches_of(scheduled, step)) == fields(micro_batches_of(other, step))
        assert scheduled.rows(step) == other.rows(step)


def test_where_long_blocks_are_fewer_than_micro_batches_each_is_one(data: Path) -> None:
    feed = feed_of(replace(SCHEDULED, micro_batch=2), data)
    assert feed.micro_batches == 4
    assert [len(list(feed.plan_step(step))) for step in (0, 99)] == [4, 2]
    planned = [each.request for index in range(4) for each in feed.plan_step(99, [index])]
    assert [(each.begin, each.end) for each in planned] == [(198, 199), (199, 200)]
