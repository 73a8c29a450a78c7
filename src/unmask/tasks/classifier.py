"""A tuned model that labels texts: what evaluation measures and what `predict` says are this one object.

In: a model directory that tuning wrote. Out: labels with calibrated probabilities. Beside what transformers reads, the
directory has `task.json`: the task, the labels, the temperature, the thresholds, the fields of its data and the length
of rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, PreTrainedModel

from unmask.errors import BadInput, Damaged
from unmask.files import free_place, write_json
from unmask.models.load import DTYPES, chosen_device, from_directory
from unmask.models.locate import TASK, model_directory
from unmask.records import Flags, Reals
from unmask.results import Predicted
from unmask.runs.commands import quoted_path
from unmask.tasks.batches import TextRows
from unmask.tasks.calibration import decide, probabilities_of
from unmask.tasks.rows import RowReader
from unmask.tasks.validation import logits_of
from unmask.tokens.tokenizer.load import load_tokenizer

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class ClassifyCard:
    """What a tuned model needs to be asked, beside its weights."""

    task: str
    labels: tuple[str, ...]
    several: bool
    temperature: float
    thresholds: tuple[float, ...] | None  # of several labels
    text_field: str
    pair_field: str | None
    length: int  # of a row
    format: int = FORMAT

    def write(self, directory: Path) -> None:
        """Put it beside the model."""
        write_json(directory / TASK, asdict(self))


def read_card(path: Path) -> tuple[Path, ClassifyCard]:
    """The model directory of a tuned run, and its card."""
    directory = model_directory(path)
    file = directory / TASK
    if not file.is_file():
        out = quoted_path(free_place(Path("tuned")))
        remedy = f"unmask tune classify {quoted_path(path)} TRAIN --out {out}"
        raise BadInput(f"{path}: is not tuned and knows no labels; `{remedy}` teaches it some")
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        if values["format"] != FORMAT:
            raise BadInput(f"{file}: format {values['format']}, this version reads {FORMAT}")
        thresholds = values["thresholds"]
        return directory, ClassifyCard(
            **{
                **values,
                "labels": tuple(values["labels"]),
                "thresholds": None if thresholds is None else tuple(thresholds),
            }
        )
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{file}: cannot be read ({error}); tune again") from error


class Classifier:
    """A tuned model, ready to be asked."""

    def __init__(self, path: Path, *, device: str | None = None, precision: str = "float32") -> None:
        self.directory, self.card = read_card(path)
        if precision not in DTYPES:
            raise BadInput(f"--precision {precision}: choose one of {', '.join(DTYPES)}")
        self.precision = precision
        try:
            model, report = from_directory(AutoModelForSequenceClassification, self.directory)
        except (RuntimeError, ValueError, OSError) as error:
            raise Damaged(f"{self.directory}: the weights do not fit config.json: {error}") from error
        if report["missing_keys"] or model.config.num_labels != len(self.card.labels):
            raise Damaged(f"{self.directory}: its weights are not those of {len(self.card.labels)} labels; tune again")
        self.model: PreTrainedModel = model.to(chosen_device(device)).eval()
        self.reader = RowReader(load_tokenizer(self.directory), self.card.length)

    def read(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> TextRows:
        """Texts as rows."""
        if (pairs is not None) != (self.card.pair_field is not None):
            raise BadInput(self.wanted)
        return self.reader.read(texts, pairs)

    @property
    def wanted(self) -> str:
        """What it is to be given, in words."""
        if self.card.pair_field is None:
            return "this model labels single texts, not pairs"
        names = f"{self.card.text_field!r} and {self.card.pair_field!r}"
        return (
            f"this model labels pairs of texts: give JSON lines with the fields {names}, or two texts after each other"
        )

    def probabilities(self, rows: TextRows) -> Reals:
        """N C: the calibrated probability of each label."""
        dtype = DTYPES[self.precision]
        with torch.autocast(self.model.device.type, dtype, enabled=dtype != torch.float32):
            logits = logits_of(self.model, rows)
        if not np.isfinite(logits).all():
            raise Damaged(f"{self.directory}: the model gives numbers that are not finite; its weights are damaged")
        return probabilities_of(logits, several=self.card.several, temperature=self.card.temperature)

    def decisions(self, probabilities: Reals) -> Flags:
        """N C: the labels that are said."""
        return decide(probabilities, None if self.card.thresholds is None else np.array(self.card.thresholds))

    def predict(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> list[Predicted]:
        """Label texts, or pairs of texts."""
        rows = self.read(texts, pairs)
        return self.results(rows, self.probabilities(rows), texts, pairs)

    def results(
        self, rows: TextRows, probabilities: Reals, texts: Sequence[str], pairs: Sequence[str] | None = None
    ) -> list[Predicted]:
        """What is said of each text."""
        labels, decisions = self.card.labels, self.decisions(probabilities)
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
