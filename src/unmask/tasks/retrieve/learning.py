"""Retrieval as a job: a pretrained encoder, queries with documents that answer them, and vectors that bring both near.

In: a model directory and a collection. Out: a run directory whose `model/` sentence-transformers loads. Where a
collection has no training split, folds over its queries judge each by a model that has not seen it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch.nn import Module
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.objectives.objective import AnyObjective
from unmask.objectives.ranking import InBatchNegatives, Judgments
from unmask.progress import say
from unmask.records import Integers
from unmask.results import FigureTitle
from unmask.tasks.feed import ExampleBatches
from unmask.tasks.retrieve.batches import DistinctOrder, RetrievalBatches
from unmask.tasks.retrieve.collection import Collection, JudgedQueries
from unmask.tasks.retrieve.mining import mine_negatives
from unmask.tasks.retrieve.retriever import RetrieveCard
from unmask.tasks.retrieve.validation import MRR, NDCG, RECALL, RetrievalValidation
from unmask.tasks.sentence_batches import SentenceRows
from unmask.tasks.sentence_tuning import SentenceTuning, export_sentence_model
from unmask.tasks.sentence_vectors import vectors_of
from unmask.tasks.settings import TuneSettings
from unmask.tasks.tuning import FLAGS, Tuning
from unmask.tokens.pack import random_order
from unmask.training.job import FinishedRun, Validator

EVERY = 10  # of so many queries one is held out
FEWEST_A_FOLD = 2  # queries
HOLDING_OUT, FOLDING = 7, 8  # purposes of an order, among all that are drawn from a seed
USES = (
    "unmask index RUN CORPUS.jsonl --out index",
    "unmask search index EXAMPLE",
    "from sentence_transformers import SentenceTransformer\n\nSentenceTransformer(MODEL).encode([EXAMPLE])",
)
OPTIONS = ("head", "hard", "dimensions", "sparsity")


@dataclass(frozen=True)
class RetrieveOptions:
    """What only this task has."""

    head: str = "dense"
    hard: int | None = None  # hard negatives of each example; if none is said, as many as its head takes
    dimensions: tuple[int, ...] = ()  # that vectors are cut to besides
    sparsity: float = 1.0  # of a sparse head: times the published weights of what makes words rare


@dataclass(frozen=True)
class Retrieving(SentenceTuning):
    """Queries with answers and the model that learns to find them: what the settings say, read once."""

    start: Path
    collection: Collection
    train: JudgedQueries
    dev: JudgedQueries
    settings: TuneSettings
    options: RetrieveOptions = field(default_factory=RetrieveOptions)
    fields: tuple[str, str] = ("query", "passage")
    given_dev: bool = True  # else it is a part of the queries
    fold: str | None = None  # which of how many, where this is one of the folds
    files: Mapping[str, Path] = field(default_factory=dict)  # what was read, by name

    task = "retrieve"
    usual_hard: ClassVar[int] = 1
    flags: ClassVar[Mapping[str, str]] = {
        **FLAGS,
        **{f"options.{name}": f"--{name}" for name in OPTIONS},
        "train": "the queries",
    }

    @cached_property
    def documents(self) -> SentenceRows:
        """The documents of the collection, as rows."""
        return self.reader.read_sentences(self.collection.texts)

    @property
    def hard(self) -> int:
        """How many hard negatives an example has at the most."""
        return self.usual_hard if self.options.hard is None else self.options.hard

    @cached_property
    def pairs(self) -> Integers:
        """N 2: the query and the document of each example."""
        return self.train.pairs(self.collection)

    @cached_property
    def queries(self) -> SentenceRows:
        """The queries to learn from, as rows."""
        return self.reader.read_sentences(self.train.texts)

    @cached_property
    def negatives(self) -> Integers:
        """N H: hard negatives, by words and, where it was tuned before, by the model it starts from; -1 for no more."""
        vectors = None
        if self.hard and self.mines_by_vectors:
            learner = self.learner()
            vectors = vectors_of(learner, self.queries), vectors_of(learner, self.documents)
        return mine_negatives(self.pairs, self.train.texts, self.collection.texts, self.hard, vectors)

    @cached_property
    def batches(self) -> ExampleBatches:
        """The queries of every epoch, each with its answer and its hard negatives."""
        pairs, queries, documents = self.pairs, self.queries, self.documents
        work = queries.work[pairs[:, 0]] + documents.work[pairs[:, 1]] * (1 + self.hard)
        size = min(self.settings.batch_size, len(pairs))
        order = DistinctOrder(work=work, batch_size=size, seed=self.settings.seed, pairs=pairs)
        return RetrievalBatches(queries=queries, documents=documents, negatives=self.negatives, order=order)

    @property
    def mines_by_vectors(self) -> bool:
        """Whether the model was tuned for vectors of sentences before: those of others find nothing that is hard."""
        return (self.start / "modules.json").is_file() and not (self.start / "export.json").is_file()

    @cached_property
    def objective(self) -> AnyObjective:
        """What is learnt."""
        judgments = Judgments.of(self.pairs, len(self.collection.documents))
        return InBatchNegatives(judgments, self.options.dimensions)

    def check_dimensions(self) -> None:
        """Refuse to cut vectors to more than they have."""
        width = int(self.config.get_text_config().hidden_size)
        if too_long := [size for size in self.options.dimensions if not 0 < size < width]:
            raise BadInput(f"--dimensions {too_long[0]}: this model's vectors have {width}; give fewer")

    @cached_property
    def held_out(self) -> Validator:
        """What is measured on."""
        queries = self.reader.read_sentences(self.dev.texts)
        return RetrievalValidation(self.collection, self.dev, queries, self.documents)

    @property
    def figures(self) -> tuple[FigureTitle, ...]:
        """nDCG@10 chooses the best moment."""
        return NDCG, MRR, RECALL

    @property
    def micro_batch(self) -> int:
        """Examples in a micro-batch."""
        size = self.batches.order.batch_size
        return min(self.settings.micro_batch or size, size)

    @property
    def card(self) -> RetrieveCard:
        """What asking the model takes."""
        return RetrieveCard(
            task=self.task,
            head=self.options.head,
            titled=self.collection.titled,
            dimensions=self.options.dimensions,
            text_field=self.fields[0],
            pair_field=self.fields[1],
            length=self.reader.length,
        )

    def exporter(self) -> Callable[..., None]:
        """Writes the model."""
        return partial(export_retriever, card=self.card, tokenizer=self.reader.tokenizer, start=self.start)

    @property
    def recorded(self) -> dict[str, Any]:
        """Options, and digests of what was read."""
        return {
            "fields": {"text": self.fields[0], "pair": self.fields[1]},
            "options": {**asdict(self.options), "hard": self.hard, "dimensions": list(self.options.dimensions)},
            **self.digests,
            "collection": dict(self.collection.digests),
            "fold": self.fold,
        }

    @property
    def places(self) -> dict[str, str]:
        """Where the collection is."""
        return {name: str(path.resolve()) for name, path in self.files.items()}

    @property
    def facts(self) -> dict[str, str]:
        """What people are told of the run."""
        return {
            "task": f"find documents ({self.options.head})" + (f", fold {self.fold}" if self.fold else ""),
            "documents": f"{len(self.collection.documents):,}",
            "model": f"{self.start}, {self.settings.start}",
            "data": f"{self.collection.path}: {len(self.train):,} queries, {len(self.dev):,} held out",
        }

    @property
    def uses(self) -> tuple[str, ...]:
        """An index of documents, and a query."""
        return with_titles(USES, self.collection)

    @property
    def example(self) -> str:
        """A short query to try the model on."""
        return min((query.text for query in self.dev.examples), key=lambda text: abs(len(text) - 60))

    def say_what_is_learnt(self) -> None:
        """How many queries and documents, how much is held out, where negatives are from."""
        collection = self.collection
        say(
            f"{collection.path}: {len(self.train):,} queries to learn from, with {len(self.pairs):,} "
            f"answers among {len(collection.documents):,} documents{' with titles' if collection.titled else ''}"
        )
        if collection.empty:
            flaw = f"{collection.empty:,} documents without text teach nothing and are never found"
            say(f"[yellow]{collection.path}: {flaw}[/]")
        if not self.given_dev:
            say(f"no dev: {len(self.dev):,} of the queries are held out, every tenth")
        if self.hard:
            found = int((self.negatives >= 0).sum())
            ways = "words (BM25) and the model's vectors" if self.mines_by_vectors else "words (BM25)"
            say(f"{found:,} hard negatives by {ways}, {self.hard} at the most for each answer")

    def hold_out(self, examples: JudgedQueries) -> tuple[JudgedQueries, JudgedQueries]:
        """Every tenth query."""
        return hold_out_queries(examples, self.settings.seed)

    def folds(self, count: int) -> list[tuple[Tuning, JudgedQueries]]:
        """Tunings on all queries but a part, which they are judged by; a tenth of the rest is their dev."""
        everyone = self.train if self.given_dev else joined_queries(self.train, self.dev)
        if len(everyone) < FEWEST_A_FOLD * count:
            raise BadInput(f"--folds {count}: {len(everyone):,} queries are too few; give fewer folds")
        order = random_order(len(everyone), self.settings.seed, 0, FOLDING)
        tunings: list[tuple[Tuning, JudgedQueries]] = []
        for number in range(count):
            part = np.sort(order[number::count])
            rest = everyone.only(np.setdiff1d(np.arange(len(everyone)), part))
            learnt, dev = (rest, self.dev) if self.given_dev else self.hold_out(rest)
            fold = replace(self, train=learnt, dev=dev, fold=f"{number + 1}/{count}")
            tunings.append((fold, everyone.only(part)))
        return tunings


def with_titles(uses: tuple[str, ...], collection: Collection) -> tuple[str, ...]:
    """Commands that read titles too, where documents have some."""
    if not collection.titled:
        return uses
    return tuple(use.replace("CORPUS.jsonl", "CORPUS.jsonl --field title,text") for use in uses)


def hold_out_queries(queries: JudgedQueries, seed: int) -> tuple[JudgedQueries, JudgedQueries]:
    """The queries to learn from, and every tenth, held out."""
    order = random_order(len(queries), seed, 0, HOLDING_OUT)
    held_out = np.sort(order[EVERY // 2 :: EVERY])
    return queries.only(np.setdiff1d(np.arange(len(queries)), held_out)), queries.only(held_out)


def joined_queries(first: JudgedQueries, second: JudgedQueries) -> JudgedQueries:
    """The queries of one file that was split, in the order of their names."""
    examples = sorted((*first.examples, *second.examples), key=lambda query: query.id)
    return JudgedQueries(first.path, tuple(examples), first.digest)


def export_retriever(
    learner: Module,
    finished_run: FinishedRun,
    *,
    card: RetrieveCard,
    tokenizer: PreTrainedTokenizerFast,
    start: Path,
) -> None:
    """Write the model as sentence-transformers has it."""
    readme = retriever_readme(card, start, finished_run)
    export_sentence_model(learner, finished_run.path / "model", card=card, tokenizer=tokenizer, readme=readme)


def retriever_readme(card: RetrieveCard, start: Path, finished_run: FinishedRun) -> str:
    """What the model was made of, and how well it does on what was held out."""
    description, figures = finished_run.description, finished_run.figures
    pipeline = {"dense": "sentence-similarity", "sparse": "feature-extraction", "cross": "text-ranking"}[card.head]
    loader = {"dense": "SentenceTransformer", "sparse": "SparseEncoder", "cross": "CrossEncoder"}[card.head]
    use = 'unmask index . corpus.jsonl --out index\nunmask search index "what you look for"'
    makes = "makes the same vectors"
    if card.head == "cross":
        use, makes = 'unmask search index "what you look for" --rerank .', "gives the same scores"
    cut = ", ".join(map(str, card.dimensions))
    shorter = f"\nIts vectors may be cut to {cut} numbers: `unmask index --dimensions`.\n" if cut else ""
    titles = ", titles before texts (`unmask index --field title,text`)" if card.titled else ""
    return f"""---
library_name: sentence-transformers
pipeline_tag: {pipeline}
tags: [unmask, sentence-transformers, retrieval, {card.head}]
---
# {start.parent.name if start.name == "model" else start.name}, tuned to find documents

Tuned by unmask {description["unmask"]} on queries with documents that answer them{titles}.

| | |
|---|---|
| parameters | {finished_run.parameters:,} |
| steps | {finished_run.steps:,}, exported as of step {finished_run.step:,} |
| seed | {description["seed"]} |
| held-out nDCG@10 | {figures["ndcg_10"]:.3f} |
| held-out recall@100 | {figures["recall_100"]:.3f} |

```sh
{use}
```

`{loader}(".")` of sentence-transformers {makes}; it \
reads at most {card.length} tokens of a text.
{shorter}"""
