"""Documents, queries, and which documents answer which queries.

In: a folder as BEIR has it, or a file of queries with passages that answer them. Out: `Collection` and `JudgedQueries`.

    folder/corpus.jsonl         {"_id": "12", "title": "Wings", "text": "On the flutter of wings …"}
    folder/queries.jsonl        {"_id": "7", "text": "wing flutter at high speed"}
    folder/qrels/train.tsv      query-id ⇥ corpus-id ⇥ score          dev.tsv and test.tsv alike
    pairs.jsonl                 {"query": "wing flutter at high speed", "passage": "On the flutter of wings …"}

Files may be packed (.gz). A document is its title and its text, a line each. A score above 0 says that a document
answers a query. What cannot be used is told in one line that names the file, the line and the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unmask.errors import BadInput
from unmask.files import missing_path, sha256_of
from unmask.records import Integers
from unmask.tasks.examples import first_named, quoted_names, read_records, text_in

IDS = ("_id", "id")
SPLITS = ("train", "dev", "test")
QUERIES = ("query", "question", "anchor", "text", "sentence1")
PASSAGES = ("passage", "positive", "pos", "document", "answer", "context", "text", "sentence2")

Grades = Mapping[str, int]  # how well documents answer a query, by their ids


class Query(NamedTuple):
    """A query, and how well documents answer it."""

    id: str
    text: str
    grades: Grades

    @property
    def answers(self) -> tuple[str, ...]:
        """The documents that answer it."""
        return tuple(document for document, grade in self.grades.items() if grade > 0)


@dataclass(frozen=True, eq=False)
class Collection:
    """The documents that are searched."""

    path: Path
    documents: Mapping[str, str]  # texts by id
    titled: bool = False  # whether documents have titles, which stand before their texts
    empty: int = 0  # documents without text, which nothing is learnt from and which are never found
    digests: Mapping[str, str] = field(default_factory=dict)  # of the files it was read from

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each document."""
        return {name: number for number, name in enumerate(self.documents)}

    @cached_property
    def texts(self) -> list[str]:
        """Their texts, in the order of their numbers."""
        return list(self.documents.values())


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """Queries with what is known of their answers."""

    path: Path  # the file of judgments
    examples: tuple[Query, ...]
    digest: str

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def texts(self) -> list[str]:
        """Their texts."""
        return [query.text for query in self.examples]

    def only(self, numbers: Sequence[int] | Integers) -> JudgedQueries:
        """Some of them."""
        return JudgedQueries(self.path, tuple(self.examples[int(number)] for number in numbers), self.digest)

    def pairs(self, collection: Collection) -> Integers:
        """P 2: the number of each query, and that of a document that answers it; one without text teaches nothing."""
        rows = [
            (number, collection.places[name])
            for number, query in enumerate(self.examples)
            for name in query.answers
            if collection.documents[name]
        ]
        return np.array(rows, np.int64).reshape(-1, 2)


def read_collection(path: Path) -> tuple[Collection, dict[str, JudgedQueries]]:
    """The documents of a folder, and its judged queries by split."""
    corpus, questions = (_file_of(path, name) for name in ("corpus.jsonl", "queries.jsonl"))
    documents, titled, empty = _read_documents(corpus)
    if not documents:
        raise BadInput(f"{corpus}: has no document with text")
    digests = {name: sha256_of(file) for name, file in (("corpus", corpus), ("queries", questions))}
    collection = Collection(path, documents, titled, empty, digests)
    queries = {name: text for _, name, text in _read_texts(questions)}
    splits = {}
    for split in SPLITS:
        file = path / "qrels" / f"{split}.tsv"
        if file.is_file():
            splits[split] = _read_judgments(file, queries, documents)
    if not splits:
        raise BadInput(f"{path}: has no judgments; give qrels/train.tsv (or test.tsv): query-id, corpus-id, score")
    return collection, splits


def read_pairs(
    files: Mapping[str, Path], *, text: str | None = None, pair: str | None = None
) -> tuple[Collection, dict[str, JudgedQueries], tuple[str, str]]:
    """Files of queries with passages: all passages as documents, queries by file, and the fields of both."""
    documents: dict[str, str] = {}
    ids: dict[str, str] = {}  # of passages, by their texts
    splits = {}
    names: tuple[str, str] | None = None
    for split, path in files.items():
        grades: dict[str, dict[str, int]] = {}
        for line, record in read_records(path, "a query and a passage a line"):
            names = names or _pair_fields(path, record, text, pair)
            query, passage = (text_in(path, line, record, name).strip() for name in names)
            for value, name in zip((query, passage), names, strict=True):
                if not value:
                    raise BadInput(f"{path}:{line}: the field {name!r} is empty; give a text, or leave the line out")
            name = ids.setdefault(passage, f"{len(ids) + 1}")
            documents[name] = passage
            grades.setdefault(query, {})[name] = 1
        if not grades:
            raise BadInput(f"{path}: has no pairs")
        queries = tuple(Query(f"{split}-{n}", query, each) for n, (query, each) in enumerate(grades.items(), 1))
        splits[split] = JudgedQueries(path, queries, sha256_of(path))
    assert names is not None
    return Collection(files["train"], documents), splits, names


def _pair_fields(path: Path, record: Mapping[str, object], text: str | None, pair: str | None) -> tuple[str, str]:
    spelt = {name.lower().strip(): name for name in record}
    text = text or first_named(QUERIES, spelt, without=(pair,))
    pair = pair or first_named(PASSAGES, spelt, without=(text,))
    for name, flag, meaning in ((text, "--text-field", "the query"), (pair, "--pair-field", "the passage")):
        if name is None:
            raise BadInput(f"{path}: which field has {meaning}? {flag} names it, one of {quoted_names(record)}")
        if name not in record:
            raise BadInput(f"{path}: has no field {name!r}; it has {', '.join(map(repr, record))}")
    assert text is not None and pair is not None
    return text, pair


def _file_of(folder: Path, name: str) -> Path:
    for file in (folder / name, folder / f"{name}.gz"):
        if file.is_file():
            return file
    raise missing_path(
        folder / name, "a folder to learn retrieval from has corpus.jsonl, queries.jsonl and qrels/*.tsv"
    )


def _read_documents(path: Path) -> tuple[dict[str, str], bool, int]:
    """Texts by id, whether some have titles, and how many were without text."""
    documents: dict[str, str] = {}
    titled, empty = False, 0
    for record, name, text in _read_texts(path, may_be_empty=True):
        title = record.get("title")
        title = title.strip() if isinstance(title, str) else ""
        titled |= bool(title)
        joined = "\n".join(part for part in (title, text.strip()) if part)
        empty += not joined
        documents[name] = joined
    return documents, titled, empty


def _read_texts(path: Path, *, may_be_empty: bool = False) -> Iterator[tuple[Mapping[str, object], str, str]]:
    """Each record with its id and its text."""
    seen: dict[str, int] = {}
    for line, record in read_records(path, "a text with an id a line"):
        value = next((record[key] for key in IDS if isinstance(record.get(key), str | int)), None)
        if value is None or value == "":
            raise BadInput(f"{path}:{line}: has no field '_id', by which judgments name it")
        name = str(value)
        before = seen.setdefault(name, line)
        if before != line:
            raise BadInput(f"{path}:{line}: the id {name!r} is that of line {before} too; each names one")
        text = text_in(path, line, record, "text")
        if not text.strip() and not may_be_empty:
            raise BadInput(f"{path}:{line}: the query {name!r} has no text; give one, or leave the line out")
        yield record, name, text


def _read_judgments(path: Path, queries: Mapping[str, str], documents: Mapping[str, str]) -> JudgedQueries:
    grades: dict[str, dict[str, int]] = {}
    for line, text in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        cells = text.split("\t")
        if not text.strip() or (line == 1 and cells[-1].strip().lower() == "score"):
            continue
        if len(cells) != 3:
            raise BadInput(f"{path}:{line}: has {len(cells)} columns; give query-id, corpus-id and score, tabs between")
        query, document, score = (cell.strip() for cell in cells)
        try:
            grade = int(score)
        except ValueError:
            raise BadInput(f"{path}:{line}: the score is {score!r}, which is no whole number") from None
        for name, known, what, file in (
            (query, queries, "query", "queries.jsonl"),
            (document, documents, "document", "corpus.jsonl"),
        ):
            if name not in known:
                raise BadInput(f"{path}:{line}: the {what} {name!r} is not in {file}; add it, or leave the line out")
        grades.setdefault(query, {})[document] = grade
    if not grades:
        raise BadInput(f"{path}: has no judgments")
    judged = tuple(Query(name, queries[name], each) for name, each in grades.items())
    if silent := [query.id for query in judged if not query.answers]:
        others = f" (and {len(silent) - 1:,} more like it)" if len(silent) > 1 else ""
        raise BadInput(
            f"{path}: no document answers the query {silent[0]!r}{others}: none has a score above 0; leave it out"
        )
    return JudgedQueries(path, judged, sha256_of(path))
