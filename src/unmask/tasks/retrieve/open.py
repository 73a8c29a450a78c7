"""What a request asks to be learnt of retrieval: the collection read, split and checked.

In: a folder as BEIR has it, or files of queries with passages. Out: `Retrieving`, and the queries to be judged by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unmask.errors import BadInput
from unmask.models.load import load_model
from unmask.models.locate import model_directory
from unmask.tasks.request import TuneRequest
from unmask.tasks.retrieve.collection import JudgedQueries, read_collection, read_pairs
from unmask.tasks.retrieve.cross_learning import CrossRetrieving
from unmask.tasks.retrieve.learning import RetrieveOptions, Retrieving, hold_out_queries
from unmask.tasks.retrieve.sparse_learning import SparseRetrieving

FEWEST = 10  # queries, below which nothing is learnt from them
FOLDS = 3  # where a collection has no training split
HEADS: dict[str, type[Retrieving]] = {"dense": Retrieving, "sparse": SparseRetrieving, "cross": CrossRetrieving}


def open_retrieving(request: TuneRequest) -> tuple[Retrieving, JudgedQueries | None]:
    """What a request asks to be learnt, and the queries of a test split if there is one."""
    if request.settings.sets is not None:
        raise BadInput("--sets: sets are of the labels of texts, and retrieve has none; leave it out")
    place = request.places["train"]
    fields = ("query", "passage")
    if place.is_dir():
        if given := [name for name in ("dev", "test") if name in request.places and request.places[name] != place]:
            raise BadInput(f"--{given[0]}: {place} has its own splits in qrels/; leave it out")
        collection, splits = read_collection(place)
        files = {"train": place}
    else:
        files = {name: request.places[name] for name in ("train", "dev", "test") if name in request.places}
        collection, splits, fields = read_pairs(files, text=request.fields.get("text"), pair=request.fields.get("pair"))
    learnt = splits.get("train") or splits.get("test") or splits["dev"]
    given_dev = splits.get("dev") if splits.get("dev") is not learnt else None
    test = splits.get("test") if splits.get("test") is not learnt else None
    options = retrieve_options(request.options)
    check_queries(learnt)
    train, dev = (learnt, given_dev) if given_dev is not None else hold_out_queries(learnt, request.settings.seed)
    retrieving = HEADS[options.head](
        model_directory(request.places["model"]),
        collection,
        train,
        dev,
        request.settings,
        options=options,
        fields=fields,
        given_dev=given_dev is not None,
        files=files,
    )
    retrieving.check_dimensions()
    if options.head == "sparse":
        load_model(retrieving.start, device="cpu")  # refuses what has no head that fills blanks
    return retrieving, test


def folds_without_split(place: Path) -> int:
    """How many folds a collection without a training split is judged by where nobody says; 0 with one, or of pairs."""
    unsplit = (place / "qrels").is_dir() and not (place / "qrels" / "train.tsv").is_file()
    return FOLDS if unsplit else 0


def retrieve_options(given: Mapping[str, Any]) -> RetrieveOptions:
    """The options as asked for, else as they come."""
    options = RetrieveOptions()
    options = replace(options, **{name: value for name, value in given.items() if value is not None})
    options = replace(options, dimensions=tuple(options.dimensions))
    if options.head not in HEADS:
        raise BadInput(f"--head {options.head}: choose {', '.join(HEADS)}")
    if options.head == "sparse" and options.dimensions:
        raise BadInput("--dimensions: the vectors of a sparse head are words, and cannot be cut; leave it out")
    if options.head == "cross" and options.dimensions:
        raise BadInput(
            "--dimensions: a cross-encoder reads query and document together and has no vectors; leave it out"
        )
    if options.head == "cross" and options.hard == 0:
        raise BadInput("--hard 0: a cross-encoder learns to tell an answer from others; give 1 or more")
    if options.sparsity <= 0:
        raise BadInput(f"--sparsity {options.sparsity}: give a number above 0, 1 is as published")
    if options.hard is not None and options.hard < 0:
        raise BadInput(f"--hard {options.hard}: give 0 or more")
    return options


def check_queries(queries: JudgedQueries) -> None:
    """Refuse what nothing can be learnt from: a handful of queries."""
    if len(queries) < FEWEST:
        count = f"{len(queries):,} quer{'y' if len(queries) == 1 else 'ies'}"
        raise BadInput(f"{queries.path}: {count}, too few to learn from; give at least {FEWEST}")
