"""Texts to a vectors directory, in chunks: what was made stays when the work is stopped, and the same command goes on.

In: an encoder and records. Out: a directory that `unmask.inference.vector_store` reads. It is made beside its place and
renamed when it is whole.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from unmask.errors import BadInput, Interrupted, Refused
from unmask.files import check_writable, explain_disk_errors, sync, write_json
from unmask.inference.corpus_records import TextRecord
from unmask.inference.embed import TextPooling, embed_texts
from unmask.inference.vector_store import (
    FORMAT,
    KIND,
    MANIFEST,
    OFFSETS,
    READINGS,
    TEXTS,
    VECTORS,
    WHITENING,
    array_blocks,
    normalised,
    shorten,
    write_sealed,
)
from unmask.inference.vectors import Encoder
from unmask.inference.whitening import Whitening
from unmask.progress import Step, task
from unmask.tokens.windows import OnLong

BEGUN, DONE, RAW = "begun.json", "done.json", "raw.npy"
CHARACTERS = 1 << 19  # of a chunk, about 100,000 tokens: half a minute of a small encoder on a slow processor
RECORDS = 16_384  # at the most


@dataclass(frozen=True)
class VectorSettings:
    """How vectors are made."""

    pooling: str = "mean"
    normalise: bool = False
    dimensions: int | None = None
    whiten: bool = False
    dtype: str = "float32"
    on_long: OnLong = "windows"


@dataclass(frozen=True)
class WrittenVectors:
    """What was written."""

    manifest: dict[str, Any]
    continued_after: int  # texts that an earlier command had embedded


def write_vectors(
    encoder: Encoder,
    records: Callable[[], Iterable[TextRecord]],
    out: Path,
    settings: VectorSettings,
    *,
    agreed: dict[str, Any],
    whitening: Whitening | None = None,
) -> WrittenVectors:
    """Embed records into a directory; `agreed` is what a command that goes on must agree with, and is kept there.

    `whitening` is one that was fitted before; without it, one is fitted on these vectors where it is asked for.
    """
    pooling = TextPooling.named(settings.pooling, encoder)
    width = shorten(np.zeros((1, encoder.width), np.float32), settings.dimensions).shape[1]
    if out.exists():
        raise Refused(f"{out}: is there already; give another --out, or delete it")
    check_writable(out, beside=True)
    work = out.with_name(f".{out.name}.unfinished")
    agreed = {**agreed, **asdict(settings)}
    with explain_disk_errors(out):
        count = _begin(work, records, agreed)
        done = int(json.loads((work / DONE).read_text(encoding="utf-8"))["done"]) if (work / DONE).is_file() else 0
        mode: Any = "r+" if done else "w+"
        raw = open_memmap(work / RAW, mode=mode, dtype=np.float32, shape=(count, width))
        readings = open_memmap(work / READINGS, mode=mode, dtype=np.int64, shape=(count, 3))
        try:
            _embed_rest(encoder, work, (raw, readings), done, pooling, settings)
        except KeyboardInterrupt:
            raise Interrupted(f"stopped; what was embedded is in {work}, the same command goes on") from None
        if settings.whiten and whitening is None:
            whitening = Whitening.fitted(block for _, block in array_blocks(raw))
        _finish(work, raw, settings, whitening)
        names = [VECTORS, TEXTS, OFFSETS, READINGS, *([WHITENING] if whitening is not None else [])]
        tokens, cut, windows = (int(total) for total in readings.sum(0))
        facts = {"kind": KIND, "format": FORMAT, **agreed, "count": count, "width": width}
        facts |= {"tokens_read": tokens - cut, "cut": cut, "windows": windows}
        for name in (BEGUN, DONE, RAW):
            (work / name).unlink(missing_ok=True)
        manifest = write_sealed(work, MANIFEST, facts, names)
        work.rename(out)
        sync(out.parent)
    return WrittenVectors(manifest, done)


def _begin(work: Path, records: Callable[[], Iterable[TextRecord]], agreed: dict[str, Any]) -> int:
    """The texts in the directory, if a command that was stopped has not put them there; how many there are."""
    if (work / BEGUN).is_file():
        begun = json.loads((work / BEGUN).read_text(encoding="utf-8"))
        before = begun["agreed"]
        if differing := sorted(name for name in {*before, *agreed} if before.get(name) != agreed.get(name)):
            raise Refused(
                f"{work}: was begun with another {', '.join(differing)}; give another --out, or delete it to begin anew"
            )
        return int(begun["count"])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    offsets = [0]
    try:
        with task("Reading") as step, (work / TEXTS).open("wb") as file:
            for record in records():
                fields = record._asdict() if record.passage else {"id": record.id, "text": record.text}
                file.write(json.dumps(fields, ensure_ascii=False).encode() + b"\n")
                offsets.append(file.tell())
                if len(offsets) % 1000 == 0:
                    step(1000, note=f"{len(offsets):,} texts")
        if len(offsets) == 1:
            raise BadInput(f"{agreed.get('source', 'the corpus')}: has no text, so there is nothing to embed")
    except BadInput:
        shutil.rmtree(work)
        raise
    np.save(work / OFFSETS, np.array(offsets, dtype=np.int64))
    sync(work / TEXTS)
    write_json(work / BEGUN, {"agreed": agreed, "count": len(offsets) - 1})
    return len(offsets) - 1


def _embed_rest(
    encoder: Encoder,
    work: Path,
    arrays: tuple[np.memmap[Any, np.dtype[np.float32]], np.memmap[Any, np.dtype[np.int64]]],
    done: int,
    pooling: TextPooling,
    settings: VectorSettings,
) -> None:
    """The vectors that are not there yet, chunk by chunk; after each what is there is on the disk."""
    raw, readings = arrays
    size = (work / TEXTS).stat().st_size
    with task("Embedding", total=size) as step:
        for begin, chunk, bytes_read in _chunks(work / TEXTS, done, step):
            vectors = embed_texts(encoder, [record.text for record in chunk], pooling, on_long=settings.on_long)
            for place, (record, made) in enumerate(zip(chunk, vectors, strict=True), start=begin):
                if isinstance(made, BadInput):
                    raise BadInput(f"{record.id}: {made}")
                raw[place] = shorten(made.vector, settings.dimensions)
                readings[place] = made.reading.tokens, made.reading.cut, len(made.reading.windows)
            for array in arrays:
                array.flush()
            write_json(work / DONE, {"done": begin + len(chunk)})
            step(bytes_read, note=f"{begin + len(chunk):,} of {len(raw):,} texts")


def _chunks(path: Path, done: int, step: Step) -> Iterator[tuple[int, list[TextRecord], int]]:
    """Records behind the first `done`, so many as are embedded together: the number of the first, they, their bytes."""
    chunk: list[TextRecord] = []
    begin, size = done, 0
    with path.open("rb") as file:
        step(sum(len(file.readline()) for _ in range(done)))
        for line in file:
            chunk.append(TextRecord(**json.loads(line)))
            size += len(line)
            if size >= CHARACTERS or len(chunk) == RECORDS:
                yield begin, chunk, size
                begin, chunk, size = begin + len(chunk), [], 0
        if chunk:
            yield begin, chunk, size


def _finish(work: Path, raw: NDArray[np.float32], settings: VectorSettings, whitening: Whitening | None) -> None:
    """The vectors as they stay: whitened, of length one, in their type, as it was asked."""
    vectors = open_memmap(work / VECTORS, mode="w+", dtype=np.dtype(settings.dtype), shape=raw.shape)
    for begin, block in array_blocks(raw):
        block = block if whitening is None else whitening(block)
        vectors[begin : begin + len(block)] = normalised(block) if settings.normalise else block
    vectors.flush()
    if whitening is not None:
        np.save(work / WHITENING, whitening.as_array())
