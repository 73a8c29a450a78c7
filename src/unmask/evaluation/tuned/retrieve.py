"""How well a tuned model finds documents, beside what simpler ways come to, with intervals over queries.

In: a tuning that is finished, and queries to be judged by. Out: `JudgedRetrieval`. The documents are indexed and
searched as `unmask index` and `unmask search` do it. Where there are folds, each query is searched for by the model of
the fold that has not seen it. The ways:

    this model                 by its vectors, by its weighted words, or by reranking what BM25 finds
    this model with BM25       both, by reciprocal ranks (k = 60)
    BM25                       by words
    frozen vectors             by the vectors of the model before tuning
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from unmask.evaluation.tuned.answers import write_answers
from unmask.evaluation.tuned.leaks import Leaks, leaks_of_folds, some_are_clean
from unmask.inference.corpus_records import TextRecord
from unmask.inference.index import PASSAGE, Index, IndexSettings, create_index
from unmask.inference.model import Model
from unmask.inference.rerank import rerank, reranker_of
from unmask.inference.search import FUSION, By, search_index
from unmask.inference.sentence_layout import chosen_pooling
from unmask.inference.word_weights import retrieval_head
from unmask.intervals import mean_figure, within
from unmask.progress import task
from unmask.records import Flags, Reals
from unmask.results import Figure, Hit, JudgedRetrieval, QueryError, RetrievalWay, Searched
from unmask.tasks.retrieve.collection import Collection, JudgedQueries
from unmask.tasks.retrieve.learning import Retrieving
from unmask.tasks.retrieve.measures import measure_rankings
from unmask.tasks.tune import TunedRun, load_tuned
from unmask.tasks.tuned_model import TunedModel

ERRORS = 20  # the worst of the queries
DEPTH = 100  # documents that are ranked
SHOWN = 5  # documents that are kept of each query
MODEL, FUSED, WORDS, FROZEN = "this model", "this model with BM25", "BM25", "frozen vectors"

Rankings = dict[str, list[str]]  # documents by the id of the query, best first


@dataclass(frozen=True)
class QueryAnswers:
    """What was found for queries, by each way of searching."""

    queries: JudgedQueries
    rankings: dict[str, Rankings]
    leaked: Flags  # by query

    @property
    def figures(self) -> dict[str, dict[str, Reals]]:
        """By way and by measure, a figure for each query."""
        examples = self.queries.examples
        return {
            name: measure_rankings([query.grades for query in examples], [found[query.id] for query in examples])
            for name, found in self.rankings.items()
        }


def judge_retriever(tuned: TunedRun, retriever: TunedModel, leaks: Leaks) -> JudgedRetrieval:
    """Figures on the test queries of a tuning, those of the baselines on the same, and what leaked."""
    learnt: Retrieving = tuned.learnt
    rankings = model_rankings(tuned, retriever.directory) | baseline_rankings(learnt, tuned.test)
    answers = QueryAnswers(tuned.test, rankings, leaks.leaked)
    figures = answers.figures[MODEL]
    columns = {
        "line": list(range(1, len(answers.queries) + 1)),
        "query": [query.id for query in answers.queries.examples],
        "score": figures["ndcg_10"].tolist(),
        "found": [answers.rankings[MODEL][query.id][:SHOWN] for query in answers.queries.examples],
    }
    write_answers(tuned.run.path, columns)
    return judged_answers(answers, learnt.collection)


def judge_retrieval_folds(folds: Sequence[TunedRun]) -> JudgedRetrieval:
    """Figures on all queries, each judged by a model that has not seen it."""
    rankings: dict[str, Rankings] = {MODEL: {}, FUSED: {}}
    leaked = np.concatenate([leaks.leaked for leaks in leaks_of_folds(folds)])
    for tuned in folds:
        for way, found in model_rankings(tuned, tuned.run.path / "model").items():
            rankings[way] |= found
    first: JudgedQueries = folds[0].test
    examples = tuple(query for tuned in folds for query in tuned.test.examples)
    everyone = JudgedQueries(first.path, examples, first.digest)
    rankings |= baseline_rankings(folds[0].learnt, everyone)
    return judged_answers(QueryAnswers(everyone, rankings, leaked), folds[0].learnt.collection)


def retrieval_headline(tuned: TunedRun, retriever: TunedModel) -> float:
    """The figure that chooses, on test queries."""
    test: JudgedQueries = tuned.test
    found = model_rankings(tuned, retriever.directory, fused=False)[MODEL]
    figures = measure_rankings([query.grades for query in test.examples], [found[query.id] for query in test.examples])
    return float(figures["ndcg_10"].mean())


def model_rankings(tuned: TunedRun, directory: Path, *, fused: bool = True) -> dict[str, Rankings]:
    """What a model finds for the queries that it is judged by, alone and with BM25."""
    learnt: Retrieving = tuned.learnt
    if learnt.options.head == "cross":
        return reranked_rankings(learnt, directory, tuned.test)
    own: By = "sparse" if learnt.options.head == "sparse" else "dense"
    ways: dict[str, By] = {MODEL: own, **({FUSED: "fused"} if fused else {})}
    return search_ways(directory, learnt.collection, tuned.test, ways)


def reranked_rankings(learnt: Retrieving, directory: Path, queries: JudgedQueries) -> dict[str, Rankings]:
    """What BM25 finds in the order of a cross-encoder; and that order fused with BM25's own."""
    reranker = reranker_of(load_tuned(directory))
    with open_documents(learnt.start, learnt.collection) as (model, index):
        found = search_documents(model, index, queries.texts, "bm25")
        ordered = rerank(found, reranker, DEPTH)
    fused = [sorted(each.hits, key=lambda hit: -both_ranks(each, hit)) for each in ordered]
    names = [query.id for query in queries.examples]
    return {
        MODEL: {name: [hit.document for hit in each.hits] for name, each in zip(names, ordered, strict=True)},
        FUSED: {name: [hit.document for hit in hits] for name, hits in zip(names, fused, strict=True)},
    }


def both_ranks(reranked: Searched, hit: Hit) -> float:
    """The sum of the inverted ranks of a hit, before reranking and after it."""
    return 1 / (FUSION + hit.ranks["before"]) + 1 / (FUSION + 1 + reranked.hits.index(hit))


def baseline_rankings(learnt: Retrieving, queries: JudgedQueries) -> dict[str, Rankings]:
    """What BM25 finds, and the model before tuning."""
    before: By = "sparse" if retrieval_head(learnt.start) == "sparse" else "dense"
    return search_ways(learnt.start, learnt.collection, queries, {WORDS: "bm25", FROZEN: before})


def judged_answers(answers: QueryAnswers, collection: Collection) -> JudgedRetrieval:
    """What was found, as figures with intervals."""
    figures = answers.figures
    ways = {name: judged_way(name, each) for name, each in figures.items()}
    own, clean = ways.pop(MODEL), None
    if some_are_clean(answers.leaked):
        clean = mean_of_queries(figures[MODEL]["ndcg_10"][~answers.leaked])
    return JudgedRetrieval(
        data=answers.queries.path,
        queries=len(answers.queries),
        documents=len(collection.documents),
        ndcg_10=own.ndcg_10,
        mrr_10=own.mrr_10,
        recall_100=own.recall_100,
        baselines=tuple(ways.values()),
        leaked=int(answers.leaked.sum()),
        clean_ndcg_10=clean,
        errors=tuple(worst_queries(answers.queries, figures[MODEL]["ndcg_10"], answers.rankings[MODEL])),
    )


def search_ways(
    directory: Path, collection: Collection, queries: JudgedQueries, ways: dict[str, By]
) -> dict[str, Rankings]:
    """By name, what each way of searching finds with a model."""
    rankings = {}
    with open_documents(directory, collection) as (model, index), task(f"Searching with {directory}") as step:
        for name, by in ways.items():
            found = search_documents(model, index, queries.texts, by)
            rankings[name] = {
                query.id: [hit.document for hit in each.hits]
                for query, each in zip(queries.examples, found, strict=True)
            }
            step(1)
    return rankings


@contextmanager
def open_documents(directory: Path, collection: Collection) -> Iterator[tuple[Model, Index]]:
    """A model, and an index of a collection that it made, for as long as it is needed."""
    model = Model(directory, None, "float32")
    with TemporaryDirectory(prefix="unmask-judging-") as folder:
        yield model, index_documents(model, collection, Path(folder) / "index")


def index_documents(model: Model, collection: Collection, path: Path) -> Index:
    """The documents of a collection as `unmask index` makes an index of them."""
    head = "sparse" if retrieval_head(model.path) == "sparse" else "dense"
    encoder = model.index_encoder if head == "sparse" else model.encoder
    size = min(PASSAGE, encoder.room or PASSAGE)
    settings = IndexSettings(
        model=str(model.path.resolve()),
        model_sha256=model.encoder_digest,
        tuned=True,
        pooling=chosen_pooling(model.path, None),
        passage=size,
        overlap=size // 5,
        head=head,
    )
    records = (TextRecord(name, text) for name, text in collection.documents.items() if text)
    return create_index(encoder, records, path, settings, source={})


def search_documents(model: Model, index: Index, queries: Sequence[str], by: By) -> list[Searched]:
    """The documents that are found for each query."""
    if by == "bm25":
        return search_index(index, queries, None, by=by, top=DEPTH)
    return model.search_open(index, queries, by=by, top=DEPTH)


def judged_way(name: str, figures: dict[str, Reals]) -> RetrievalWay:
    """A way of searching with its figures, each with its interval over queries."""
    return RetrievalWay(
        name=name,
        **{measure: mean_of_queries(values) for measure, values in figures.items()},
    )


def mean_of_queries(values: Reals) -> Figure:
    """A figure of each query as one of all, with its interval."""
    return within(mean_figure(values, np.arange(len(values))), 0.0, 1.0)


def worst_queries(queries: JudgedQueries, figures: Reals, rankings: Rankings) -> list[QueryError]:
    """The twenty queries that are answered worst, to be read: some will have answers that nobody has judged."""
    return [
        QueryError(
            id=query.id,
            text=query.text,
            ndcg_10=float(figures[number]),
            answers=query.answers,
            said=tuple(rankings[query.id][:SHOWN]),
        )
        for number, query in ((n, queries.examples[n]) for n in np.argsort(figures, kind="stable")[:ERRORS].tolist())
    ]
