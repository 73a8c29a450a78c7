from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import unmask
from unmask.errors import BadInput
from unmask.inference.corpus_records import TextRecord
from unmask.inference.index import IndexSettings, create_index
from unmask.inference.near import near_texts, open_stores
from unmask.inference.vectors import encoder_digest, load_encoder
from unmask.inference.write_vectors import VectorSettings, write_vectors

Make = Callable[..., Path]
TEXTS = [
    "The captain crosses a wooden bridge.",
    "The king paints the garden.",
    "My sister likes bread and butter.",
    "The captain crosses a wooden bridge.",
    "Nobody hears music at night.",
]


@pytest.fixture(scope="module")
def vectors(make_model: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = [TextRecord(f"t{n}", text) for n, text in enumerate(TEXTS)]
    path = tmp_path_factory.mktemp("near") / "vectors"
    write_vectors(load_encoder(make_model()), lambda: iter(records), path, VectorSettings(whiten=True), agreed={})
    return path


def test_texts_that_say_the_same_are_a_pair_with_both_excerpts(vectors: Path) -> None:
    near = near_texts(vectors, open_stores(vectors), above=0.99, limit=10)
    (pair,) = near.pairs
    assert (pair.first, pair.second, pair.excerpts) == ("t0", "t3", (TEXTS[0], TEXTS[0]))
    assert pair.cosine == pytest.approx(1.0, abs=1e-5) and (near.total, near.texts, near.crowded) == (1, 5, False)


def test_all_pairs_are_counted_and_the_nearest_are_listed(vectors: Path) -> None:
    near = near_texts(vectors, open_stores(vectors), above=-1, limit=3)
    assert near.total == 10 and len(near.pairs) == 3 and near.crowded
    assert [pair.cosine for pair in near.pairs] == sorted((pair.cosine for pair in near.pairs), reverse=True)
    with pytest.raises(BadInput, match=r"--above 1\.5: a cosine is between -1 and 1"):
        near_texts(vectors, open_stores(vectors), above=1.5, limit=3)
    with pytest.raises(BadInput, match="--limit 0"):
        near_texts(vectors, open_stores(vectors), above=0.5, limit=0)


def test_passages_of_one_document_are_no_pair(make_model: Make, tmp_path: Path) -> None:
    path = make_model()
    settings = IndexSettings(str(path), encoder_digest(path), False, "mean", passage=30, overlap=10)
    long = "The captain crosses a wooden bridge. " * 12
    records = [TextRecord("a", long), TextRecord("b", long), TextRecord("c", TEXTS[1])]
    create_index(load_encoder(path), records, tmp_path / "index", settings, source={})
    near = unmask.near(tmp_path / "index", above=0.5, limit=1000)
    assert near.total > 2
    assert all(pair.first.partition("#")[0] != pair.second.partition("#")[0] for pair in near.pairs)


def test_data_needs_a_model_and_vectors_need_none(data: Path, vectors: Path, make_model: Make, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has no vectors; give --model"):
        unmask.near(data)
    with pytest.raises(BadInput, match="has vectors already; leave --model out"):
        unmask.near(vectors, model=make_model())
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    near = unmask.near(tmp_path / "texts.txt", model=make_model(), above=0.99)
    assert [(pair.first, pair.second) for pair in near.pairs] == [("1", "4")]
