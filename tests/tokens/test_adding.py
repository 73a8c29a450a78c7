from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import unmask
from unmask.errors import BadInput, Refused
from unmask.tokens.adding import OWN
from unmask.tokens.store.dataset import SPLITS, Dataset
from unmask.tokens.store.manifest import write_manifest

WORDS = ("ship", "cat", "sea", "winter", "house", "river", "stone", "bread", "night", "wind", "tree", "road")


def text(seed: int, words: int = 60) -> str:
    draw = np.random.default_rng(seed)
    return " ".join(f"{WORDS[int(n)]}{int(m)}" for n, m in draw.integers(0, (len(WORDS), 40), (words, 2)))


def write(path: Path, seeds: range, **others: str) -> Path:
    rows = [{"text": text(seed)} for seed in seeds] + [{"text": each} for each in others.values()]
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def sides(data: Path) -> dict[str, str]:
    """The split of each text."""
    return {
        each: split
        for split in SPLITS
        for path in sorted((data / "documents" / split).glob("*.parquet"))
        for each in pq.read_table(path)["text"].to_pylist()
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write(tmp_path / "in" / "m.jsonl", range(200))
    unmask.prepare(str(tmp_path / "in"), out=tmp_path / "data", near_duplicates=0.8, valid=0.1, vocab_size=400)
    return tmp_path / "data"


def test_only_what_is_new_is_read_and_earlier_documents_stay_on_their_side(data: Path, tmp_path: Path) -> None:
    before, tokens = sides(data), Dataset.open(data).split("train").read(0, 500)[0]
    shard = (data / "train" / "00000.tokens.npy").stat().st_ino
    longer = f"{text(7)} and more"  # without the earlier one's right, the longer of the two would be kept
    # The new file comes before the old one by its name, has a copy of an earlier document and one that is nearly one.
    write(tmp_path / "in" / "a.jsonl", range(200, 260), copy=text(3), near=longer)
    added = unmask.prepare(str(tmp_path / "in"), out=data, add=True)
    assert (added.files, added.counts["read"], added.counts["duplicate"], added.counts["near_duplicate"]) == (
        1,
        62,
        1,
        1,
    )
    assert added.earlier == {split: list(before.values()).count(split) for split in SPLITS}
    after = sides(data)
    assert {each: after[each] for each in before} == before
    assert after.keys() - before.keys() == {text(seed) for seed in range(200, 260)}
    assert {*after.values()} == {*SPLITS}
    assert unmask.verify(data).damage == ()
    dataset = Dataset.open(data)
    assert [dataset.split(split).documents for split in SPLITS] == [list(after.values()).count(s) for s in SPLITS]
    assert np.array_equal(dataset.split("train").read(0, 500)[0], tokens)
    assert (data / "train" / "00000.tokens.npy").stat().st_ino == shard  # the same file, and not written again
    assert dataset.counts.sum() == dataset.manifest["tokens"]["train"] == dataset.split("train").tokens
    assert dataset.manifest["counts"]["read"] == 262
    (fate,) = unmask.why(data, f"{tmp_path}/in/a.jsonl:62").removed
    assert (fate.step, fate.twin is not None and fate.twin.source) == ("near-duplicate", str(tmp_path / "in/m.jsonl"))


def test_texts_and_tokens_of_what_was_added_belong_together(data: Path, tmp_path: Path) -> None:
    for number in range(2):
        write(tmp_path / "in" / f"{number}.jsonl", range(300 + 50 * number, 350 + 50 * number))
        unmask.prepare(str(tmp_path / "in"), out=data, add=True)
    dataset = Dataset.open(data)
    tokenizer, shards = dataset.tokenizer(), dataset.split("train")
    texts = list(dataset.texts("train"))
    assert len(texts) == shards.documents
    for number in (0, 100, len(texts) - 1):
        start = int(shards.ends[number - 1]) if number else 0
        ids = shards.read(start, int(shards.ends[number]))[0].tolist()
        assert ids == tokenizer(texts[number], add_special_tokens=False)["input_ids"]


def other(path: Path) -> None:
    write(path / "in" / "b.jsonl", range(500, 520))


def changed(path: Path) -> None:
    write(path / "in" / "m.jsonl", range(201))


def nothing(path: Path) -> None:
    """Leave all as it is."""


@pytest.mark.parametrize(
    ("change", "options", "error", "line"),
    [
        (nothing, {}, BadInput, "data: all of these files were read for it, and none has changed"),
        (changed, {}, Refused, "m.jsonl: has changed since it was read for "),
        (
            other,
            {"min_characters": 30},
            Refused,
            "--min-characters 30: .* was prepared with 20, and --add keeps",
        ),
        (other, {"filters": "web"}, Refused, "rules are asked for, and those of .* stay with --add"),
        (other, {"overwrite": True}, BadInput, "--add and --overwrite"),
    ],
)
def test_what_cannot_be_added_is_one_line_and_changes_nothing(
    data: Path, tmp_path: Path, change: Callable[[Path], None], options: dict[str, Any], error: type, line: str
) -> None:
    change(tmp_path)
    with pytest.raises(error, match=line):
        unmask.prepare(str(tmp_path / "in"), out=data, add=True, **options)
    assert unmask.verify(data).damage == ()


def test_data_that_does_not_say_what_it_was_made_of_takes_nothing(data: Path, tmp_path: Path) -> None:
    facts = {name: value for name, value in Dataset.open(data).manifest.items() if name not in OWN}
    (data / "sources.json").unlink()
    write_manifest(data, facts)  # as it was before manifests had it
    other(tmp_path)
    with pytest.raises(Refused, match=r"does not say which files it was made of \(sources.json\)"):
        unmask.prepare(str(tmp_path / "in"), out=data, add=True)
