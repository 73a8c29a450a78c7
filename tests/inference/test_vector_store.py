from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.errors import BadInput, Damaged
from unmask.files import write_json
from unmask.inference.corpus_records import TextRecord
from unmask.inference.vector_store import VectorStore, array_blocks
from unmask.inference.vectors import load_encoder
from unmask.inference.write_vectors import VectorSettings, write_vectors

Make = Callable[..., Path]


@pytest.fixture
def vectors(make_model: Make, tmp_path: Path) -> Path:
    records = [TextRecord(str(n), f"The king sees {n}.") for n in range(9)]
    write_vectors(load_encoder(make_model()), lambda: iter(records), tmp_path / "v", VectorSettings(), agreed={})
    return tmp_path / "v"


def test_a_file_that_is_truncated_or_missing_is_named_on_opening(vectors: Path) -> None:
    content = (vectors / "vectors.npy").read_bytes()
    (vectors / "vectors.npy").write_bytes(content[:-4])
    with pytest.raises(Damaged, match=r"vectors\.npy: truncated, .*`unmask verify"):
        VectorStore.open(vectors)
    (vectors / "vectors.npy").unlink()
    with pytest.raises(Damaged, match=r"vectors\.npy: missing"):
        VectorStore.open(vectors)


def test_a_changed_byte_is_found_by_verify(vectors: Path) -> None:
    assert unmask.verify(vectors).damage == ()
    content = bytearray((vectors / "vectors.npy").read_bytes())
    content[-3] ^= 1
    (vectors / "vectors.npy").write_bytes(content)
    assert unmask.verify(vectors).damage == ("vectors.npy: changed, its SHA-256 is another",)


def test_a_manifest_that_was_edited_or_is_of_another_format_is_refused(vectors: Path) -> None:
    manifest = json.loads((vectors / "vectors.json").read_text())
    write_json(vectors / "vectors.json", manifest | {"count": 8})
    with pytest.raises(Damaged, match=r"vectors\.json: damaged, its SHA-256"):
        VectorStore.open(vectors)
    assert "vectors.json: damaged" in unmask.verify(vectors).damage[0]
    (vectors / "vectors.json").write_text("{")
    with pytest.raises(Damaged, match="no longer JSON"):
        VectorStore.open(vectors)


def test_what_is_no_vectors_directory_is_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a vectors directory but a data directory"):
        VectorStore.open(data)
    with pytest.raises(BadInput, match="none: does not exist"):
        VectorStore.open(tmp_path / "none")


def test_blocks_are_all_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.inference.vector_store.BLOCK", 4 * 8 * 3)
    array = np.arange(80, dtype=np.float16).reshape(10, 8)
    blocks = [*array_blocks(array)]
    assert [begin for begin, _ in blocks] == [0, 3, 6, 9] and blocks[0][1].dtype == np.float32
    np.testing.assert_array_equal(np.concatenate([block for _, block in blocks]), array)
