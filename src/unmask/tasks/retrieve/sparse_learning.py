"""Sparse retrieval as a job: the masked-LM head of a pretrained model learns which words a text is to be found by.

In: a masked language model and a collection. Out: a run directory whose `model/` is a masked language model that
transformers loads, and SparseEncoder of sentence-transformers as SPLADE.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from torch.nn import Module
from transformers import (
    MODEL_FOR_MASKED_LM_MAPPING,
    AutoModelForMaskedLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from unmask.files import whole_directory
from unmask.models.config import quiet_transformers
from unmask.objectives.objective import AnyObjective
from unmask.objectives.ranking import Judgments
from unmask.objectives.sparse_ranking import SparseRanking
from unmask.tasks.feed import ExampleFeed
from unmask.tasks.retrieve.learning import Retrieving, retriever_readme, with_titles
from unmask.tasks.retrieve.measures import measure_rankings
from unmask.tasks.retrieve.retriever import RetrieveCard
from unmask.tasks.retrieve.sparse_retriever import weights_of
from unmask.tasks.retrieve.validation import DEPTH, RetrievalValidation
from unmask.tasks.start import HeadKind
from unmask.tokens.tokenizer.load import save_tokenizer
from unmask.training.job import FinishedRun, PlannedBatch
from unmask.training.machine.distributed import World
from unmask.training.timetable import Timetable

USES = ("unmask predict RUN EXAMPLE", "unmask index RUN CORPUS.jsonl --out index", "unmask search index EXAMPLE")


@dataclass(frozen=True, eq=False, kw_only=True)
class RisingFeed(ExampleFeed):
    """The micro-batches of every step, whose objective knows how far the run is."""

    def plan_step(self, step: int, indices: Iterable[int] | None = None) -> Iterator[PlannedBatch]:
        """The micro-batches of a step, or some of them: their numbers and their examples."""
        assert isinstance(self.objective, SparseRanking)
        objective = replace(self.objective, progress=self.timetable.progress(step))
        for planned in super().plan_step(step, indices):
            yield replace(planned, objective=objective)


@dataclass(frozen=True, eq=False)
class SparseValidation(RetrievalValidation):
    """Measures on queries that are held out, by weighted words."""

    def measure(self, learner: Module, limit: int | None, world: World) -> dict[str, float]:
        """The figures among all documents, or among so many that it takes about `limit` tokens; and active words."""
        assert isinstance(learner, PreTrainedModel)
        numbers = self.sample(limit)
        queries, documents = (weights_of(learner, rows) for rows in (self.queries, self.documents.only(numbers)))
        names = np.array(list(self.collection.documents), dtype=object)[numbers]
        best = np.argsort(-(queries @ documents.T).toarray(), axis=1, kind="stable")[:, :DEPTH]
        figures = measure_rankings([query.grades for query in self.judged.examples], [names[row] for row in best])
        active = {"document_words": documents.nnz / documents.shape[0], "query_words": queries.nnz / queries.shape[0]}
        return {name: float(each.mean()) for name, each in figures.items()} | active


@dataclass(frozen=True)
class SparseRetrieving(Retrieving):
    """Queries with answers and the masked language model that learns by which words to find them."""

    head = HeadKind(AutoModelForMaskedLM, MODEL_FOR_MASKED_LM_MAPPING, "masked language model")

    @property
    def mines_by_vectors(self) -> bool:
        """Hard negatives are those by words alone."""
        return False

    @cached_property
    def objective(self) -> AnyObjective:
        """What is learnt."""
        judgments = Judgments.of(self.pairs, len(self.collection.documents))
        return SparseRanking(judgments, sparsity=self.options.sparsity)

    def feed(self, timetable: Timetable) -> ExampleFeed:
        """What each step learns from."""
        return RisingFeed(
            preparer=self.batches, objective=self.objective, micro_batch=self.micro_batch, timetable=timetable
        )

    @cached_property
    def held_out(self) -> SparseValidation:
        """What is measured on."""
        queries = self.reader.read_sentences(self.dev.texts)
        return SparseValidation(self.collection, self.dev, queries, self.documents)

    @property
    def card(self) -> RetrieveCard:
        """What asking the model takes: single texts."""
        return replace(super().card, pair_field=None)

    @property
    def uses(self) -> tuple[str, ...]:
        """The words of a text, an index of documents, and a query."""
        return with_titles(USES, self.collection)

    def exporter(self) -> Callable[..., None]:
        """Writes the model."""
        return partial(export_sparse_retriever, card=self.card, tokenizer=self.reader.tokenizer, start=self.start)


def export_sparse_retriever(
    learner: Module, finished_run: FinishedRun, *, card: RetrieveCard, tokenizer: PreTrainedTokenizerFast, start: Path
) -> None:
    """Write the masked language model, its tokenizer, its README and what asking it takes."""
    assert isinstance(learner, PreTrainedModel)
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.model_max_length = card.length
    with whole_directory(finished_run.path / "model") as aside:
        with quiet_transformers():
            learner.save_pretrained(aside)
        save_tokenizer(tokenizer, aside)
        card.write(aside)
        (aside / "README.md").write_text(retriever_readme(card, start, finished_run), encoding="utf-8")
