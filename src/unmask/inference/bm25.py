"""Words to passages: BM25, by bm25s.

In: texts. Out: a directory that answers which of them have the words of a query, rare words counting most.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unmask.errors import Damaged
from unmask.progress import task
from unmask.records import Integers, Reals
from unmask.words import words_of

if TYPE_CHECKING:
    from bm25s import BM25

K1, B = 1.5, 0.75  # how soon a repeated word counts no more, and how far long passages are marked down
COMMON = 0.2  # the share of passages from which on a word says nothing of why one of them was found


def write_words(texts: Iterable[str], count: int, path: Path) -> list[str]:
    """Write the table of all words and their scores in all texts; the names of its files."""
    from bm25s import BM25
    from bm25s.tokenization import Tokenized

    vocabulary: dict[str, int] = {"": 0}  # bm25s wants a word, and a text may have none
    rows: list[array[int]] = []
    with task("Counting words", total=count) as step:
        for text in texts:
            numbers = (vocabulary.setdefault(word.spelt, len(vocabulary)) for word in words_of(text))
            rows.append(array("i", numbers))
            if len(rows) % 1000 == 0:
                step(1000)
    if not any(rows):
        rows[0].append(0)  # the mean length of a text may not be nothing
    table = BM25(k1=K1, b=B, method="lucene", backend="numpy")
    table.index(Tokenized(ids=rows, vocab=vocabulary), show_progress=False)
    table.save(path)
    return sorted(file.name for file in path.iterdir())


class WordIndex:
    """BM25 over passages, read by memory map."""

    def __init__(self, path: Path) -> None:
        from bm25s import BM25

        try:
            self.table: BM25 = BM25.load(path, mmap=True, load_corpus=False, show_progress=False)
            self._starts = np.asarray(self.table.scores["indptr"])
        except (ValueError, EOFError, OSError, KeyError, TypeError) as error:
            raise Damaged(f"{path}: the table of words cannot be read: {error}") from error

    @property
    def passages(self) -> int:
        """How many passages it knows."""
        return int(self.table.scores["num_docs"])

    def top(self, query: str, count: int) -> tuple[Integers, Reals]:
        """The numbers of the passages with the best scores, best first, and their scores; those with a word alone."""
        known = self.table.get_tokens_ids([word.spelt for word in words_of(query)])
        if not known:
            return np.zeros(0, np.int64), np.zeros(0)
        scores = self.table.get_scores_from_ids(known)
        return best_of(scores, min(count, int((scores > 0).sum())))

    def is_common(self, word: str) -> bool:
        """Whether so many passages have a word that it says nothing of why one was found."""
        number = self.table.vocab_dict.get(word)
        passages = 0 if number is None else int(self._starts[number + 1] - self._starts[number])
        return passages > max(2, COMMON * self.passages)


def best_of(scores: np.ndarray[tuple[int], np.dtype[np.float32]], count: int) -> tuple[Integers, Reals]:
    """The numbers of the highest scores, highest first, the first of equals before the others.

    >>> best_of(np.array([1, 3, 3, 2], dtype=np.float32), 3)[0].tolist()
    [1, 2, 3]
    """
    if count < len(scores):
        least = np.partition(scores, len(scores) - count)[len(scores) - count] if count else np.inf
        candidates = np.flatnonzero(scores >= least)
    else:
        candidates = np.arange(len(scores))
    order = np.argsort(-scores[candidates], kind="stable")[:count]
    chosen = candidates[order].astype(np.int64)
    return chosen, scores[chosen].astype(np.float64)
