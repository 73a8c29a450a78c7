"""Classification as a job: a pretrained encoder, labelled texts, and a head that tells their labels apart.

In: a model directory and labelled examples. Out: a run directory whose `model/` transformers loads, calibrated on what
was held out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from transformers import (
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    AutoModelForSequenceClassification,
    PreTrainedConfig,
)

from unmask.errors import BadInput
from unmask.models.locate import model_directory
from unmask.objectives.classification import Classification
from unmask.progress import say
from unmask.records import Reals
from unmask.results import FigureTitle
from unmask.tasks.classify.batches import LabelledBatches
from unmask.tasks.classify.classifier import ClassifyCard, start_labels, targets_of
from unmask.tasks.classify.export import export_classifier
from unmask.tasks.classify.labelled import LabelledExamples, check_labels, check_trainable, read_labelled
from unmask.tasks.classify.splitting import fold, hold_out
from unmask.tasks.classify.validation import ACCURACY, LOSS, MACRO_F1, LabelledValidation
from unmask.tasks.order import ExampleOrder
from unmask.tasks.request import TuneRequest
from unmask.tasks.settings import TuneSettings
from unmask.tasks.start import HeadKind, start_config
from unmask.tasks.text_rows import TextRows
from unmask.tasks.tuning import Tuning
from unmask.tokens.tokenizer.load import load_tokenizer

USES = (
    "unmask predict RUN EXAMPLE",
    "from transformers import pipeline\n\npipeline('text-classification', model=MODEL)(EXAMPLE)",
)
UNEVEN = 2.0  # times as frequent as the rarest is the most frequent label, where labels are weighted


@dataclass(frozen=True)
class Classifying(Tuning):
    """Labelled examples and the model that learns them: what the settings say, read once."""

    start: Path
    train: LabelledExamples
    dev: LabelledExamples
    settings: TuneSettings
    given_dev: bool = True  # else it is a part of the examples
    fold: str | None = None  # which part of the examples it leaves out to be judged by, if one of several
    known: tuple[str, ...] = ()  # the labels, where these examples may lack some

    task = "classify"
    head = HeadKind(AutoModelForSequenceClassification, MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING, "classifier")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What is told apart."""
        return self.known or self.train.labels

    @property
    def several(self) -> bool:
        """Whether a text may have any number of labels."""
        return self.train.several

    @property
    def same_labels(self) -> bool:
        """Whether the model it starts from knows these very labels."""
        return start_labels(self.start) == self.labels

    @cached_property
    def config(self) -> PreTrainedConfig:
        """The configuration of the model to come."""
        config = start_config(self.start, self.head)
        config.num_labels = len(self.labels)
        config.id2label = dict(enumerate(self.labels))
        config.label2id = {label: number for number, label in enumerate(self.labels)}
        config.problem_type = "multi_label_classification" if self.several else "single_label_classification"
        if config.pad_token_id is None:  # by which left-to-right models find the last token
            config.pad_token_id = load_tokenizer(self.start).pad_token_id
        if hasattr(config, "classifier_pooling"):
            config.classifier_pooling = "mean"  # masked training gives the first token nothing to do
        return config

    def rows_of(self, examples: LabelledExamples) -> TextRows:
        """Examples as rows."""
        pairs = None if examples.fields.pair is None else [example.pair or "" for example in examples.examples]
        return self.reader.read([example.text for example in examples.examples], pairs)

    def targets_of(self, examples: LabelledExamples) -> Reals:
        """N C: 1 where a label holds."""
        return targets_of([example.labels for example in examples.examples], self.labels)

    def folds(self, count: int) -> list[tuple[Tuning, LabelledExamples]]:
        """Tunings on all examples but a part, which they are judged by; a tenth of the rest is their dev."""
        every = self.train if self.given_dev else replace(self.train, examples=self.train.examples + self.dev.examples)
        tunings: list[tuple[Tuning, LabelledExamples]] = []
        for number, (rest, part) in enumerate(fold(every, count, self.settings.seed), start=1):
            learnt, dev = (rest, self.dev) if self.given_dev else self.hold_out(rest)
            name = f"{number}/{count}"
            tunings.append((replace(self, train=learnt, dev=dev, fold=name, known=self.labels), part))
        return tunings

    def hold_out(self, examples: LabelledExamples) -> tuple[LabelledExamples, LabelledExamples]:
        """Every tenth example of each label."""
        return hold_out(examples, self.settings.seed)

    def texts_of(self, examples: LabelledExamples) -> list[str]:
        """The text of each example, both of a pair."""
        return [text if pair is None else f"{text}\n{pair}" for _, text, pair, *_ in examples.examples]

    @cached_property
    def batches(self) -> LabelledBatches:
        """The examples of every epoch."""
        rows = self.rows_of(self.train)
        order = ExampleOrder(work=rows.work, batch_size=self.settings.batch_size, seed=self.settings.seed)
        return LabelledBatches(rows=rows, targets=self.targets_of(self.train), order=order)

    @cached_property
    def objective(self) -> Classification:
        """What is learnt."""
        return Classification(self.several, None if self.several else class_weights(self.batches.targets))

    @cached_property
    def held_out(self) -> LabelledValidation:
        """What is measured on."""
        return LabelledValidation(self.rows_of(self.dev), self.targets_of(self.dev), self.several)

    @property
    def figures(self) -> tuple[FigureTitle, ...]:
        """Accuracy first or, of several labels, macro F1."""
        return (MACRO_F1, ACCURACY, LOSS) if self.several else (ACCURACY, MACRO_F1, LOSS)

    @property
    def card(self) -> ClassifyCard:
        """What asking the model takes, before it is calibrated."""
        return ClassifyCard(
            task=self.task,
            labels=self.labels,
            several=self.several,
            temperature=1.0,
            thresholds=None,
            sets=self.settings.sets,
            text_field=self.train.fields.text,
            pair_field=self.train.fields.pair,
            length=self.reader.length,
        )

    def exporter(self) -> Callable[..., None]:
        """Writes the model, calibrated on what is held out."""
        held_out, tokenizer = self.held_out, self.reader.tokenizer
        return partial(export_classifier, card=self.card, held_out=held_out, tokenizer=tokenizer, start=self.start)

    @property
    def recorded(self) -> dict[str, Any]:
        """Fields, labels and digests of the examples."""
        return {
            "fields": self.train.fields._asdict(),
            "labels": list(self.labels),
            **self.digests,
            **({} if self.fold is None else {"fold": self.fold}),
        }

    @property
    def facts(self) -> dict[str, str]:
        """What people are told of the run."""
        return {
            "task": "several labels a text" if self.several else "one label a text",
            "labels": f"{len(self.labels):,}",
            "model": f"{self.start}, {self.settings.start}",
            "data": f"{self.train.path}: {len(self.train):,} examples, {len(self.dev):,} held out",
        }

    @property
    def uses(self) -> tuple[str, ...]:
        """Of a pair there is no example that fits a line."""
        return USES if self.train.fields.pair is None else ("unmask predict RUN PAIRS.jsonl",)

    @property
    def example(self) -> str:
        """A short text to try the model on."""
        return min((example.text for example in self.dev.examples), key=lambda text: abs(len(text) - 60))

    def say_what_is_learnt(self) -> None:
        """Which fields, how many labels, what was left out, how much is held out."""
        train, dev, fields = self.train, self.dev, self.train.fields
        texts = f"text {fields.text!r}" + (f" with {fields.pair!r}" if fields.pair else "")
        kind = "any number of" if self.several else "one of"
        count = f"{len(train):,} to learn from, each with {kind} {len(self.labels):,} labels"
        say(f"{train.path}: {texts}, label {fields.label!r}; {count}")
        for examples in (train, dev) if self.given_dev else (train,):
            if examples.empty:
                say(f"[yellow]{examples.path}: {examples.empty:,} lines without text are left out[/]")
        if not self.given_dev:
            way = f"whole groups of {fields.group!r}" if fields.group else "of each label"
            say(f"no --dev: {len(dev):,} of the examples are held out, every tenth, {way}")
        if self.objective.weights is not None:
            say("labels are uneven: rare ones weigh more, with one over the root of their frequency")
        long = int((self.batches.rows.windows > 1).sum())
        if long:
            say(f"texts longer than {self.reader.length:,} tokens: {long:,}, read in windows, none is cut")
        if start_labels(self.start):
            head = "goes on" if self.same_labels else "is drawn anew for other labels"
            say(f"{self.start} is tuned already: its head {head}")


def class_weights(targets: Reals) -> tuple[float, ...] | None:
    """C: a weight for each label where some are much rarer: with 1/√frequency, mean 1 over the examples; else none.

    >>> class_weights(np.eye(2)), [round(weight, 2) for weight in class_weights(np.eye(2)[[0, 0, 0, 0, 1]])]
    (None, [0.83, 1.67])
    """
    counts = np.maximum(targets.sum(0), 1)
    if counts.max() <= UNEVEN * counts.min():
        return None
    weights = 1 / np.sqrt(counts)
    return tuple((weights * counts.sum() / (weights @ counts)).tolist())


def open_classifying(request: TuneRequest) -> tuple[Classifying, LabelledExamples | None]:
    """What a request asks to be learnt, and the test examples if there are some."""
    train = read_labelled(request.places["train"], None, **request.fields)
    check_trainable(train)
    if train.several and request.settings.sets is not None:
        raise BadInput("--sets: a text with several labels has a threshold for each already; leave it out")
    others = {
        name: read_labelled(request.places[name], train.fields) for name in ("dev", "test") if name in request.places
    }
    for examples in others.values():
        check_labels(examples, train.labels, train.several)
    return classifying_of(request.places["model"], request.settings, train, others.get("dev")), others.get("test")


def classifying_of(
    path: Path, settings: TuneSettings, train: LabelledExamples, dev: LabelledExamples | None
) -> Classifying:
    """What is to be learnt, with a part of the examples held out where no others are given."""
    start = model_directory(path)
    if dev is not None:
        return Classifying(start, train, dev, settings)
    learnt, held_out = hold_out(train, settings.seed)
    if not len(held_out):
        kept = "examples of each label" if all(each.group is None for each in train.examples) else "groups"
        raise BadInput(f"{train.path}: too few {kept} to hold some out; give --dev")
    return replace(Classifying(start, learnt, held_out, settings), given_dev=False)
