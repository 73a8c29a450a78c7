"""Passages of a corpus in an index, those that answer a query, and those that say nearly the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from unmask.errors import BadInput
from unmask.results import Indexed, NearTexts, Searched, Written
from unmask.runs.commands import quoted_path
from unmask.verbs.arguments import Location, path_of
from unmask.verbs.commands import streamed, verb
from unmask.verbs.embedding import corpus_source, vector_settings, write_corpus
from unmask.verbs.lines import Answers, answer_texts
from unmask.verbs.using import model_to_ask

if TYPE_CHECKING:  # what is heavy is loaded when it is needed
    from unmask.inference.index import Index
    from unmask.inference.model import Model

Precision = Literal["float32", "bfloat16", "float16"]
OnLong = Literal["windows", "error", "cut"]


@verb
def index(
    model: Location,
    /,
    *corpus: Location,
    out: Location = "index",
    add: Location | None = None,
    remove: tuple[str, ...] = (),
    pooling: str | None = None,
    dimensions: int | None = None,
    whiten: bool = False,
    dtype: Literal["float32", "float16"] = "float32",
    passage: int | None = None,
    overlap: int | None = None,
    faiss: bool = False,
    field: str | None = None,
    encoder: Location | None = None,
    device: str | None = None,
    precision: Precision = "float32",
    revision: str | None = None,
) -> Indexed:
    """Make texts searchable, by their words and by their vectors; or change what is.

    Documents are cut into passages that overlap; each has a vector, and all have a table of words (BM25). The index
    belongs to the model it was made with. Documents are added and removed by their ids (`id` or `_id` of a JSON line,
    else its number) without embedding the others again: unmask index INDEX --add more.jsonl --remove 12 17

    Args:
        model: A run, any directory with an encoder of transformers, or a name on the hub; with --add or
            --remove, the index to change.
        corpus: A file with a text a line, a .jsonl file, or a data directory.
        out: The directory to write.
        add: A file of documents to add.
        remove: Ids of documents to remove; before others are added, so that both replace a document.
        pooling: mean, first or last4; if not given, what the model's directory says, else mean.
        dimensions: Keep only so many numbers of each vector, the first.
        whiten: Take away the mean and the strongest directions of the corpus, of queries too.
        dtype: What numbers are kept in.
        passage: Tokens of a passage, at the most; if not given 200, or fewer where the model takes fewer.
        overlap: How many of them the next passage shares; if not given, a fifth.
        faiss: Build what finds near vectors without looking at all of them (pip install 'unmask[faiss]').
        field: The field of JSON lines that holds the text, or several to join: title,text; text if not given.
        encoder: With --add: the model the index was made with, if it has moved; a name on the hub too.
        device: Where to compute, such as cpu or cuda:1; a GPU if there is one.
        precision: What products are computed in.
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    begun = time.perf_counter()
    if faiss:
        from unmask.inference.faiss_index import check_faiss

        check_faiss()
    if add is not None or remove:
        if corpus:
            raise BadInput(f"{corpus[0]}: give an index alone with --add and --remove: unmask index INDEX --add FILE")
        if revision is not None and (add is None or encoder is None):
            raise BadInput(f"--revision {revision}: an index knows its model; with --add and --encoder NAME it is used")
        where = (path_of(encoder), device, precision, revision)
        return _change_index(Path(model), path_of(add), remove, field, where, begun)
    if len(corpus) != 1:
        raise BadInput("give a model and one corpus: unmask index MODEL TEXTS --out index")
    asked = model_to_ask(model, device, precision, revision)
    from unmask.inference.corpus_records import read_records
    from unmask.inference.index import PASSAGE, IndexSettings, create_index
    from unmask.inference.sentence_layout import chosen_pooling, is_tuned

    size = passage or min(PASSAGE, asked.encoder.room or PASSAGE)
    settings = IndexSettings(
        model=str(asked.path.resolve()),
        model_sha256=asked.encoder_digest,
        tuned=is_tuned(asked.path) or asked.head == "sparse",
        pooling=chosen_pooling(asked.path, pooling),
        dimensions=dimensions,
        whiten=whiten,
        dtype=dtype,
        passage=size,
        overlap=size // 5 if overlap is None else overlap,
        faiss=faiss,
        head=asked.head,
    )
    if asked.head == "sparse" and (faiss or whiten or dimensions or pooling):
        raise BadInput("--faiss, --whiten, --dimensions and --pooling are for vectors; this model weighs words")
    source = Path(corpus[0])
    records = read_records(source, field)
    made = create_index(asked.index_encoder, records, Path(out), settings, source=corpus_source(source, field))
    return _indexed(made, made.manifest["documents"], 0, begun)


def _change_index(
    path: Path,
    add: Path | None,
    remove: tuple[str, ...],
    field: str | None,
    where: tuple[Path | None, str | None, str, str | None],
    begun: float,
) -> Indexed:
    """Remove documents, then add others."""
    from unmask.inference.corpus_records import read_records
    from unmask.inference.index import Index, add_documents, remove_documents

    opened = Index.open(path)
    if add is not None:  # what would stop it is told before something is removed
        asked = _model_of(opened, *where)
        next(read_records(add, field), None)
    if remove:
        opened = remove_documents(opened, set(remove))
    before = opened.manifest["documents"]
    if add is not None:
        opened = add_documents(asked.index_encoder, read_records(add, field), opened, source=corpus_source(add, field))
    return _indexed(opened, opened.manifest["documents"] - before, len(set(remove)), begun)


@verb
@streamed
def search(
    index: Location,
    /,
    *queries: str,
    by: Literal["bm25", "dense", "sparse", "fused"] | None = None,
    top: int = 10,
    rerank: Location | None = None,
    depth: int = 50,
    exact: bool = False,
    encoder: Location | None = None,
    field: str | None = None,
    out: Location | None = None,
    device: str | None = None,
    precision: Precision = "float32",
    revision: str | None = None,
) -> Iterator[Searched | Written]:
    """Find the passages of an index that answer a query.

    By the words they share (bm25, which asks no model), by vectors (dense), or by both (fused). A masked language
    model that was not tuned for search searches badly by its vectors: for such a one bm25 is the default, and dense is
    there to be compared. unmask tune retrieve tunes one; an encoder that was tuned elsewhere, in the layout of
    sentence-transformers, is taken as it is; and then fused is the default.

    Args:
        index: An index made by `unmask index`.
        queries: Queries, a file of them (a query a line, or .jsonl), or - for standard input.
        by: Shared words, vectors, or both; if not given, fused where the model was tuned, else bm25.
        top: How many documents, with the best passage of each.
        rerank: A model of unmask tune retrieve --head cross, which reads each passage with the query and orders them.
        depth: How many documents it is given.
        exact: Look at all vectors, where there is a faiss index too.
        encoder: The model the index was made with, if it has moved; a name on the hub too.
        field: The field of JSON lines that holds the query; text if not given.
        out: A file to write, a line of JSON for each query; the same command goes on where it was stopped.
        device: Where to compute, such as cpu or cuda:1; a GPU if there is one.
        precision: What products are computed in.
        revision: With --encoder NAME: its branch, tag or commit on the hub; the main branch if not given.
    """
    if not queries:
        raise BadInput('nothing to search for: give a query, such as "wing flutter at high speed"')
    from unmask.inference.index import Index

    opened = Index.open(Path(index))
    from unmask.inference.search import default_way, search_index

    if revision is not None and encoder is None:
        raise BadInput(f"--revision {revision}: an index knows its model; with --encoder NAME it is used")
    way = by or default_way(opened)
    asked = None if way == "bm25" else _model_of(opened, path_of(encoder), device, precision, revision)
    reranker = None if rerank is None else model_to_ask(rerank, device, precision)
    if reranker is not None and depth < top:
        raise BadInput(f"--depth {depth}: at least the {top} documents that are asked for by --top are reranked")
    first = top if reranker is None else depth

    def answer(texts: list[str]) -> Answers[Searched]:
        if asked is None:
            found = search_index(opened, texts, None, by=way, top=first)
        else:
            found = asked.search_open(opened, texts, by=way, top=first, exact=exact)
        yield from ([each] for each in (found if reranker is None else reranker.rerank(found, top)))

    settings = {"index": opened.manifest["seal"], "by": way, "top": top, "exact": exact, "precision": precision}
    if reranker is not None:
        settings |= {"rerank": reranker.encoder_digest, "depth": depth}
    return answer_texts(queries, answer, done="searched for", field=field, out=path_of(out), settings=settings)


@verb
def near(
    texts: Location,
    /,
    *,
    above: float = 0.9,
    limit: int = 100,
    model: Location | None = None,
    pooling: str | None = None,
    whiten: bool = True,
    field: str | None = None,
    device: str | None = None,
    precision: Precision = "float32",
    revision: str | None = None,
) -> NearTexts:
    """Find texts of a corpus that say nearly the same, by their vectors.

    Every pair is compared, in flat memory; the nearest are listed with the beginnings of both.

    Args:
        texts: A vectors directory, an index, or with --model a data directory or a file of texts.
        above: The cosine from which on two texts are near.
        limit: How many pairs are listed; all are counted.
        model: A run, any directory with an encoder, or a name on the hub, where the texts have no vectors yet.
        pooling: mean, first or last4, with --model.
        whiten: Take away what the vectors of all these texts share, with a --model that was not tuned.
        field: The field of JSON lines that holds the text, or several to join: title,text; text if not given.
        device: Where to compute, such as cpu or cuda:1; a GPU if there is one.
        precision: What products are computed in.
        revision: The branch, tag or commit of a model on the hub; its main branch if not given.
    """
    from unmask.inference.near import holds_vectors, near_texts, open_stores

    path = Path(texts)
    if holds_vectors(path):
        if model is not None:
            raise BadInput(f"{path}: has vectors already; leave --model out")
        return near_texts(path, open_stores(path), above=above, limit=limit)
    if model is None:
        raise BadInput(
            f"{path}: has no vectors; give --model, or a directory made by `unmask embed … --out` or `unmask index`"
        )
    asked = model_to_ask(model, device, precision, revision)
    from unmask.inference.sentence_layout import is_tuned

    settings = vector_settings(asked, pooling, True, None, whiten and not is_tuned(asked.path), "float32", "windows")
    with TemporaryDirectory(prefix="unmask-near-") as folder:
        out = Path(folder) / "vectors"
        write_corpus(asked, path, out, settings, field)
        return near_texts(path, open_stores(out), above=above, limit=limit)


def _indexed(made: Index, added: int, removed: int, begun: float) -> Indexed:
    settings, faiss, whitening = made.settings, made.faiss, made.whitening
    return Indexed(
        path=made.path,
        model=Path(settings.model),
        documents=made.manifest["documents"],
        passages=len(made),
        added=added,
        removed=removed,
        dimensions=made.manifest["width"],
        tuned=settings.tuned,
        whitened=0 if whitening is None else len(whitening.directions),
        faiss_recall=None if faiss is None else faiss.recall,
        seconds=time.perf_counter() - begun,
        next=(f'unmask search {quoted_path(made.path)} "what you look for"',),
    )


def _model_of(
    opened: Index, encoder: Path | None, device: str | None, precision: str, revision: str | None = None
) -> Model:
    """The model an index was made with; another is refused."""
    from unmask.models.hub import hub_name

    place = encoder or Path(opened.settings.model)
    if not place.exists() and (encoder is None or hub_name(encoder) is None):
        remedy = "--encoder says where it is now; --by bm25 searches without it"
        raise BadInput(f"{place}: is not there, and the vectors of {opened.path} are its; {remedy}")
    asked = model_to_ask(place, device, precision, revision)
    opened.check_model(asked.encoder_digest, asked.path)
    return asked
