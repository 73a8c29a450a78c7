"""A tuned model that labels texts: what evaluation measures and what `predict` says are this one object.

In: a model directory that tuning wrote. Out: labels with calibrated probabilities. `task.json` has the labels, the
temperature and the thresholds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoModelForSequenceClassification

from unmask.errors import Damaged
from unmask.models.locate import TASK
from unmask.records import Flags, Reals
from unmask.results import Predicted
from unmask.tasks.classify.calibration import decide, label_sets, probabilities_of
from unmask.tasks.classify.validation import logits_of
from unmask.tasks.text_rows import TextRows
from unmask.tasks.tuned_model import TaskCard, TunedModel, read_card, read_task


@dataclass(frozen=True, kw_only=True)
class ClassifyCard(TaskCard):
    """What a classifier needs to be asked, beside its weights."""

    labels: tuple[str, ...]
    several: bool
    temperature: float = 1.0
    thresholds: tuple[float, ...] | None  # of several labels
    sets: float | None = None  # the share of texts whose label is in its set
    least: float | None = None  # the least probability of a label in a set


def classify_card(values: dict[str, Any]) -> ClassifyCard:
    """A card of what `task.json` says."""
    thresholds = values["thresholds"]
    tuples = {"labels": tuple(values["labels"]), "thresholds": None if thresholds is None else tuple(thresholds)}
    return ClassifyCard(**{**values, **tuples})


def read_classify_card(path: Path) -> tuple[Path, ClassifyCard]:
    """The model directory of a tuned run, and its card."""
    return read_card(path, "classify", classify_card)


def start_labels(directory: Path) -> tuple[str, ...]:
    """The labels that a model already knows, where it was tuned to classify before."""
    if not (directory / TASK).is_file() or read_task(directory)[1]["task"] != "classify":
        return ()
    return read_classify_card(directory)[1].labels


class Classifier(TunedModel):
    """A tuned model that labels texts."""

    card: ClassifyCard

    def __init__(self, path: Path, *, device: str | None = None, precision: str = "float32") -> None:
        self.directory, self.card = read_classify_card(path)
        self.load_weights(AutoModelForSequenceClassification, device, precision)
        if self.model.config.num_labels != len(self.card.labels):
            raise Damaged(f"{self.directory}: its weights are not those of {len(self.card.labels)} labels; tune again")

    def read(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> TextRows:
        """Texts as rows."""
        self.check_pairs(pairs)
        return self.reader.read(texts, pairs)

    def logits(self, rows: TextRows) -> Reals:
        """N C: the logits of each label, before they are calibrated."""
        with self.casting():
            logits = logits_of(self.model, rows)
        if not np.isfinite(logits).all():
            raise Damaged(f"{self.directory}: the model gives numbers that are not finite; its weights are damaged")
        return logits

    def probabilities(self, rows: TextRows) -> Reals:
        """N C: the calibrated probability of each label."""
        return self.calibrated(self.logits(rows))

    def calibrated(self, logits: Reals) -> Reals:
        """N C: logits as probabilities."""
        return probabilities_of(logits, several=self.card.several, temperature=self.card.temperature)

    def decisions(self, probabilities: Reals) -> Flags:
        """N C: the labels that are said."""
        return decide(probabilities, None if self.card.thresholds is None else np.array(self.card.thresholds))

    def sets(self, probabilities: Reals) -> Flags | None:
        """N C: the labels that cannot be ruled out, where the model was tuned with sets."""
        return None if self.card.least is None else label_sets(probabilities, self.card.least)

    def predict(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[Predicted]:
        """Label texts, or pairs of texts."""
        rows = self.read(texts, pairs)
        return self.results(rows, self.probabilities(rows), texts, pairs)

    def results(
        self, rows: TextRows, probabilities: Reals, texts: Sequence[str], pairs: Sequence[str] | None = None
    ) -> list[Predicted]:
        """What is said of each text."""
        labels, decisions, sets = self.card.labels, self.decisions(probabilities), self.sets(probabilities)
        results = []
        for number, (text, row) in enumerate(zip(texts, probabilities, strict=True)):
            best = int(row.argmax())
            results.append(
                Predicted(
                    text=text,
                    pair=None if pairs is None else pairs[number],
                    label=labels[best],
                    probability=float(row[best]),
                    labels=tuple(labels[place] for place in np.flatnonzero(decisions[number])),
                    probabilities=dict(zip(labels, row.tolist(), strict=True)),
                    label_set=None if sets is None else tuple(labels[place] for place in np.flatnonzero(sets[number])),
                    tokens_read=int(rows.tokens[number]),
                    windows=int(rows.windows[number]),
                )
            )
        return results


def targets_of(labels: Sequence[Sequence[str]], names: Sequence[str]) -> Reals:
    """N C: 1 where a label holds."""
    place = {name: number for number, name in enumerate(names)}
    targets: Reals = np.zeros((len(labels), len(names)))
    for number, each in enumerate(labels):
        targets[number, [place[name] for name in each]] = 1
    return targets
