"""A tuned model that finds entities: what evaluation measures and what `predict` says are this one object.

In: a model directory that tuning wrote. Out: entities with calibrated probabilities. `task.json` has the labels and the
temperature.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from transformers import AutoModelForTokenClassification

from unmask.errors import Damaged
from unmask.models.locate import TASK
from unmask.records import Reals
from unmask.results import Entity, Tagged
from unmask.tasks.classify.calibration import probabilities_of
from unmask.tasks.tag.decoding import TagDecoder
from unmask.tasks.tag.schemes import WordSpan
from unmask.tasks.tag.tagged import LabelledSpan, join_words
from unmask.tasks.tag.validation import in_characters, tag_logits
from unmask.tasks.tag.words import GivenWords, WordRows, read_words
from unmask.tasks.tuned_model import TaskCard, TunedModel, read_card, read_task


@dataclass(frozen=True, kw_only=True)
class TagCard(TaskCard):
    """What a tagger needs to be asked, beside its weights."""

    labels: tuple[str, ...]
    temperature: float = 1.0


def read_tag_card(path: Path) -> tuple[Path, TagCard]:
    """The model directory of a tuned run, and its card."""

    def make(values: dict[str, Any]) -> TagCard:
        return TagCard(**{**values, "labels": tuple(values["labels"])})

    return read_card(path, "tag", make)


def tagged_labels(directory: Path) -> tuple[str, ...]:
    """The labels that a model already knows, where it was tuned to tag before."""
    if not (directory / TASK).is_file() or read_task(directory)[1]["task"] != "tag":
        return ()
    return read_tag_card(directory)[1].labels


class TaggedWords(NamedTuple):
    """What a tagger says of one text, before it is written out."""

    probabilities: Reals  # W C, of the words that are judged
    words: list[WordSpan]
    spans: list[LabelledSpan]  # the same in characters
    sureness: list[float]


class Tagger(TunedModel):
    """A tuned model that finds entities."""

    card: TagCard
    takes_words = True

    def __init__(self, path: Path, *, device: str | None = None, precision: str = "float32") -> None:
        self.directory, self.card = read_tag_card(path)
        self.load_weights(AutoModelForTokenClassification, device, precision)
        self.decoder = TagDecoder(self.card.labels)
        if self.model.config.num_labels != len(self.decoder.tags):
            raise Damaged(f"{self.directory}: its weights are not those of {len(self.card.labels)} labels; tune again")

    def read(self, texts: Sequence[str], given: Sequence[GivenWords] | None = None) -> WordRows:
        """Texts as rows with their words: those that are given, or the tokenizer's."""
        return read_words(self.reader, texts, [None] * len(texts) if given is None else given)

    def tag(self, words: WordRows) -> Iterator[TaggedWords]:
        """The entities of texts."""
        with self.casting():
            logits, _ = tag_logits(self.model, words)
        if not np.isfinite(logits).all():
            raise Damaged(f"{self.directory}: the model gives numbers that are not finite; its weights are damaged")
        probabilities = probabilities_of(logits, several=False, temperature=self.card.temperature)
        for number in range(len(words.rows.tokens)):
            here = words.words_of(number)
            shares = probabilities[here][words.judged[here]]
            found = self.decoder.decode(shares)
            spans = in_characters(words, number, found)
            yield TaggedWords(shares, found, spans, self.decoder.sureness(shares, found))

    def predict(self, texts: Sequence[str | Sequence[str]], pairs: Sequence[str] | None = None) -> list[Tagged]:
        """Find the entities of texts, or of lists of words, which are put together with spaces between them."""
        self.check_pairs(pairs)
        joined = [(each, None) if isinstance(each, str) else join_words(each) for each in texts]
        words = self.read([text for text, _ in joined], [given for _, given in joined])
        rows = words.rows
        return [
            Tagged(
                text=text,
                entities=tuple(
                    Entity(start=s.start, end=s.end, text=text[s.start : s.end], label=s.label, probability=share)
                    for s, share in zip(said.spans, said.sureness, strict=True)
                ),
                tokens_read=int(rows.tokens[number]),
                windows=int(rows.windows[number]),
            )
            for number, ((text, _), said) in enumerate(zip(joined, self.tag(words), strict=True))
        ]
