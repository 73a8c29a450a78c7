"""What became of a document that was read, by its number or its place: from what `prepare` writes down of each.

In: a data directory, and `4711` or `texts/a.jsonl:12`. Out: the step and the rule that left it out and what was kept
instead; or that it was kept; or that it could not be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.errors import BadInput
from unmask.results import Fate, KeptDocument, RemovedDocument, UnreadLine
from unmask.tokens.store.manifest import read_manifest

if TYPE_CHECKING:
    import pyarrow.compute as pc

EXCERPT = 240  # characters
SPLITS = ("train", "valid")


def fate_of(path: Path, asked: str) -> Fate:
    """What became of the documents of a number, or at a place."""
    import pyarrow.compute as pc

    manifest = read_manifest(path)
    if "removed.parquet" not in manifest["files"] and not _numbered(path):
        raise BadInput(f"{path}: was prepared before left out documents were written down; prepare it again")
    source, _, line = asked.rpartition(":")
    unread: tuple[UnreadLine, ...] = ()
    if asked.isdecimal():
        wanted = pc.field("number") == int(asked)
    elif line.isdecimal() and source:
        wanted, unread = _at(path, source, int(line)), tuple(_unread(path, source, int(line)))
    else:
        if asked in _sources(path) or Path(asked).is_file():
            raise BadInput(f"{asked}: which line of it? name one, as in {asked}:1, or give the number of a document")
        raise BadInput(
            f"{asked}: neither the number of a document, such as 7, nor its place: a file or another source, a colon "
            "and a line, SOURCE:LINE"
        )
    removed = tuple(_removed(path, row) for row in _rows(path / "removed.parquet", wanted))
    kept = tuple(_kept(path, wanted))
    if not (removed or kept or unread):
        read = manifest["counts"]["read"]
        known = f"numbers go from 1 to {read:,}" if asked.isdecimal() else f"sources are {', '.join(_sources(path))}"
        raise BadInput(f"{asked}: {path} has read no such document; {known}")
    return Fate(path=path, asked=asked, removed=removed, kept=kept, unread=unread)


def _numbered(path: Path) -> bool:
    import pyarrow.parquet as pq

    files = sorted((path / "documents" / "train").glob("*.parquet"))
    return bool(files) and "number" in pq.read_schema(files[0]).names


def _rows(table: Path, wanted: pc.Expression, columns: list[str] | None = None) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    if not table.exists():
        return []
    rows: list[dict[str, Any]] = pq.read_table(table, columns=columns, filters=wanted).to_pylist()
    return rows


def _at(path: Path, source: str, line: int) -> pc.Expression:
    """The documents that begin at a line of a source, or, where none does, at the last line before where one does."""
    import pyarrow.compute as pc

    named = (pc.field("source") == source) | pc.ends_with(pc.field("source"), "/" + source.removeprefix("./"))
    lines = [
        row["line"] for table in _tables(path) for row in _rows(table, named & (pc.field("line") <= line), ["line"])
    ]
    return named & (pc.field("line") == max(lines, default=line))


def _tables(path: Path) -> list[Path]:
    return [path / "removed.parquet", *(path / "documents" / split for split in SPLITS)]


def _sources(path: Path) -> list[str]:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    column = pq.read_table(path / "documents" / "train", columns=["source"])["source"]
    names = pc.unique(column).to_pylist()
    return [*names[:3], *(["…"] if len(names) > 3 else [])]


def _kept(path: Path, wanted: pc.Expression) -> Iterator[KeptDocument]:
    for split in SPLITS:
        for row in _rows(path / "documents" / split, wanted, ["number", "source", "line", "text"]):
            text = row.pop("text")
            yield KeptDocument(**row, split=split, excerpt=text[:EXCERPT])


def _removed(path: Path, row: dict[str, Any]) -> RemovedDocument:
    import pyarrow.compute as pc

    twin = None if row["twin"] is None else next(_kept(path, pc.field("number") == row["twin"]), None)
    fields = {name: value for name, value in row.items() if not name.startswith("twin")}
    return RemovedDocument(**fields, twin=twin)


def _unread(path: Path, source: str, line: int) -> Iterator[UnreadLine]:
    """What the quarantine has of a line, or of the whole file it is in."""
    quarantine = path / "quarantine.jsonl"
    if not quarantine.exists():
        return
    with quarantine.open(encoding="utf-8") as file:
        for record in map(json.loads, file):
            name = record["source"]
            if (name == source or name.endswith("/" + source)) and record["line"] in (0, line):
                reason, excerpt = record["reason"], record["text"][:EXCERPT]
                yield UnreadLine(source=name, line=record["line"], reason=reason, excerpt=excerpt)
