"""Sentinels: enough of them for any row of a training, in a tokenizer that reads text as before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from unmask.corruption.policy import restore
from unmask.corruption.schedule import corrupt_at, parse_schedule
from unmask.records import Blocks, Vocabulary
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.sentinels import USUAL, sentinels_for


@pytest.mark.parametrize("line", ["sentinel", "sentinel mean=1", "sentinel mean=2"])
@pytest.mark.parametrize("rate", ["0.15", "0.5", "linear 0.95 0.1"])
@pytest.mark.parametrize("length", [7, 400])
def test_there_are_enough_for_every_row(line: str, rate: str, length: int) -> None:
    plan = parse_schedule(line, rate)
    sentinels = tuple(range(10, 10 + sentinels_for(plan, length)))
    known = Vocabulary(10 + len(sentinels), 4, 0, 2, 3, (0, 1, 2, 3, 4, *sentinels), sentinels)
    ids = np.full((16, length), 7, dtype=np.int32)
    ids[:, 0], ids[:, -1] = 2, 3
    blocks = Blocks(ids, ids > 4, np.ones_like(ids), np.arange(16), epoch=0)
    for progress in np.linspace(0, 1, 9):
        corrupted = corrupt_at(blocks, plan, known, seed=0, progress=float(progress))
        np.testing.assert_array_equal(restore(corrupted), ids)


def test_data_with_sentinels_has_the_same_text_and_a_larger_vocabulary(data: Path, tmp_path: Path) -> None:
    plain = Dataset.open(data)
    more = plain.with_sentinels(USUAL)
    assert more.with_sentinels(5) is more and more.fingerprint == plain.fingerprint
    assert more.vocabulary.size == plain.vocabulary.size + USUAL
    assert more.vocabulary.sentinels == tuple(range(plain.vocabulary.size, more.vocabulary.size))
    assert set(more.vocabulary.sentinels) <= set(more.vocabulary.special)
    assert (more.vocabulary.start, more.vocabulary.end) == (plain.vocabulary.start, plain.vocabulary.end)
    assert more.vocabulary.counts is not None and plain.vocabulary.counts is not None
    assert more.vocabulary.counts[: plain.vocabulary.size].tolist() == plain.vocabulary.counts.tolist()
    assert not more.vocabulary.counts[plain.vocabulary.size :].any()
    more.write_tokenizer(tmp_path, 512)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
    text = "The king sees the garden."
    assert tokenizer(text).input_ids == plain.tokenizer()(text).input_ids
    assert tokenizer("<extra_id_0>", add_special_tokens=False).input_ids == [more.vocabulary.sentinels[0]]
