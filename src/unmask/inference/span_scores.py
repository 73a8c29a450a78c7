"""Pseudo-log-likelihood under an encoder-decoder: each word behind a sentinel, spelt out by the decoder.

    Σ_w log p(w | text without w),   log p(w) the pieces of w one after the other, and its end

In: passages. Out: the log-probability of each token that is scored, that of a word's end being its last token's. As
other pseudo-likelihoods it is no probability of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from unmask.inference.judge_spans import AskedSpan, judge_spans
from unmask.inference.passages import Passage
from unmask.inference.span_row import opening
from unmask.models.load import LoadedModel
from unmask.progress import task
from unmask.records import Integers, Reals

CHUNK = 1 << 18  # tokens in the rows that are held at once


def span_log_probabilities(lm: LoadedModel, passages: Sequence[Passage]) -> Iterator[Reals]:
    """For each passage, in their order: the log-probabilities of its tokens, L; nan where one is not scored."""
    with task("Scoring", total=len(passages)) as step:
        for chunk in _chunks(passages):
            words = [(number, word) for number, passage in enumerate(chunk) for word in _words(passage)]
            spans = [_hide(lm, chunk[number], word) for number, word in words]
            values = [np.full(len(passage.ids), np.nan) for passage in chunk]
            for place, answers in judge_spans(lm, spans):
                number, word = words[place]
                values[number][word] = answers
            yield from values
            step(len(chunk))


def _chunks(passages: Sequence[Passage]) -> Iterator[list[Passage]]:
    """Passages whose rows, one for each word, are held together."""
    chunk: list[Passage] = []
    tokens = 0
    for passage in passages:
        size = len(passage.ids) * (passage.last - passage.first)
        if chunk and tokens + size > CHUNK:
            yield chunk
            chunk, tokens = [], 0
        chunk.append(passage)
        tokens += size
    if chunk:
        yield chunk


def _words(passage: Passage) -> list[Integers]:
    """The tokens of each word that is scored; what is scored may begin inside of one."""
    places = np.arange(passage.first, passage.last)
    return np.split(places, np.flatnonzero(passage.starts[places][1:]) + 1)


def _hide(lm: LoadedModel, passage: Passage, word: Integers) -> AskedSpan:
    """A passage with a sentinel in the place of a word."""
    sentinel, *following = lm.vocabulary.sentinels
    first, last = int(word[0]), int(word[-1]) + 1
    source = np.r_[opening(lm), passage.ids[:first], sentinel, passage.ids[last:], lm.vocabulary.end].astype(np.int32)
    closings = (lm.vocabulary.end, *following[:1])
    return AskedSpan(source, (sentinel,), tuple(passage.ids[first:last].tolist()), closings)
