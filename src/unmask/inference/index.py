"""Documents to an index that is searched: passages, their vectors and their words.

    index.json         the model and its digest, how passages and vectors are made, the SHA-256 of every file; sealed
    segments/0001/     a vectors directory (`unmask.inference.vector_store`) for each time that documents were added
    words-0001/        BM25 over the passages of all segments
    faiss-0001.index   what finds near vectors without looking at all of them, where it was asked for
    whitening.npy      what is taken away from vectors, fitted on the first documents, where it was asked for

In: an encoder and documents. Out: such a directory. `index.json` is replaced in one piece when everything it names is
there: whoever is killed before leaves the index as it was. Adding embeds what is new; removing copies the segments that
have it without it; only the table of words, which takes seconds, is made anew.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.format import open_memmap

from unmask.errors import BadInput, Damaged, Refused
from unmask.files import check_writable, explain_disk_errors
from unmask.inference.bm25 import WordIndex, write_words
from unmask.inference.corpus_records import TextRecord, cut_passages
from unmask.inference.faiss_index import FaissFacts, write_faiss
from unmask.inference.vector_store import (
    INDEX,
    INDEX_FORMAT,
    INDEX_KIND,
    MANIFEST,
    OFFSETS,
    READINGS,
    TEXTS,
    VECTORS,
    WHITENING,
    Vectors,
    VectorStore,
    load_array,
    read_sealed,
    save_sparse,
    write_sealed,
)
from unmask.inference.whitening import Whitening
from unmask.tokens.store.manifest import check_sizes

if TYPE_CHECKING:  # searching by words needs no torch
    from unmask.inference.vectors import Encoder
    from unmask.inference.word_weights import WordWeigher

SEGMENTS = "segments"
PASSAGE, OVERLAP = 200, 40  # tokens


@dataclass(frozen=True)
class IndexSettings:
    """How an index is made, and goes on to be."""

    model: str  # where it was
    model_sha256: str
    tuned: bool  # whether the model was tuned for vectors of sentences
    pooling: str
    dimensions: int | None = None
    whiten: bool = False
    dtype: str = "float32"
    passage: int = PASSAGE  # tokens of a passage, at the most
    overlap: int = OVERLAP  # of them shared with the next
    faiss: bool = False
    head: str = "dense"  # or sparse: weighted words instead of vectors


@dataclass(frozen=True)
class Index:
    """An index, open for reading."""

    path: Path
    manifest: dict[str, Any]

    @classmethod
    def open(cls, path: Path) -> Index:
        """Open an index: its manifest whole, its files there and of the right size."""
        manifest = read_sealed(
            path, INDEX, INDEX_KIND, INDEX_FORMAT, "`unmask index MODEL TEXTS --out index` makes one"
        )
        check_sizes(path, manifest)
        return cls(path, manifest)

    @cached_property
    def settings(self) -> IndexSettings:
        """How it was made."""
        return IndexSettings(**self.manifest["settings"])

    @cached_property
    def segments(self) -> list[VectorStore]:
        """Its passages, by when they were added."""
        return [VectorStore.open(self.path / SEGMENTS / name) for name in self.manifest["segments"]]

    @cached_property
    def words(self) -> WordIndex:
        """BM25 over its passages."""
        return WordIndex(self.path / self.manifest["words"])

    @cached_property
    def whitening(self) -> Whitening | None:
        """What is taken away from vectors."""
        path = self.path / WHITENING
        return Whitening.of_array(load_array(path)) if path.is_file() else None

    @property
    def faiss(self) -> FaissFacts | None:
        """What is known of its faiss index, if it has one."""
        facts = self.manifest["faiss"]
        return None if facts is None else FaissFacts(**facts)

    def __len__(self) -> int:
        return int(self.manifest["passages"])

    def blocks(self) -> Iterator[tuple[int, Vectors]]:
        """Its vectors, some at a time, with the number of the first of them."""
        before = 0
        for segment in self.segments:
            yield from ((before + begin, block) for begin, block in segment.blocks())
            before += len(segment)

    def record(self, number: int) -> TextRecord:
        """A passage by its number."""
        for segment in self.segments:
            if number < len(segment):
                return segment.record(number)
            number -= len(segment)
        raise Damaged(f"{self.path}: has no passage {number:,} behind its last; make it again")

    def check_model(self, digest: str, place: Path) -> None:
        """Refuse a model that the vectors are not of."""
        if digest != self.settings.model_sha256:
            raise Refused(
                f"{self.path}: made with another model than {place}; give the one it was made with by --encoder "
                f"(it was at {self.settings.model}), or make the index again"
            )


def create_index(
    encoder: Encoder | WordWeigher,
    documents: Iterable[TextRecord],
    path: Path,
    settings: IndexSettings,
    *,
    source: dict[str, Any],
) -> Index:
    """An index of documents at a place where there is none; `source` is what a command that goes on must agree with."""
    strangers = {entry.name for entry in path.iterdir()} - {SEGMENTS} if path.is_dir() else set()
    if (path / INDEX).is_file():
        raise Refused(f"{path}: is an index already; --add and --remove change it, or give another --out")
    if strangers or path.is_file():
        raise Refused(f"{path}: is there already and is no index; give another --out")
    _check_sizes(encoder, settings)
    check_writable(path)
    (path / SEGMENTS).mkdir(parents=True, exist_ok=True)
    with explain_disk_errors(path):
        segment = _add_segment(encoder, documents, path, [], (settings, source), None)
        return _commit(path, [segment], settings, 1)


def add_documents(
    encoder: Encoder | WordWeigher, documents: Iterable[TextRecord], index: Index, *, source: dict[str, Any]
) -> Index:
    """The index with more documents: only these are embedded."""
    names = list(index.manifest["segments"])
    with explain_disk_errors(index.path):
        name = _add_segment(encoder, documents, index.path, names, (index.settings, source), index)
        return _commit(index.path, [*names, name], index.settings, index.manifest["generation"] + 1)


def remove_documents(index: Index, ids: Collection[str]) -> Index:
    """The index without documents, named by their ids; nothing of their text stays. No model is asked."""
    unknown = set(ids)
    names: list[str] = []
    kept_by_segment = []
    for segment in index.segments:
        owners = [record.document for record in segment.records()]
        unknown -= set(owners)
        kept_by_segment.append(np.array([owner not in ids for owner in owners]))
    if unknown:
        first = sorted(unknown)[:3]
        others = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
        raise BadInput(
            f"--remove {' '.join(first)}{others}: no document of {index.path} has this id; nothing is removed"
        )
    if not any(kept.any() for kept in kept_by_segment):
        raise BadInput(f"--remove: nothing of {index.path} would be left; delete the directory instead")
    generation = index.manifest["generation"] + 1
    with explain_disk_errors(index.path):
        for segment, kept in zip(index.segments, kept_by_segment, strict=True):
            if kept.all():
                names.append(segment.path.name)
            elif kept.any():
                names.append(f"{_number(segment.path.name):04d}-{generation:04d}")
                _copy_segment(segment, kept, segment.path.with_name(names[-1]))
        return _commit(index.path, names, index.settings, generation)


def _check_sizes(encoder: Encoder | WordWeigher, settings: IndexSettings) -> None:
    if not 0 <= settings.overlap < settings.passage // 2:
        raise BadInput(f"--overlap {settings.overlap}: give less than half of --passage {settings.passage}")
    if encoder.room is not None and settings.passage > encoder.room:
        raise BadInput(f"--passage {settings.passage}: this model takes {encoder.room} tokens of text at once")


def _number(name: str) -> int:
    return int(name.partition("-")[0])


def _add_segment(
    encoder: Encoder | WordWeigher,
    documents: Iterable[TextRecord],
    path: Path,
    names: list[str],
    agreed: tuple[IndexSettings, dict[str, Any]],
    index: Index | None,
) -> str:
    """Embed documents into a segment of their own; its name."""
    from unmask.inference.word_weights import WordWeigher, write_word_weights
    from unmask.inference.write_vectors import VectorSettings, write_vectors

    settings, source = agreed
    name = f"{max(map(_number, names), default=0) + 1:04d}"
    out = path / SEGMENTS / name
    shutil.rmtree(out, ignore_errors=True)  # whole, but of a command that was killed before the index knew it
    taken = set() if index is None else {record.document for store in index.segments for record in store.records()}

    def passages() -> Iterator[TextRecord]:
        return cut_passages(encoder.tokenizer, _unique(documents, taken), settings.passage, settings.overlap)

    whitening = None if index is None else index.whitening
    # of length one, so that products are cosines
    made = VectorSettings(settings.pooling, True, settings.dimensions, settings.whiten, settings.dtype)
    if isinstance(encoder, WordWeigher):
        write_word_weights(encoder, passages(), out, agreed=asdict(settings) | source)
        return name
    write_vectors(encoder, passages, out, made, agreed=asdict(settings) | source, whitening=whitening)
    if settings.whiten and index is None:
        shutil.copyfile(out / WHITENING, path / WHITENING)
    return name


def _unique(documents: Iterable[TextRecord], taken: set[str]) -> Iterator[TextRecord]:
    """Documents, each with an id that no other has."""
    seen: set[str] = set()
    for document in documents:
        if document.id in taken:
            raise BadInput(f"the id {document.id!r} is in the index already; --remove {document.id} and add it again")
        if document.id in seen:
            raise BadInput(f"the id {document.id!r} is there twice; documents are told apart by their ids")
        seen.add(document.id)
        yield document


def _copy_segment(segment: VectorStore, kept: np.ndarray[Any, np.dtype[np.bool_]], out: Path) -> None:
    """A segment without some of its passages."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    places = np.flatnonzero(kept)
    if segment.is_sparse:
        names = save_sparse(segment.weights[places], out)
    else:
        names = [VECTORS]
        vectors = open_memmap(
            out / VECTORS, mode="w+", dtype=segment.vectors.dtype, shape=(len(places), segment.vectors.shape[1])
        )
        for begin in range(0, len(places), 4096):
            vectors[begin : begin + 4096] = segment.vectors[places[begin : begin + 4096]]
        vectors.flush()
    offsets = load_array(segment.path / OFFSETS)
    new = [0]
    with (segment.path / TEXTS).open("rb") as source, (out / TEXTS).open("wb") as file:
        for place in places.tolist():
            source.seek(int(offsets[place]))
            file.write(source.read(int(offsets[place + 1] - offsets[place])))
            new.append(file.tell())
    np.save(out / OFFSETS, np.array(new, dtype=np.int64))
    readings = load_array(segment.path / READINGS)[places]
    np.save(out / READINGS, readings)
    names += [TEXTS, OFFSETS, READINGS]
    if (segment.path / WHITENING).is_file():
        shutil.copyfile(segment.path / WHITENING, out / WHITENING)
        names.append(WHITENING)
    tokens, cut, windows = (int(total) for total in readings.sum(0))
    facts = {name: value for name, value in segment.manifest.items() if name not in ("files", "seal")}
    facts |= {"count": len(places), "tokens_read": tokens - cut, "cut": cut, "windows": windows}
    write_sealed(out, MANIFEST, facts, names)


def _commit(path: Path, names: list[str], settings: IndexSettings, generation: int) -> Index:
    """Make of segments the index: its words, its manifest; what it no longer names is deleted."""
    stores = [VectorStore.open(path / SEGMENTS / name) for name in names]
    passages = sum(map(len, stores))
    words = f"words-{generation:04d}"
    shutil.rmtree(path / words, ignore_errors=True)
    texts = (record.text for store in stores for record in store.records())
    files = [f"{words}/{file}" for file in write_words(texts, passages, path / words)]
    faiss = None
    if settings.faiss:
        name = f"faiss-{generation:04d}.index"
        faiss = asdict(write_faiss([store.vectors for store in stores], path / name))
        files.append(name)
    for store in stores:
        inside = f"{SEGMENTS}/{store.path.name}"
        files += [f"{inside}/{MANIFEST}", *(f"{inside}/{file}" for file in store.manifest["files"])]
    facts = {
        "kind": INDEX_KIND,
        "format": INDEX_FORMAT,
        "generation": generation,
        "settings": asdict(settings),
        "segments": names,
        "words": words,
        "faiss": faiss,
        "passages": passages,
        "documents": len({record.document for store in stores for record in store.records()}),
        "width": int(stores[0].manifest["width"]),
    }
    write_sealed(path, INDEX, facts, [*files, *([WHITENING] if settings.whiten else [])])
    _delete_others(path, {*names}, {words, *([f"faiss-{generation:04d}.index"] if faiss else [])})
    return Index.open(path)


def _delete_others(path: Path, segments: set[str], files: set[str]) -> None:
    """What an index has been without since its manifest was replaced."""
    old = [entry for entry in (path / SEGMENTS).iterdir() if entry.name not in segments]
    old += [entry for entry in chain(path.glob("words-*"), path.glob("faiss-*")) if entry.name not in files]
    for entry in old:
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
