"""Documents come back from their files as they were written, and a sample of them from all over the corpus."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from unmask.tokens.store.documents import BATCH, read_documents, read_sources, sample_documents


def test_documents_come_back_in_order_with_their_marks_and_sources(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(2 * BATCH + 7)]
    marks = [[{"start": 0, "end": 4, "kind": "entity"}] if number % 2 else None for number in range(len(texts))]
    sources = [f"{number}.txt" for number in range(len(texts))]
    table = pa.table({"text": texts, "source": sources, "spans": marks})
    for file, rows in enumerate((table.slice(0, 300), table.slice(300))):
        pq.write_table(rows, tmp_path / f"{file:05}.parquet")
    batches = list(read_documents(tmp_path))
    assert max(len(texts) for texts, _ in batches) == BATCH
    assert [text for texts, _ in batches for text in texts] == texts
    assert [len(each) for _, marks in batches for each in marks] == [number % 2 for number in range(len(texts))]
    assert batches[0][1][1] == [(0, 4, "entity")]
    assert list(read_sources(tmp_path)) == list(zip(sources, texts, strict=True))


def test_a_corpus_without_marks_has_none(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["one", "two"]}), tmp_path / "00000.parquet")
    assert list(read_documents(tmp_path)) == [(["one", "two"], [[], []])]


def test_a_sample_is_taken_from_all_over_a_large_corpus(tmp_path: Path) -> None:
    for file in range(2):
        texts = [f"{file} {n:03}" for n in range(200)]
        pq.write_table(pa.table({"text": texts}), tmp_path / f"{file:05}.parquet", row_group_size=10)
    assert list(sample_documents(tmp_path, 120)) == [
        f"{file} {n:03}" for file in (0, 1) for start in (0, 50, 100, 150) for n in range(start, start + 3)
    ]
    assert len(list(sample_documents(tmp_path, 10**9))) == 8 * 10
