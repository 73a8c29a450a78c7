from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.errors import BadInput
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.tokens.pack import Pieces
from unmask.tokens.sample import Sampling, sample_pieces
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.mixture import check_mix, parse_mix


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    draw = random.Random(0)
    words = [f"{a}{b}" for a in ("ka", "lo", "mi", "ne") for b in ("ban", "der", "fil", "gos")]
    (folder / "law").mkdir()
    for name, count in (("wiki.jsonl", 300), ("law/2024.jsonl", 60)):
        rows = [{"text": " ".join(draw.choice(words) for _ in range(40))} for _ in range(count)]
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def mixed(sources: Path) -> Dataset:
    unmask.prepare(sources, out=sources.with_name("mixed"), mix="wiki=1,law=3", valid=0.1)
    return Dataset.open(sources.with_name("mixed"))


def test_each_document_knows_its_source_and_an_epoch_has_the_proportions_asked_for(mixed: Dataset) -> None:
    mix = mixed.mix()
    assert mix is not None and mixed.manifest["mix"] == {"wiki": 1.0, "law": 3.0}
    groups, weights = mix
    assert weights.tolist() == [1, 3] and len(groups) == mixed.split("train").documents
    assert ["law" if group else "wiki" for group in groups.tolist()] == mixed.document_groups("train")["source"]
    sampling = Pretraining.of(mixed, recipe_named("tiny")).sampling
    assert sampling is not None
    ends = mixed.split("train").ends
    lengths = np.diff(ends, prepend=0)
    pieces = Pieces(ends - lengths, lengths, np.arange(len(ends)))
    epochs = [sample_pieces(pieces, sampling, seed=0, epoch=epoch) for epoch in (0, 1)]
    for epoch in epochs:
        tokens = np.bincount(groups[epoch.documents], weights=epoch.lengths)
        assert tokens[1] / tokens.sum() == pytest.approx(0.75, abs=0.01)
        assert tokens.sum() == pytest.approx(lengths.sum(), rel=0.02)
    assert set(epochs[0].documents.tolist()) != set(epochs[1].documents.tolist())  # other parts of the large one


def test_another_mixture_is_other_data_to_train_on(sources: Path, mixed: Dataset, tmp_path: Path) -> None:
    unmask.prepare(sources, out=tmp_path / "plain", valid=0.1)
    plain = Dataset.open(tmp_path / "plain")
    assert plain.mix() is None and Pretraining.of(plain, recipe_named("tiny")).sampling is None
    assert plain.fingerprint != mixed.fingerprint
    assert {Path(source or "").name for source in plain.document_groups("valid")["source"]} == {
        "wiki.jsonl",
        "2024.jsonl",
    }


def test_weights_are_shares_whatever_the_sizes_and_what_is_empty_has_none() -> None:
    sampling = Sampling(np.array([0, 1, 2]), weights=np.array([2.0, 0.5, 0.5]))
    assert sampling.shares(np.array([10.0, 1e6, 0.0])).tolist() == [0.8, 0.2, 0.0]


@pytest.mark.parametrize("text", ["wiki", "wiki=two", "wiki=0", "=2", "wiki=inf", "wiki=1,"])
def test_weights_that_are_none_are_told(text: str) -> None:
    with pytest.raises(BadInput, match="--mix"):
        parse_mix(text)


def test_a_source_without_a_weight_and_a_weight_without_a_source_are_told() -> None:
    with pytest.raises(BadInput, match=r"b/c\.txt is none of a"):
        check_mix({"a": 1}, ["a.txt", "b/c.txt"])
    with pytest.raises(BadInput, match="called law"):
        check_mix({"a": 1, "law": 1}, ["a.txt"])
