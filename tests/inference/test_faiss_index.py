from __future__ import annotations

from importlib import util
from pathlib import Path

import numpy as np
import pytest

from unmask.errors import BadInput, Damaged
from unmask.inference import faiss_index
from unmask.inference.dense import nearest
from unmask.inference.faiss_index import FaissIndex, check_faiss, write_faiss

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(20, 16))
ROWS = (CENTRES[RNG.integers(20, size=3000)] + 0.3 * RNG.normal(size=(3000, 16))).astype(np.float32)
ROWS /= np.linalg.norm(ROWS, axis=1, keepdims=True)


def test_it_finds_what_it_says_of_an_exact_search(tmp_path: Path) -> None:
    facts = write_faiss([ROWS[:1000], ROWS[1000:]], tmp_path / "f.index")
    assert facts.recall >= faiss_index.ENOUGH and 1 <= facts.looked_into < facts.cells
    index = FaissIndex(tmp_path / facts.file, facts.looked_into)
    queries = (ROWS[::29] + 0.05 * RNG.normal(size=ROWS[::29].shape)).astype(np.float32)
    exact = nearest(queries, [(0, ROWS)], 10)
    shares = [
        len(set(true.tolist()) & set(found.tolist())) / 10
        for (true, _), (found, _) in zip(exact, index.nearest(queries, 10), strict=True)
    ]
    assert np.mean(shares) > facts.recall - 0.05
    numbers, scores = index.nearest(queries[:1], 10)[0]
    np.testing.assert_allclose(scores, ROWS[numbers] @ queries[0], atol=1e-5)


def test_few_vectors_are_enough(tmp_path: Path) -> None:
    facts = write_faiss([ROWS[:3]], tmp_path / "f.index")
    assert facts.recall == 1 and len(FaissIndex(tmp_path / "f.index", 1).nearest(ROWS[:1], 10)[0][0]) == 3


def test_where_it_is_missing_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = util.find_spec
    monkeypatch.setattr(faiss_index, "find_spec", lambda name: None if name == "faiss" else real(name))
    with pytest.raises(BadInput, match=r"pip install 'unmask\[faiss\]'; without --faiss search is exact"):
        check_faiss()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "f.index").write_bytes(b"nothing of faiss")
    with pytest.raises(Damaged, match=r"f\.index: cannot be read by faiss"):
        FaissIndex(tmp_path / "f.index", 1)
