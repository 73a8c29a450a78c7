"""A word in its sentence to where a corpus uses words the same way: concordance lines, the nearest first.

In: an encoder, sentences of a corpus, and a word with what stands before and after it. Out: `NearContexts`. A word's
vector is the mean over its tokens of what the last layer says; the mean over all words is taken away first, because
vectors crowd in a cone. Only a sample is read: what is said holds for it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unmask.errors import BadInput
from unmask.inference.vectors import Encoder, row_vectors
from unmask.records import Ids, Reals
from unmask.results import ContextLine, NearContexts
from unmask.tokens.example import SENTENCE_END
from unmask.tokens.tokenizer.encode import EncodedText, encode

LONGEST, SHORTEST = 300, 20  # characters of a sentence
SENTENCES = 20_000  # of a corpus that are kept at hand
COMPARED = 120  # sentences that have the word, and as many of all others
SHOWN = 48  # characters on each side of a word


class WordPlace(NamedTuple):
    """A word in a sentence."""

    sentence: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """As it is written there."""
        return self.sentence[self.start : self.end]


def corpus_sentences(texts: Iterable[str]) -> list[str]:
    """The sentences of texts, each once; long ones in parts."""
    found: dict[str, None] = {}
    for text in texts:
        for sentence in SENTENCE_END.split(text):
            for part in textwrap.wrap(" ".join(sentence.split()), LONGEST):
                if len(part) >= SHORTEST:
                    found[part] = None
        if len(found) >= SENTENCES:
            break
    return [*found][:SENTENCES]


@dataclass(frozen=True)
class CorpusWords:
    """The words of a sample of a corpus with their vectors: what others are compared with."""

    encoder: Encoder
    sentences: Sequence[str]
    places: Sequence[WordPlace]
    vectors: Reals  # N D, without their mean, of length 1
    centre: Reals  # D, their mean

    @classmethod
    def read(cls, encoder: Encoder, sentences: Sequence[str]) -> CorpusWords:
        """Read a sample of sentences."""
        if not sentences:
            raise BadInput("the corpus has no sentences to compare with")
        sample = evenly(sentences, COMPARED)
        places = [
            WordPlace(text, *span)
            for text, row in zip(sample, encode(encoder.tokenizer, sample, offsets=True), strict=True)
            for span in word_spans(text, row)
        ]
        vectors = word_vectors(encoder, places)
        centre = vectors.mean(0)
        return cls(encoder, sentences, places, _normalised(vectors - centre), centre)

    def nearest(self, before: str, word: str, after: str, top: int = 8) -> NearContexts:
        """Where the corpus has this word, and others, in contexts like this one."""
        asked = _clipped(before, word, after)
        pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
        found = [WordPlace(text, *match.span()) for text in self.sentences if (match := pattern.search(text))]
        found = [place for place in found if place.sentence != asked.sentence]
        compared = evenly(found, COMPARED)
        query, *vectors = _normalised(word_vectors(self.encoder, [asked, *compared]) - self.centre)
        same = self._best(compared, np.array(vectors).reshape(-1, len(query)) @ query, top)
        cosines = self.vectors @ query
        others, seen = list[int](), {word.casefold()}
        for number in np.argsort(-cosines, kind="stable").tolist():
            if len(others) == top:
                break
            if (name := self.places[number].word.casefold()) not in seen:
                seen.add(name)
                others.append(number)
        return NearContexts(
            word=word,
            same=same,
            others=tuple(_line(self.places[number], float(cosines[number])) for number in others),
            occurrences=len(found),
            compared=len(compared),
            sentences=len(self.sentences),
        )

    def _best(self, places: Sequence[WordPlace], cosines: Reals, top: int) -> tuple[ContextLine, ...]:
        order = np.argsort(-cosines, kind="stable")[:top].tolist()
        return tuple(_line(places[number], float(cosines[number])) for number in order)


def word_spans(text: str, row: EncodedText) -> list[tuple[int, int]]:
    """Where the words of a text stand, as its tokenizer has them; what has no letter and no digit is none."""
    assert row.offsets is not None
    starts, spans = np.flatnonzero(row.word_starts).tolist(), list[tuple[int, int]]()
    for first, behind in zip(starts, [*starts[1:], len(row.ids)], strict=True):
        begin, end = int(row.offsets[first][0]), int(row.offsets[behind - 1][1])
        word = text[begin:end]
        if any(letter.isalnum() for letter in word):
            spans.append((end - len(word.lstrip()), begin + len(word.rstrip())))
    return spans


def word_vectors(encoder: Encoder, places: Sequence[WordPlace]) -> Reals:
    """N D: what the last layer says of each word, the mean over its tokens; each sentence is read once."""
    sentences = list(dict.fromkeys(place.sentence for place in places))
    numbers = {sentence: number for number, sentence in enumerate(sentences)}
    encoded = encode(encoder.tokenizer, sentences, offsets=True)
    opening, closing = encoder.around
    room = encoder.room or max(1, *(len(row.ids) for row in encoded))
    rows: list[Ids] = [np.r_[opening, row.ids[:room], closing].astype(np.int32) for row in encoded]
    states: list[Any] = [None] * len(rows)
    for batch, vectors in row_vectors(encoder, rows):
        ends = np.cumsum([len(rows[number]) for number in batch])
        for number, part in zip(batch.tolist(), np.split(vectors.float().cpu().numpy(), ends[:-1]), strict=True):
            states[number] = part[len(opening) : len(part) - len(closing)]
    return np.stack([_pooled(place, encoded[number := numbers[place.sentence]], states[number]) for place in places])


def _pooled(place: WordPlace, row: EncodedText, states: Reals) -> Reals:
    """The mean over the tokens that a word has a part in; of one beyond what is read, over the whole row."""
    assert row.offsets is not None
    offsets = row.offsets[: len(states)]
    inside = (offsets[:, 0] < place.end) & (offsets[:, 1] > place.start)
    vector: Reals = (states[inside] if inside.any() else states).mean(0)
    return vector


def _clipped(before: str, word: str, after: str) -> WordPlace:
    """A word with so much of its text as sentences of the corpus have, cut at spaces."""
    if len(before) > LONGEST // 2:
        before = before[-LONGEST // 2 :].partition(" ")[2]
    if len(after) > LONGEST // 2:
        after = after[: LONGEST // 2].rpartition(" ")[0]
    return WordPlace(before + word + after, len(before), len(before) + len(word))


def _line(place: WordPlace, cosine: float) -> ContextLine:
    left, right = place.sentence[: place.start], place.sentence[place.end :]
    left = left if len(left) <= SHOWN else f"… {left[-SHOWN:].partition(' ')[2]}"
    right = right if len(right) <= SHOWN else f"{right[:SHOWN].rpartition(' ')[0]} …"
    return ContextLine(left=left, word=place.word, right=right, cosine=cosine)


def _normalised(vectors: Reals) -> Reals:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12))


def evenly(values: Sequence[Any], most: int) -> list[Any]:
    """At most so many of them, from all over.

    >>> evenly(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(values) <= most:
        return [*values]
    return [values[round(place * (len(values) - 1) / max(1, most - 1))] for place in range(most)]
