"""The words of a text that has a label, and what the label is when some of them stand otherwise.

In: a classifier, and texts that differ from one another in a word or two. Out: log-odds, probabilities and decisions of
one label, by the function that `predict` asks. Rows that several of them share are computed once: of a long text a
changed word changes the windows that it stands in, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from unmask.inference.blanks import BlankText
from unmask.inference.explain import ContextWord, context_words
from unmask.records import Flags, Ids, Reals
from unmask.tasks.classify.classifier import Classifier
from unmask.tasks.text_rows import TextRows
from unmask.tokens.tokenizer.encode import encode

TOGETHER = 256  # variants of a text whose rows are held at once
LEAST = 1e-300  # of a probability, for its logarithm

Sides = tuple[str, ...]  # a text, or the two texts of a pair
Variant = TypeVar("Variant")


class SideWord(NamedTuple):
    """A word, and which text of a pair it stands in."""

    side: int
    word: ContextWord


def is_word(spelt: str) -> bool:
    """Whether there are letters or digits in it; else it is a sign."""
    return any(map(str.isalnum, spelt))


@dataclass(frozen=True)
class LabelledSides:
    """A text, or a pair of texts, as a classifier reads it."""

    sides: Sides
    encoded: tuple[BlankText, ...]  # without blanks

    @classmethod
    def read(cls, classifier: Classifier, sides: Sides) -> LabelledSides:
        """Encode texts as the classifier does."""
        rows = encode(classifier.reader.tokenizer, sides, offsets=True)
        return cls(
            sides,
            tuple(
                BlankText(text, (text,), row.ids, (), word_starts=row.word_starts, offsets=row.offsets, plain=text)
                for text, row in zip(sides, rows, strict=True)
            ),
        )

    @property
    def words(self) -> list[SideWord]:
        """All words, in the order of the texts."""
        return [
            SideWord(side, word)
            for side, text in enumerate(self.encoded)
            for word in context_words(text, 0, len(text.ids))
        ]

    def spelling(self, word: SideWord) -> str:
        """A word as it is written."""
        return self.sides[word.side][word.word.first : word.word.last]

    def rewritten(self, changes: dict[SideWord, str]) -> Sides:
        """The texts with other words in the place of some; a word that is left out takes a space with it."""
        texts = list(self.sides)
        for (side, word), by in sorted(changes.items(), key=lambda item: (item[0].side, -item[0].word.first)):
            before, after = texts[side][: word.first], texts[side][word.last :]
            if not by and before[-1:].isspace():
                before = before[:-1]
            elif not by and not before and after[:1].isspace():
                after = after[1:]
            texts[side] = before + by + after
        return tuple(texts)

    def hidden(self, words: Iterable[SideWord], mask: int) -> tuple[Ids, ...]:
        """The tokens with a mask for each piece of some words."""
        tokens = [text.ids.copy() for text in self.encoded]
        for side, word in words:
            tokens[side][word.begin : word.end] = mask
        return tuple(tokens)


class LabelAnswer(NamedTuple):
    """What is said of one label of each of N texts."""

    log_odds: Reals  # N
    probability: Reals  # N, calibrated
    said: Flags  # N
    probabilities: Reals  # N C, of all labels


@dataclass(frozen=True)
class AskedLabel:
    """One label of a classifier, to be asked about many texts."""

    classifier: Classifier
    label: int

    def of_texts(self, variants: Sequence[Sides]) -> LabelAnswer:
        """What is said of texts."""
        return self._answer(
            self.classifier.read([each[0] for each in part], [each[1] for each in part] if len(part[0]) > 1 else None)
            for part in _parts(variants)
        )

    def of_tokens(self, variants: Sequence[tuple[Ids, ...]]) -> LabelAnswer:
        """What is said of texts that are tokens already."""
        read = self.classifier.reader.read_ids
        return self._answer(
            read([each[0] for each in part], [each[1] for each in part] if len(part[0]) > 1 else None)
            for part in _parts(variants)
        )

    def _answer(self, parts: Iterator[TextRows]) -> LabelAnswer:
        logits = [shared_logits(self.classifier, rows) for rows in parts]
        probabilities = self.classifier.calibrated(np.concatenate(logits))
        probability = probabilities[:, self.label]
        if self.classifier.card.several:
            others = 1 - probability
        else:  # added up, for what is left of 1 is lost where a model is sure
            others = np.delete(probabilities, self.label, axis=1).sum(1)
        log_odds = np.log(np.maximum(probability, LEAST)) - np.log(np.maximum(others, LEAST))
        said = self.classifier.decisions(probabilities)[:, self.label]
        return LabelAnswer(log_odds, probability, said, probabilities)


def _parts(variants: Sequence[Variant]) -> Iterator[Sequence[Variant]]:
    return (variants[begin : begin + TOGETHER] for begin in range(0, len(variants), TOGETHER))


def shared_logits(classifier: Classifier, rows: TextRows) -> Reals:
    """N C: the logits of texts, rows that are the same being computed once."""
    begins = rows.ends - rows.lengths
    keys = [
        rows.ids[begin:end].tobytes() + rows.types[begin:end].tobytes()
        for begin, end in zip(begins.tolist(), rows.ends.tolist(), strict=True)
    ]
    numbers: dict[bytes, int] = {}
    places = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    firsts = np.unique(places, return_index=True)[1]
    stretches = [slice(begins[row], rows.ends[row]) for row in firsts.tolist()]
    distinct = TextRows(
        ids=np.concatenate([rows.ids[stretch] for stretch in stretches]),
        types=np.concatenate([rows.types[stretch] for stretch in stretches]),
        ends=np.cumsum(rows.lengths[firsts]),
        owners=np.arange(len(firsts)),
        tokens=rows.lengths[firsts],
        pad=rows.pad,
        typed=rows.typed,
        limit=rows.limit,
    )
    by_row = classifier.logits(distinct)[places]
    sums: Reals = np.zeros((len(rows.tokens), by_row.shape[1]))
    np.add.at(sums, rows.owners, by_row)
    return sums / rows.windows[:, None]
