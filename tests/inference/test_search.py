from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.errors import BadInput, Refused
from unmask.inference.corpus_records import TextRecord
from unmask.inference.index import Index, IndexSettings, create_index
from unmask.inference.search import default_way, fuse, search_index
from unmask.inference.vectors import encoder_digest, load_encoder

Make = Callable[..., Path]
TEXTS = {
    "bridge": "The captain crosses a wooden bridge at night.",
    "garden": "The king paints the garden; the king forgets the garden.",
    "long": "Nobody sees the sea. " * 30 + "The moon follows a silver coin.",
    "bread": "My sister likes bread and butter.",
}


@pytest.fixture(scope="module")
def index(make_model: Make, tmp_path_factory: pytest.TempPathFactory) -> Index:
    path = make_model()
    settings = IndexSettings(
        str(path), encoder_digest(path), False, "mean", dimensions=24, whiten=True, passage=40, overlap=8, faiss=True
    )
    records = [TextRecord(name, text) for name, text in TEXTS.items()]
    return create_index(load_encoder(path), records, tmp_path_factory.mktemp("i") / "index", settings, source={})


def test_words_find_the_passage_and_show_where_they_stand_in_it(index: Index) -> None:
    (found,) = search_index(index, ["the silver MOON"], None, by="bm25")
    hit = found.hits[0]
    assert hit.document == "long" and hit.passage > 1 and hit.id == f"long#{hit.passage}"
    assert [hit.text[begin:end] for begin, end in hit.matched] == ["moon", "silver"]  # "the" is in most passages
    assert hit.ranks == {"bm25": 1}
    assert len({each.document for each in found.hits}) == len(found.hits)  # one passage of each document


def test_a_text_is_nearest_to_itself_by_its_vector_exactly_and_by_faiss(index: Index, make_model: Make) -> None:
    model = unmask.load(make_model(), device="cpu")
    for exact in (True, False):
        found = model.search(index.path, *TEXTS.values(), by="dense", top=2, exact=exact)
        for name in ("bridge", "garden", "bread"):
            hit = found[[*TEXTS].index(name)].hits[0]
            assert (hit.document, hit.score) == (name, pytest.approx(1.0, abs=1e-4))


def test_fusion_is_the_sum_of_inverted_ranks(index: Index, make_model: Make) -> None:
    numbers, scores = fuse([np.array([4, 2, 9]), np.array([2, 7])])
    assert numbers.tolist() == [2, 4, 7, 9]
    assert scores.tolist() == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63])
    (found,) = unmask.load(make_model(), device="cpu").search(index.path, TEXTS["bread"], by="fused")
    best = found.hits[0]
    assert best.document == "bread" and best.ranks == {"bm25": 1, "dense": 1} and best.score == pytest.approx(2 / 61)
    assert {hit.document for hit in found.hits} == set(TEXTS)


def test_words_are_the_default_where_the_model_was_not_tuned_and_both_where_it_was(
    index: Index, make_model: Make
) -> None:
    assert default_way(index) == "bm25"
    manifest = index.manifest | {"settings": index.manifest["settings"] | {"tuned": True}}
    assert default_way(Index(index.path, manifest)) == "fused"
    (found,) = unmask.load(make_model(), device="cpu").search(index.path, "bread")
    assert found.by == "bm25" and [hit.document for hit in found.hits] == ["bread"]


def test_a_model_that_the_index_is_not_of_is_refused(index: Index, make_model: Make) -> None:
    with pytest.raises(Refused, match="made with another model"):
        unmask.load(make_model("electra"), device="cpu").search(index.path, "bread")
    with pytest.raises(BadInput, match="--top 0: ask for at least one"):
        search_index(index, ["bread"], None, by="bm25", top=0)
