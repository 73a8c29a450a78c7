"""Texts as vectors."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unmask.errors import BadInput, Refused
from unmask.results import Embedded, VectorsWritten, Written
from unmask.runs.commands import quoted_path
from unmask.verbs.arguments import Location
from unmask.verbs.commands import streamed, verb
from unmask.verbs.lines import Answers, answer_texts
from unmask.verbs.using import model_to_ask

if TYPE_CHECKING:  # what is heavy is loaded when it is needed
    from unmask.inference.model import Model
    from unmask.inference.write_vectors import VectorSettings

Precision = Literal["float32", "bfloat16", "float16"]
OnLong = Literal["windows", "error", "cut"]


@verb
@streamed
def embed(
    model: Location,
    /,
    *texts: str,
    pooling: str | None = None,
    normalise: bool = False,
    dimensions: int | None = None,
    whiten: bool = False,
    on_long: OnLong = "windows",
    dtype: Literal["float32", "float16"] = "float32",
    field: str | None = None,
    out: Location | None = None,
    device: str | None = None,
    precision: Precision = "float32",
    revision: str | None = None,
) -> Iterator[Embedded | VectorsWritten | Written]:
    """Turn texts into vectors.

    Any encoder will do, with a head that fills blanks or without, T5's encoder and GPT-2 too. A text that is longer
    than the model takes is read in windows, each token counting once. With --out a file of texts or a data directory
    becomes a vectors directory (vectors.npy, the texts, how they were made); stopped, the same command goes on.

    Vectors of a model that was not tuned for sentences crowd around one direction: compare them with --whiten.

    Args:
        model: A run, any directory with an encoder of transformers, or a name on the hub: org/name, or hf:name.
        texts: Texts, a file of them (a text a line, or .jsonl with ids), a data directory, or - for standard input.
        pooling: mean over the tokens, first token, or the mean of the last4 layers (any number); if not given, what
            the model's directory says, else mean.
        normalise: Make every vector one long, so that products are cosines.
        dimensions: Keep only so many numbers of each vector, the first.
        whiten: Take away the mean and the strongest directions of these texts; both are kept with the vectors.
        on_long: What to do with a text that is longer than the model takes: read windows, refuse it, or cut it.
        dtype: What numbers are kept in.
        field: The field of JSON lines that holds the text, or several to join: title,text; text if not given.
        out: The directory to write.
        device: Where to compute, such as cpu or cuda:1; a GPU if there is one.
        precision: What products are computed in.
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    if not texts:
        raise BadInput("nothing to embed: give texts, or a file of them")
    if out is not None:
        if len(texts) > 1 or not os.path.exists(texts[0]):  # noqa: PTH110  Path.exists raises for a long text
            raise BadInput(f"--out {out}: vectors are kept for one file of texts or a data directory; give it")
        asked = model_to_ask(model, device, precision, revision)
        settings = vector_settings(asked, pooling, normalise, dimensions, whiten, dtype, on_long)
        return iter([write_corpus(asked, Path(texts[0]), Path(out), settings, field)])
    if whiten:
        raise BadInput("--whiten: is fitted on a corpus and kept with it; give a file of texts and --out")
    if len(texts) == 1 and os.path.isdir(texts[0]):  # noqa: PTH112
        raise BadInput(f"{texts[0]}: is a directory; its vectors need a place: give --out")
    asked = model_to_ask(model, device, precision, revision)

    def answer(texts: list[str]) -> Answers[Embedded]:
        made = asked.embed_each(texts, pooling=pooling, normalise=normalise, dimensions=dimensions, on_long=on_long)
        for text, vector in zip(texts, made, strict=True):
            if isinstance(vector, BadInput):
                yield vector
                continue
            yield [vector.as_result(text)]

    return answer_texts(texts, answer, done="embedded", field=field)


def vector_settings(
    asked: Model,
    pooling: str | None,
    normalise: bool,
    dimensions: int | None,
    whiten: bool,
    dtype: str,
    on_long: OnLong,
) -> VectorSettings:
    """How vectors are made; what is not given is as the model's directory says."""
    from unmask.inference.sentence_layout import chosen_pooling, read_layout
    from unmask.inference.write_vectors import VectorSettings

    layout = read_layout(asked.path)
    normalise = normalise or (layout is not None and layout.normalise)
    return VectorSettings(chosen_pooling(asked.path, pooling), normalise, dimensions, whiten, dtype, on_long)


def write_corpus(asked: Model, source: Path, out: Path, settings: VectorSettings, field: str | None) -> VectorsWritten:
    """Make a vectors directory of a corpus, or go on with one."""
    from unmask.inference.corpus_records import read_records
    from unmask.inference.vector_store import VectorStore
    from unmask.inference.write_vectors import write_vectors

    begun = time.perf_counter()
    if out.exists():
        raise Refused(f"{out}: is there already; give another --out, or delete it")
    agreed = {"model": str(asked.path.resolve()), "model_sha256": asked.encoder_digest} | corpus_source(source, field)
    written = write_vectors(asked.encoder, lambda: read_records(source, field), out, settings, agreed=agreed)
    manifest, whitening = written.manifest, VectorStore.open(out).whitening
    return VectorsWritten(
        path=out,
        model=asked.path,
        texts=manifest["count"],
        dimensions=manifest["width"],
        pooling=settings.pooling,
        normalised=settings.normalise,
        whitened=0 if whitening is None else len(whitening.directions),
        dtype=settings.dtype,
        tokens_read=manifest["tokens_read"],
        windows=manifest["windows"],
        cut=manifest["cut"],
        continued_after=written.continued_after,
        seconds=time.perf_counter() - begun,
        next=(f"unmask near {quoted_path(out)} --above 0.9",),
    )


def corpus_source(path: Path, field: str | None) -> dict[str, Any]:
    """What a command that goes on must find as it was."""
    from unmask.files import missing_path

    if not path.exists():
        raise missing_path(path, "give a file of texts (.txt or .jsonl) or a data directory")
    stat = path.stat()
    return {"source": str(path.resolve()), "bytes": stat.st_size, "changed": stat.st_mtime_ns, "field": field}
