"""Reranking as a job: a pretrained encoder learns to read a query and a document together, and to tell answers.

In: a model directory and a collection. Out: a run directory whose `model/` transformers loads, and CrossEncoder of
sentence-transformers. Candidates are what a search by words finds, in training and where it is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from torch.nn import Module
from transformers import (
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    AutoModelForSequenceClassification,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from unmask.models.locate import TASK
from unmask.objectives.objective import AnyObjective
from unmask.objectives.reranking import Reranking, best_logits
from unmask.progress import say
from unmask.records import Integers
from unmask.runs.commands import quoted_path
from unmask.tasks.classify.validation import logits_of
from unmask.tasks.feed import ExampleBatches
from unmask.tasks.order import ExampleOrder
from unmask.tasks.retrieve.collection import Collection, JudgedQueries
from unmask.tasks.retrieve.cross_batches import CandidateBatches
from unmask.tasks.retrieve.learning import Retrieving, retriever_readme, with_titles
from unmask.tasks.retrieve.measures import measure_rankings
from unmask.tasks.retrieve.mining import mine_candidates, word_scores
from unmask.tasks.retrieve.retriever import RetrieveCard
from unmask.tasks.start import HeadKind, start_config
from unmask.tasks.text_rows import TextRows
from unmask.tasks.tuned_model import read_task
from unmask.tasks.write_model import write_tuned_model
from unmask.tokens.tokenizer.load import load_tokenizer
from unmask.training.job import FinishedRun, Validator
from unmask.training.machine.distributed import World

DEPTH = 50  # documents of each held-out query that are reranked
LOGITS = {"activation_fn": "torch.nn.modules.linear.Identity"}  # what CrossEncoder gives: the logit as it is


@dataclass(frozen=True, eq=False)
class RerankValidation:
    """Measures on queries that are held out, among what a search by words finds for each."""

    judged: JudgedQueries
    names: tuple[tuple[str, ...], ...]  # the candidates of each query, as the search ranks them
    rows: TextRows  # of each query with each of its candidates

    @property
    def tokens(self) -> int:
        """How many tokens a measurement on everything takes."""
        return int(self.rows.work.sum())

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        """The figures on all queries, or on an even sample of them that takes about `limit` tokens."""
        assert isinstance(learner, PreTrainedModel)
        every = 1 if limit is None else -(-self.tokens // max(1, limit))
        queries = range(0, len(self.judged), every)
        ends = np.cumsum([len(names) for names in self.names])
        stretches = [np.arange(ends[query] - len(self.names[query]), ends[query]) for query in queries]
        scores = logits_of(learner, self.rows, np.concatenate(stretches), world=world, pool=best_logits)[:, 0]
        parts = np.split(scores, np.cumsum([len(each) for each in stretches])[:-1])
        rankings = [
            [self.names[query][place] for place in np.argsort(-part, kind="stable").tolist()]
            for query, part in zip(queries, parts, strict=True)
        ]
        figures = measure_rankings([self.judged.examples[query].grades for query in queries], rankings)
        return {name: float(each.mean()) for name, each in figures.items()}


@dataclass(frozen=True)
class CrossRetrieving(Retrieving):
    """Queries with answers and the encoder that learns to tell them from what a search finds besides."""

    head = HeadKind(AutoModelForSequenceClassification, MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING, "classifier")
    usual_hard = 7

    @cached_property
    def config(self) -> PreTrainedConfig:
        """The configuration of the model to come: one logit."""
        config = start_config(self.start, self.head)
        config.num_labels = 1
        config.sentence_transformers = dict(LOGITS)
        if config.pad_token_id is None:
            config.pad_token_id = load_tokenizer(self.start).pad_token_id
        if hasattr(config, "classifier_pooling"):
            config.classifier_pooling = "mean"  # masked training gives the first token nothing to do
        return config

    @property
    def same_labels(self) -> bool:
        """Whether the model it starts from reranks already."""
        return (self.start / TASK).is_file() and read_task(self.start)[1].get("head") == "cross"

    @property
    def mines_by_vectors(self) -> bool:
        """Candidates are those by words alone."""
        return False

    @cached_property
    def negatives(self) -> Integers:
        """N H: other candidates of each example; -1 where it has no more."""
        return mine_candidates(self.pairs, self.train.texts, self.collection.texts, self.hard)

    @cached_property
    def batches(self) -> ExampleBatches:
        """The queries of every epoch, each with its candidates."""
        candidates = np.concatenate([self.pairs[:, 1:], self.negatives], axis=1)
        there = candidates >= 0
        queries = self.pairs[np.nonzero(there)[0], 0]
        rows = self.rows_of(self.train.texts, queries, candidates[there])
        ends = np.cumsum(there.sum(1))
        work = np.diff(np.concatenate([[0], np.cumsum(rows.work)])[ends], prepend=0)
        size = min(self.settings.batch_size, len(self.pairs))
        return CandidateBatches(
            rows=rows, ends=ends, order=ExampleOrder(work=work, batch_size=size, seed=self.settings.seed)
        )

    def rows_of(self, texts: list[str], queries: Integers, documents: Integers) -> TextRows:
        """Pairs of a query and a document, by their numbers, as rows."""
        asked = [texts[number] for number in queries.tolist()]
        return self.reader.read(asked, [self.collection.texts[number] for number in documents.tolist()])

    @cached_property
    def objective(self) -> AnyObjective:
        """What is learnt."""
        return Reranking()

    @cached_property
    def held_out(self) -> Validator:
        """What is measured on."""
        found = list(first_candidates(self.dev.texts, self.collection))
        queries = np.repeat(np.arange(len(found)), [len(each) for each in found])
        names = list(self.collection.documents)
        return RerankValidation(
            self.dev,
            tuple(tuple(names[number] for number in each.tolist()) for each in found),
            self.rows_of(self.dev.texts, queries, np.concatenate(found)),
        )

    @property
    def uses(self) -> tuple[str, ...]:
        """An index that words are looked up in, and a search that is reranked."""
        index = f"unmask index {quoted_path(self.start)} CORPUS.jsonl --out index"
        return with_titles((index, "unmask search index EXAMPLE --by bm25 --rerank RUN"), self.collection)

    def say_what_is_learnt(self) -> None:
        """The same, and what is reranked where it is measured."""
        super().say_what_is_learnt()
        say(f"measured by reranking the {DEPTH} documents that a search by words (BM25) finds for each query")

    def exporter(self) -> Callable[..., None]:
        """Writes the model."""
        return partial(export_reranker, card=self.card, tokenizer=self.reader.tokenizer, start=self.start)


def first_candidates(queries: list[str], collection: Collection) -> list[Integers]:
    """For each query the documents with text that share most words with it, best first."""
    texts = collection.texts
    return [
        np.array([n for n in np.argsort(-scores, kind="stable")[: DEPTH + collection.empty].tolist() if texts[n]])[
            :DEPTH
        ]
        for scores in word_scores(queries, texts)
    ]


def export_reranker(
    learner: Module, finished_run: FinishedRun, *, card: RetrieveCard, tokenizer: PreTrainedTokenizerFast, start: Path
) -> None:
    """Write the model as transformers and CrossEncoder have it."""
    assert isinstance(learner, PreTrainedModel)
    write_tuned_model(learner, finished_run, card, tokenizer, retriever_readme(card, start, finished_run))
