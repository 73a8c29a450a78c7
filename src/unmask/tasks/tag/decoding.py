"""Tags of words to entities: the likeliest of all well-formed sequences, and how likely each entity is.

In: the probabilities of each word's tags, independent of its neighbours'. Out: spans. No sequence has I-X behind
anything but B-X or I-X; among the others the product decides (Viterbi). The probability of an entity is that of all
sequences that have it exactly, among all that are well-formed (forward and backward sums).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from unmask.records import Flags, Integers, Reals
from unmask.tasks.tag.schemes import WordSpan, lenient_spans, tags_for

LEAST = 1e-12  # of a probability: what rounding makes 0 is not impossible


class TagDecoder:
    """The tags of some labels, and which may follow which."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels, self.tags = tuple(labels), tags_for(labels)

    @cached_property
    def follows(self) -> Flags:
        """C C: whether a tag may stand behind another."""
        numbers = np.arange(len(self.tags))
        inside = (numbers > 0) & (numbers % 2 == 0)  # the I-X; B-X stands before it
        own = (numbers[:, None] == numbers) | (numbers[:, None] == numbers - 1)
        flags: Flags = ~inside[None, :] | own
        return flags

    def best_tags(self, probabilities: Reals) -> Integers:
        """W: the likeliest well-formed tags of a text's words, from their probabilities, W C."""
        scores = np.log(np.maximum(probabilities, LEAST))
        if not len(scores):
            return np.zeros(0, np.int64)
        forbidden = np.where(self.follows, 0.0, -np.inf)
        before = np.zeros(scores.shape, np.int64)
        total = scores[0] + forbidden[0]  # a text begins as what stands behind O
        for word in range(1, len(scores)):
            ways = total[:, None] + forbidden
            before[word] = ways.argmax(0)
            total = ways.max(0) + scores[word]
        tags = np.zeros(len(scores), np.int64)
        tags[-1] = total.argmax()
        for word in range(len(scores) - 1, 0, -1):
            tags[word - 1] = before[word, tags[word]]
        return tags

    def spans(self, tags: Integers) -> list[WordSpan]:
        """The entities of tags, by their numbers."""
        return lenient_spans([self.tags[number] for number in tags.tolist()])

    def decode(self, probabilities: Reals) -> list[WordSpan]:
        """The entities of a text."""
        return self.spans(self.best_tags(probabilities))

    def sureness(self, probabilities: Reals, spans: Sequence[WordSpan]) -> list[float]:
        """The probability of each of some spans, exactly as it is."""
        if not spans:
            return []
        shares = np.maximum(probabilities, LEAST)
        forward, scale, backward = self._sums(shares)
        return [self._one_sureness(span, shares, forward, scale, backward) for span in spans]

    def _sums(self, shares: Reals) -> tuple[Reals, Reals, Reals]:
        """W C, W, W C: scaled sums over all well-formed beginnings and endings."""
        follows = self.follows.astype(np.float64)
        forward, backward = np.zeros_like(shares), np.ones_like(shares)
        scale = np.zeros(len(shares))
        for word in range(len(shares)):
            reached = follows[0] if word == 0 else forward[word - 1] @ follows
            forward[word] = reached * shares[word]
            scale[word] = forward[word].sum()
            forward[word] /= scale[word]
        for word in range(len(shares) - 2, -1, -1):
            backward[word] = follows @ (shares[word + 1] * backward[word + 1]) / scale[word + 1]
        return forward, scale, backward

    def _one_sureness(self, span: WordSpan, shares: Reals, forward: Reals, scale: Reals, backward: Reals) -> float:
        begin = 1 + 2 * self.labels.index(span.label)
        inside = slice(span.first + 1, span.last)
        chance = forward[span.first, begin] * float(np.prod(shares[inside, begin + 1] / scale[inside]))
        if span.last < len(shares):
            ends = self.follows[begin].copy()
            ends[begin + 1] = False  # or it would go on
            chance *= float((shares[span.last] * backward[span.last])[ends].sum() / scale[span.last])
        return min(1.0, float(chance))
