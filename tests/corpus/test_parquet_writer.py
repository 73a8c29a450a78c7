from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unmask.corpus import parquet_writer
from unmask.corpus.parquet_writer import SCHEMA, DocumentWriter


def table(numbers: range) -> pa.Table:
    texts = [f"document {number}, café" for number in numbers]
    return pa.table([texts, ["s"] * len(texts), list(numbers), list(numbers)], schema=SCHEMA)


def write(folder: Path, steps: list[int]) -> DocumentWriter:
    with DocumentWriter(folder) as made:
        for start, stop in zip([0, *steps], steps, strict=False):
            made.add(table(range(start, stop)))
    return made


def test_rows_stay_in_order_over_row_groups_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_writer, "ROW_GROUP", 2_000)
    monkeypatch.setattr(parquet_writer, "FILE", 8_000)
    made = write(tmp_path / "documents", list(range(10, 1_000, 10)))
    files = sorted((tmp_path / "documents").iterdir())
    assert [file.name for file in files] == [f"{number:05}.parquet" for number in range(len(files))]
    assert len(files) > 2
    read = pa.concat_tables(pq.read_table(file) for file in files)
    assert read.equals(table(range(990)))
    assert pq.ParquetFile(files[0]).num_row_groups > 2
    assert (made.rows, made.text_bytes) == (990, sum(len(text.as_py().encode()) for text in read["text"]))


def test_an_empty_shelf_is_a_file_without_rows(tmp_path: Path) -> None:
    write(tmp_path / "documents", [])
    assert pq.read_table(tmp_path / "documents" / "00000.parquet").equals(SCHEMA.empty_table())


def test_the_same_rows_give_the_same_bytes_in_whatever_tables_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_writer, "ROW_GROUP", 2_000)
    for name, steps in (("one", [5, 400]), ("two", [*range(0, 400, 7), 400])):
        write(tmp_path / name, steps)
    one, two = (tmp_path / name / "00000.parquet" for name in ("one", "two"))
    assert pq.ParquetFile(one).num_row_groups > 5
    assert one.read_bytes() == two.read_bytes()
