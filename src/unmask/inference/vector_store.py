"""Vectors on disk, with their texts: what `unmask embed` writes and `unmask search` and `unmask near` read.

    vectors.json     the model and its digest, how the vectors were made, the SHA-256 of every file; sealed
    vectors.npy      N D, float32 or float16, read by memory map
    texts.jsonl      a line for each: its id, its text, and of a passage where it is from
    offsets.npy      N + 1, where each line begins in texts.jsonl
    readings.npy     N 3, the tokens of each, those cut off, and the windows it was read in
    whitening.npy    1 + K D, the mean and the directions that were taken away, where they were

In: such a directory. Out: its vectors in blocks and its texts by number. Nothing is unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.errors import BadInput, Damaged
from unmask.files import json_text, missing_path, path_kind, seal_holds, sha256_of, with_seal, write_json
from unmask.inference.corpus_records import TextRecord
from unmask.inference.whitening import Whitening
from unmask.records import Integers
from unmask.results import Verified
from unmask.tokens.store.manifest import check_sizes, compare_files

KIND, FORMAT, MANIFEST = "unmask vectors", 1, "vectors.json"
INDEX_KIND, INDEX_FORMAT, INDEX = "unmask index", 1, "index.json"
VECTORS, TEXTS, OFFSETS, READINGS, WHITENING = (
    "vectors.npy",
    "texts.jsonl",
    "offsets.npy",
    "readings.npy",
    "whitening.npy",
)
SPARSE = ("weights.npy", "words.npy", "rows.npy")  # instead of vectors.npy: CSR, as scipy.sparse has it
BLOCK = 1 << 24  # bytes of float32 read at a time

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class VectorStore:
    """A vectors directory, open for reading."""

    path: Path
    manifest: dict[str, Any]

    @classmethod
    def open(cls, path: Path) -> VectorStore:
        """Open a vectors directory: its manifest whole, its files there and of the right size."""
        manifest = read_sealed(path, MANIFEST, KIND, FORMAT, "`unmask embed MODEL TEXTS --out` makes one")
        check_sizes(path, manifest)
        store = cls(path, manifest)
        if store.is_sparse:
            return store
        if store.vectors.shape != (manifest["count"], manifest["width"]):
            raise Damaged(f"{path / VECTORS}: has the shape {store.vectors.shape}, which its manifest does not say")
        return store

    @property
    def is_sparse(self) -> bool:
        """Whether it has weighted words instead of vectors."""
        return SPARSE[0] in self.manifest["files"]

    @cached_property
    def weights(self) -> Any:
        """N V, sparse, in memory maps: the weights of words, where it has them instead of vectors."""
        from scipy.sparse import csr_matrix

        arrays = tuple(load_array(self.path / name) for name in SPARSE)
        try:
            return csr_matrix(arrays, shape=(len(self), self.manifest["width"]))
        except ValueError as error:
            raise Damaged(f"{self.path / SPARSE[0]}: does not fit the other files: {error}; make it again") from error

    @cached_property
    def vectors(self) -> NDArray[Any]:
        """N D, in a memory map."""
        if self.is_sparse:
            raise BadInput(f"{self.path}: has weighted words and no vectors; give what a dense model made")
        return load_array(self.path / VECTORS)

    @cached_property
    def whitening(self) -> Whitening | None:
        """What was taken away from the vectors, and is to be taken away from whatever is compared with them."""
        path = self.path / WHITENING
        return Whitening.of_array(load_array(path)) if path.is_file() else None

    def __len__(self) -> int:
        return int(self.manifest["count"])

    def blocks(self) -> Iterator[tuple[int, Vectors]]:
        """Some vectors at a time, with the number of the first; memory stays flat."""
        if not self.is_sparse:
            yield from array_blocks(self.vectors)
            return
        rows = max(1, BLOCK // (4 * self.manifest["width"]))
        for begin in range(0, len(self), rows):
            yield begin, np.asarray(self.weights[begin : begin + rows].toarray(), dtype=np.float32)

    def record(self, number: int) -> TextRecord:
        """The text of a vector."""
        return next(self.records(number, number + 1))

    def records(self, begin: int = 0, end: int | None = None) -> Iterator[TextRecord]:
        """The texts in their order."""
        with (self.path / TEXTS).open("rb") as file:
            file.seek(int(self._offsets[begin]))
            for _ in range(begin, len(self) if end is None else end):
                yield TextRecord(**json.loads(file.readline()))

    @cached_property
    def _offsets(self) -> Integers:
        return load_array(self.path / OFFSETS)


def array_blocks(vectors: NDArray[Any]) -> Iterator[tuple[int, Vectors]]:
    """An array some rows at a time, in float32, with the number of the first of them."""
    rows = max(1, BLOCK // (4 * max(1, vectors.shape[1])))
    for begin in range(0, len(vectors), rows):
        yield begin, np.asarray(vectors[begin : begin + rows], dtype=np.float32)


def save_sparse(weights: Any, path: Path) -> list[str]:
    """Write the weights of words as three arrays; the names of their files."""
    for name, array in zip(SPARSE, (weights.data, weights.indices, weights.indptr), strict=True):
        np.save(path / name, array)
    return list(SPARSE)


def shorten(vectors: Vectors, dimensions: int | None) -> Vectors:
    """The first so many numbers of each vector."""
    if dimensions is None:
        return vectors
    if not 0 < dimensions <= vectors.shape[-1]:
        raise BadInput(f"--dimensions {dimensions}: this model's vectors have {vectors.shape[-1]}")
    return vectors[..., :dimensions]


def normalised(vectors: Vectors) -> Vectors:
    """Vectors of length one; one without a length stays as it is."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def load_array(path: Path) -> NDArray[Any]:
    """An array in a memory map, or what is wrong with its file."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
    except (ValueError, EOFError, OSError) as error:
        raise Damaged(f"{path}: cannot be read: {error}") from error


def read_sealed(path: Path, name: str, kind: str, version: int, remedy: str) -> dict[str, Any]:
    """The sealed manifest of a directory of some kind, if it is whole and of this format."""
    if not path.exists():
        raise missing_path(path, remedy)
    if not (path / name).is_file():
        wanted = "a vectors directory" if kind == KIND else "a search index"
        raise BadInput(f"{path}: not {wanted} but {path_kind(path)}; {remedy}")
    text = (path / name).read_text(encoding="utf-8", errors="replace")
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise Damaged(f"{path / name}: damaged, it is no longer JSON; make it again") from error
    if not isinstance(manifest, dict) or not seal_holds(manifest) or json_text(manifest) != text:
        raise Damaged(f"{path / name}: damaged, its SHA-256 is not the one it was written with; make it again")
    if manifest.get("kind") != kind or manifest.get("format") != version:
        raise BadInput(f"{path}: is of format {manifest.get('format')}, and this unmask reads {version}; make it again")
    return manifest


def write_sealed(path: Path, name: str, facts: dict[str, Any], files: list[str]) -> dict[str, Any]:
    """Hash the files of a directory and write its manifest, which makes it whole."""
    hashed = {file: {"bytes": (path / file).stat().st_size, "sha256": sha256_of(path / file)} for file in files}
    manifest = with_seal({**facts, "files": hashed})
    write_json(path / name, manifest)
    return manifest


def verify_vectors(path: Path) -> Verified:
    """Compare every file of a vectors directory or of an index with its manifest."""
    name, kind, version = (MANIFEST, KIND, FORMAT)
    if (path / INDEX).is_file():
        name, kind, version = (INDEX, INDEX_KIND, INDEX_FORMAT)
    try:
        manifest = read_sealed(path, name, kind, version, "")
    except Damaged as error:
        return Verified(path=path, files=0, bytes=0, damage=(str(error),))
    return compare_files(path, manifest, {name})
