"""What the examples of tasks travel as, from a file to a model: rows of texts, with what is to be learnt of them.

Axes: B examples of a batch, R rows, L length. Numpy only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unmask.records import Flags, Integers, Reals


@dataclass(frozen=True, kw_only=True)
class LabelledBatch:
    """Labelled texts, each in one row or in several."""

    ids: Integers  # R L
    real: Integers  # R L: 1 where a token is, 0 where a row is padded
    types: Integers | None  # R L: 1 in the second text of a pair; none where the model is not told
    owners: Integers  # R: the text each row is of, ascending from 0
    targets: Reals  # B C: 1 where a label holds

    @property
    def tokens(self) -> int:
        """How many tokens there are to learn from."""
        return int(self.real.sum())

    @property
    def predictions(self) -> int:
        """How many texts are to be labelled."""
        return len(self.targets)

    def cut(self, splits: int) -> Iterator[LabelledBatch]:
        """The same texts in so many parts, or in as many as there are."""
        for texts in np.array_split(np.arange(len(self.targets)), min(splits, len(self.targets))):
            rows = np.flatnonzero((self.owners >= texts[0]) & (self.owners <= texts[-1]))
            yield LabelledBatch(
                ids=self.ids[rows],
                real=self.real[rows],
                types=None if self.types is None else self.types[rows],
                owners=self.owners[rows] - texts[0],
                targets=self.targets[texts],
            )


@dataclass(frozen=True, kw_only=True)
class TaggedBatch:
    """Texts whose words are tagged, each in one row or in several."""

    ids: Integers  # R L
    real: Integers  # R L: 1 where a token is, 0 where a row is padded
    types: Integers | None  # R L; none where the model is not told
    owners: Integers  # R: the text each row is of, ascending from 0
    rows: Integers  # P: where each tagged word is judged: its row, ascending
    columns: Integers  # P: and the place of its first piece in it
    targets: Integers  # P: its tag

    @property
    def tokens(self) -> int:
        """How many tokens there are to learn from."""
        return int(self.real.sum())

    @property
    def predictions(self) -> int:
        """How many words are to be tagged."""
        return len(self.targets)

    def cut(self, splits: int) -> Iterator[TaggedBatch]:
        """The same rows in so many parts, or in as many as there are."""
        for part in np.array_split(np.arange(len(self.ids)), min(splits, len(self.ids))):
            inside = slice(*np.searchsorted(self.rows, (part[0], part[-1] + 1)).tolist())
            yield TaggedBatch(
                ids=self.ids[part],
                real=self.real[part],
                types=None if self.types is None else self.types[part],
                owners=self.owners[part] - self.owners[part[0]],
                rows=self.rows[inside] - part[0],
                columns=self.columns[inside],
                targets=self.targets[inside],
            )


@dataclass(frozen=True, kw_only=True)
class QuestionBatch:
    """Questions about contexts, each in one row or in several."""

    ids: Integers  # R L
    real: Integers  # R L: 1 where a token is, 0 where a row is padded
    types: Integers | None  # R L: 1 in the context; none where the model is not told
    owners: Integers  # R: the question each row is of, ascending from 0
    allowed: Flags  # R L: where an answer may begin and end
    starts: Flags  # R L: where the answer begins, in every row that has that token
    ends: Flags  # R L: where it ends
    nullable: bool  # whether a question may have no answer, which the first place of each row stands for

    @property
    def questions(self) -> int:
        """How many questions there are."""
        return int(self.owners[-1]) + 1 if len(self.owners) else 0

    @property
    def tokens(self) -> int:
        """How many tokens there are to learn from."""
        return int(self.real.sum())

    @property
    def predictions(self) -> int:
        """How many questions are to be answered."""
        return self.questions

    def cut(self, splits: int) -> Iterator[QuestionBatch]:
        """The same questions in so many parts, or in as many as there are."""
        for part in np.array_split(np.arange(self.questions), min(splits, self.questions)):
            rows = np.flatnonzero((self.owners >= part[0]) & (self.owners <= part[-1]))
            yield QuestionBatch(
                ids=self.ids[rows],
                real=self.real[rows],
                types=None if self.types is None else self.types[rows],
                owners=self.owners[rows] - part[0],
                allowed=self.allowed[rows],
                starts=self.starts[rows],
                ends=self.ends[rows],
                nullable=self.nullable,
            )


@dataclass(frozen=True, kw_only=True)
class TextBatch:
    """Texts, each in one row or in several, of each of which one vector is to be made."""

    ids: Integers  # R L
    real: Integers  # R L: 1 where a token is, 0 where a row is padded
    counted: Integers  # R L: 1 where a token counts for its text: every token does once, whatever windows it is in
    owners: Integers  # R: the text each row is of, ascending from 0
    texts: int

    @property
    def tokens(self) -> int:
        """How many tokens there are to learn from."""
        return int(self.real.sum())

    def stretch(self, begin: int, end: int) -> TextBatch:
        """The texts from one to another."""
        rows = np.flatnonzero((self.owners >= begin) & (self.owners < end))
        return TextBatch(
            ids=self.ids[rows],
            real=self.real[rows],
            counted=self.counted[rows],
            owners=self.owners[rows] - begin,
            texts=end - begin,
        )


@dataclass(frozen=True, kw_only=True)
class ScoredBatch:
    """Pairs of texts with scores."""

    texts: TextBatch  # 2 B: the first text of each pair, then the second of each
    scores: Reals  # B

    @property
    def tokens(self) -> int:
        """How many tokens there are to learn from."""
        return self.texts.tokens

    @property
    def predictions(self) -> int:
        """How many pairs are to be scored."""
        return len(self.scores)

    def cut(self, splits: int) -> Iterator[ScoredBatch]:
        """The same pairs in so many parts, or in as many as there are."""
        for pairs in np.array_split(np.arange(len(self.scores)), min(splits, len(self.scores))):
            begin, end = int(pairs[0]), int(pairs[-1]) + 1
            sides = (self.texts.stretch(side + begin, side + end) for side in (0, len(self.scores)))
            yield ScoredBatch(texts=join_texts(*sides), scores=self.scores[begin:end])


def join_texts(first: TextBatch, second: TextBatch) -> TextBatch:
    """Texts and behind them others that are padded to the same length."""
    parts = {name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in ("ids", "real", "counted")}
    owners = np.concatenate([first.owners, second.owners + first.texts])
    return TextBatch(**parts, owners=owners, texts=first.texts + second.texts)


@dataclass(frozen=True, kw_only=True)
class RetrievalBatch:
    """Queries, each with a passage that answers it and others that do not."""

    queries: TextBatch  # B
    passages: TextBatch  # M: of each query the one that answers it first
    owners: Integers  # M: the query each passage was chosen for, ascending from 0
    query_numbers: Integers  # B: by which judgments know them
    passage_numbers: Integers  # M

    @property
    def tokens(self) -> int:
        """How many tokens there are to learn from."""
        return self.queries.tokens + self.passages.tokens

    @property
    def predictions(self) -> int:
        """How many queries are to be answered."""
        return len(self.query_numbers)

    def cut(self, splits: int) -> Iterator[RetrievalBatch]:
        """The same queries in so many parts, or in as many as there are."""
        for some in np.array_split(np.arange(len(self.query_numbers)), min(splits, len(self.query_numbers))):
            begin, end = int(some[0]), int(some[-1]) + 1
            first, last = np.searchsorted(self.owners, (begin, end)).tolist()
            yield RetrievalBatch(
                queries=self.queries.stretch(begin, end),
                passages=self.passages.stretch(first, last),
                owners=self.owners[first:last] - begin,
                query_numbers=self.query_numbers[begin:end],
                passage_numbers=self.passage_numbers[first:last],
            )


@dataclass(frozen=True, kw_only=True)
class CandidateBatch(LabelledBatch):
    """Queries, each paired with several documents: its answer, and others that do not answer it."""

    queries: Integers  # B: the query that each pair is of, ascending from 0; its answer is the first of its pairs

    @property
    def predictions(self) -> int:
        """How many queries are to be answered."""
        return int(self.queries[-1]) + 1 if len(self.queries) else 0

    def cut(self, splits: int) -> Iterator[CandidateBatch]:
        """The same queries in so many parts, or in as many as there are."""
        for some in np.array_split(np.arange(self.predictions), min(splits, self.predictions)):
            begin, end = np.searchsorted(self.queries, (some[0], some[-1] + 1)).tolist()
            rows = np.flatnonzero((self.owners >= begin) & (self.owners < end))
            yield CandidateBatch(
                ids=self.ids[rows],
                real=self.real[rows],
                types=None if self.types is None else self.types[rows],
                owners=self.owners[rows] - begin,
                targets=self.targets[begin:end],
                queries=self.queries[begin:end] - some[0],
            )
