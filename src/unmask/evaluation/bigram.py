"""How predictable a token is from the two beside it: a bigram model of a corpus, read from both sides.

In: the token stream of a split. Out: a `BigramModel`, which says in bits how surprising a token is, given its left
neighbour, its right one, both or none.

From left to right the model is interpolated Kneser–Ney (Kneser & Ney 1995; Chen & Goodman 1999), with the discount
D = n₁ / (n₁ + 2 n₂) of their paper, where nₖ pairs occur k times:

    p(x | l) = (c(l x) − D) / c(l ·)  +  D · followers(l) / c(l ·) · q(x)         q(x) ∝ after how many tokens x occurs

What does a token say between two others? In a chain of bigrams all that the rest of a text tells of x is in its two
neighbours, so their own conditional is the answer, and no other way to put two predictions together is:

    p(x | l, r)  =  p(x | l) p(r | x) / Σ_y p(y | l) p(r | y)

The sum is over the whole vocabulary, and exact: p(y | l) is a sparse row plus a share of q, p(r | y) a sparse column
plus a share of q(r), so the sum is a product of the two sparse ones and three terms that are known beforehand. A left
neighbour that is not there leaves u(x), how often x occurs, in the place of p(x | l); a right one leaves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from unmask.errors import BadInput
from unmask.records import Flags, Ids, Integers, Reals, Vocabulary
from unmask.tokens.cooccurrence import sample_stream
from unmask.tokens.store.shards import Shards

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Numbers = Ids | Integers  # of tokens

SAMPLE, STRETCHES = 4 << 20, 64  # tokens that are counted, in so many stretches evenly over the split
ENTRIES = 1 << 22  # of sparse rows that are multiplied at once: 64 MB, whatever the vocabulary
NONE = -1  # in the place of a neighbour that is not there


@dataclass(frozen=True)
class BigramModel:
    """Probabilities of tokens beside each other; special ones have none."""

    discounted: csr_matrix  # V V, at l x: (c(l x) − D) / c(l ·)
    backoff: Reals  # V, at l: how much of p(· | l) goes by q; all where l was never counted
    continuation: Reals  # V, q
    unigram: Reals  # V, u
    tokens: int  # that were counted

    @classmethod
    def of(cls, stream: Shards, vocabulary: Vocabulary) -> BigramModel:
        """Count a split, or an even sample of it; special tokens are neither counted nor beside anything."""
        ids, documents = sample_stream(stream, SAMPLE, STRETCHES)
        ordinary = ~vocabulary.is_special[ids]
        if not ordinary.any():
            raise BadInput("there are no tokens to count: the split is empty")
        beside = (documents[:-1] == documents[1:]) & ordinary[:-1] & ordinary[1:]
        return cls.counted(ids[:-1][beside], ids[1:][beside], ids[ordinary], vocabulary)

    @classmethod
    def counted(cls, left: Ids, right: Ids, ids: Ids, vocabulary: Vocabulary) -> BigramModel:
        """From pairs of neighbours and from all tokens, none of them special."""
        from scipy.sparse import csr_matrix

        shape, ordinary = (vocabulary.size, vocabulary.size), ~vocabulary.is_special
        pairs = csr_matrix((np.ones(len(left)), (left, right)), shape=shape)  # which adds up what occurs again
        pairs.sum_duplicates()
        discount = _discount(pairs.data)
        totals, followers = np.asarray(pairs.sum(axis=1)).ravel(), np.diff(pairs.indptr)
        rows = np.repeat(np.arange(vocabulary.size), followers)
        discounted = csr_matrix(((pairs.data - discount) / totals[rows], pairs.indices, pairs.indptr), shape=shape)
        return cls(
            discounted=discounted,
            backoff=np.where(totals > 0, discount * followers / np.maximum(totals, 1), 1.0),
            continuation=_smoothed(np.bincount(pairs.indices, minlength=vocabulary.size), ordinary),
            unigram=_smoothed(np.bincount(ids, minlength=vocabulary.size), ordinary),
            tokens=len(ids),
        )

    def bits(self, tokens: Numbers, left: Numbers, right: Numbers) -> Reals:
        """P: how surprising each token is between its neighbours, `NONE` where there is none; in bits."""
        has_left, has_right = left != NONE, right != NONE
        chance = self.unigram[tokens].copy()
        chance[has_left] = self.transition(left[has_left], tokens[has_left])
        chance[has_right] *= self.transition(tokens[has_right], right[has_right])
        only_right, both = has_right & ~has_left, has_right & has_left
        chance[only_right] /= self._sum_before(right[only_right])
        chance[both] /= self.two_steps(left[both], right[both])
        bits: Reals = -np.log2(chance)
        return bits

    def unigram_bits(self, tokens: Numbers) -> Reals:
        """P: how surprising each token is where nothing is known but how often it occurs; in bits."""
        bits: Reals = -np.log2(self.unigram[tokens])
        return bits

    def transition(self, left: Numbers, right: Numbers) -> Reals:
        """P: p(right | left)."""
        counted = np.asarray(self.discounted[left, right]).ravel() if len(left) else np.zeros(0)
        chance: Reals = counted + self.backoff[left] * self.continuation[right]
        return chance

    def two_steps(self, left: Numbers, right: Numbers) -> Reals:
        """P: Σ_y p(y | left) p(right | y), over the whole vocabulary."""
        codes, inverse = np.unique(left.astype(np.int64) * len(self.unigram) + right, return_inverse=True)
        left, right = np.divmod(codes, len(self.unigram))
        sums = self.continuation[right] * self._backoff_after[left]
        sums += self.backoff[left] * (self._continuation_before[right] + self.continuation[right] * self._backoff_q)
        for chunk in self._chunks(left, right):
            products = self.discounted[left[chunk]].multiply(self._preceding[right[chunk]])
            sums[chunk] += np.asarray(products.sum(axis=1)).ravel()
        chances: Reals = sums[inverse]
        return chances

    def _chunks(self, left: Numbers, right: Numbers) -> Iterator[slice]:
        """Pairs whose rows have about `ENTRIES` together: "the" and "," alone have tens of thousands."""
        entries = np.diff(self.discounted.indptr)[left] + np.diff(self._preceding.indptr)[right]
        numbers = np.cumsum(entries, dtype=np.int64) // ENTRIES
        edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(left)]
        return (slice(begin, end) for begin, end in pairwise(edges) if begin < end)

    def _sum_before(self, right: Numbers) -> Reals:
        """P: Σ_y u(y) p(right | y)."""
        sums: Reals = self._unigram_before[right] + self.continuation[right] * float(self.unigram @ self.backoff)
        return sums

    @cached_property
    def _preceding(self) -> csr_matrix:
        """V V, at r y: what `discounted` has at y r."""
        return self.discounted.T.tocsr()

    @cached_property
    def _backoff_after(self) -> Reals:
        return np.asarray(self.discounted @ self.backoff)

    @cached_property
    def _continuation_before(self) -> Reals:
        return np.asarray(self._preceding @ self.continuation)

    @cached_property
    def _unigram_before(self) -> Reals:
        return np.asarray(self._preceding @ self.unigram)

    @cached_property
    def _backoff_q(self) -> float:
        return float(self.continuation @ self.backoff)


def _discount(counts: Reals | Integers) -> float:
    """What is taken off each count, for what was never counted; a half where counts do not tell."""
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return once / (once + 2 * twice) if once and twice else 0.5


def _smoothed(counts: Integers, ordinary: Flags) -> Reals:
    """Counts as probabilities: what is taken off them goes to all ordinary tokens alike, those never seen too."""
    even: Reals = ordinary.astype(np.float64) / np.count_nonzero(ordinary)
    if not counts.any():  # no token has a neighbour
        return even
    discount = _discount(counts)
    chances: Reals = (np.maximum(counts - discount, 0) + discount * np.count_nonzero(counts) * even) / counts.sum()
    return chances
