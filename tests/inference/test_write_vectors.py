"""Vectors on disk: what was made stays when the work is stopped, and the end is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unmask.errors import BadInput, Interrupted, Refused
from unmask.inference import write_vectors as module
from unmask.inference.corpus_records import TextRecord
from unmask.inference.embed import embed_texts
from unmask.inference.vector_store import VectorStore, normalised
from unmask.inference.vectors import Encoder, load_encoder
from unmask.inference.write_vectors import VectorSettings, write_vectors

Make = Callable[..., Path]
TEXTS = [f"The king number {n} sees the garden {'again ' * (n % 5)}." for n in range(40)]
RECORDS = [TextRecord(f"id-{n}", text) for n, text in enumerate(TEXTS)]
AGREED = {"source": "texts.jsonl"}


@pytest.fixture(scope="module")
def encoder(make_model: Make) -> Encoder:
    return load_encoder(make_model())


def write(encoder: Encoder, out: Path, settings: VectorSettings = VectorSettings(), **more: Any) -> VectorStore:  # noqa: B008
    write_vectors(encoder, lambda: iter(RECORDS), out, settings, agreed=more.pop("agreed", AGREED), **more)
    return VectorStore.open(out)


def test_vectors_and_texts_come_back_in_their_order(encoder: Encoder, tmp_path: Path) -> None:
    store = write(encoder, tmp_path / "vectors")
    made = np.stack([each.vector for each in embed_texts(encoder, TEXTS)])  # type: ignore[union-attr]
    np.testing.assert_allclose(store.vectors, made, atol=1e-6)
    assert isinstance(store.vectors, np.memmap) and [*store.records()] == RECORDS and store.record(7) == RECORDS[7]
    assert store.manifest["windows"] == 40 and store.manifest["cut"] == 0
    assert not list(tmp_path.glob(".*"))


def test_half_the_bytes_fewer_numbers_and_whitened_as_asked(encoder: Encoder, tmp_path: Path) -> None:
    full = write(encoder, tmp_path / "full")
    settings = VectorSettings(normalise=True, dimensions=16, whiten=True, dtype="float16")
    store = write(encoder, tmp_path / "small", settings)
    assert store.vectors.dtype == np.float16 and store.vectors.shape == (40, 16) and store.whitening is not None
    expected = normalised(store.whitening(np.asarray(full.vectors[:, :16])))
    np.testing.assert_allclose(store.vectors, expected, atol=2e-3)
    again = write(encoder, tmp_path / "with", settings, whitening=store.whitening)
    np.testing.assert_array_equal(again.vectors, store.vectors)


def test_work_that_was_stopped_goes_on_to_the_same_bytes(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RECORDS", 10)
    whole = write(encoder, tmp_path / "whole")
    real, calls = module.embed_texts, iter([True, True, False])

    def stopped_at_the_third(*arguments: Any, **settings: Any) -> Any:
        if not next(calls, True):
            raise KeyboardInterrupt
        return real(*arguments, **settings)

    monkeypatch.setattr(module, "embed_texts", stopped_at_the_third)
    with pytest.raises(Interrupted, match="the same command goes on"):
        write(encoder, tmp_path / "stopped")
    assert not (tmp_path / "stopped").exists()
    with pytest.raises(Refused, match="was begun with another normalise, source"):
        write(encoder, tmp_path / "stopped", VectorSettings(normalise=True), agreed={"source": "others.jsonl"})

    def not_read_again() -> Iterator[TextRecord]:
        raise AssertionError

    written = write_vectors(encoder, not_read_again, tmp_path / "stopped", VectorSettings(), agreed=AGREED)
    assert written.continued_after == 20
    assert written.manifest["files"] == whole.manifest["files"]


def test_what_is_there_is_not_overwritten_and_no_text_is_no_corpus(encoder: Encoder, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(Refused, match="there: is there already"):
        write(encoder, tmp_path / "there")
    with pytest.raises(BadInput, match=r"texts\.jsonl: has no text"):
        write_vectors(encoder, lambda: iter([]), tmp_path / "new", VectorSettings(), agreed=AGREED)
    long = [TextRecord("long", "king " * 500)]
    with pytest.raises(BadInput, match="long: 500 tokens, but this model takes 62"):
        write_vectors(encoder, lambda: iter(long), tmp_path / "e", VectorSettings(on_long="error"), agreed=AGREED)
