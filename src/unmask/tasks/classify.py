"""Classification as a job: a pretrained encoder, labelled texts, and a head that tells their labels apart.

In: a model directory and labelled examples. Out: a run directory whose `model/` transformers loads, calibrated on what
was held out. Resume, signals, many processes, precision, budgets and the best moment are the loop's.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import torch
from torch.nn import Module
from transformers import AutoModelForSequenceClassification, PreTrainedConfig, PreTrainedModel

from unmask.errors import BadInput
from unmask.models.kernels import CPU_KERNELS
from unmask.models.load import length_of
from unmask.models.locate import model_directory
from unmask.objectives.classification import Classification
from unmask.progress import say
from unmask.records import Reals
from unmask.tasks.batches import LabelledBatches, TextRows
from unmask.tasks.classifier import ClassifyCard, targets_of
from unmask.tasks.export import export_classifier
from unmask.tasks.feed import LabelledFeed
from unmask.tasks.labelled import LabelledExamples
from unmask.tasks.rows import RowReader, row_length
from unmask.tasks.settings import SCRATCH, TuneSettings, class_weights, epochs_for, lr_for
from unmask.tasks.splitting import hold_out
from unmask.tasks.start import draw_classifier, start_classifier, start_config, start_labels, weights_digest
from unmask.tasks.validation import ACCURACY, LOSS, MACRO_F1, SAMPLE, LabelledValidation
from unmask.tokens.tokenizer.load import load_tokenizer
from unmask.training.budget import Budget
from unmask.training.job import Job
from unmask.training.optimizer import Optimizing
from unmask.training.timetable import Timetable

KIND = "tune classify"
USES = (
    "unmask predict RUN EXAMPLE",
    "from transformers import pipeline\n\npipeline('text-classification', model=MODEL)(EXAMPLE)",
)


FLAGS = {  # that the settings of a run are asked for by
    **{
        f"tuning.{name}": f"--{name.replace('_', '-')}"
        for name in ("start", "lr", "batch_size", "micro_batch", "length")
    },
    **{f"fields.{name}": f"--{name}-field" for name in ("text", "pair", "label", "group")},
    "train": "the labelled examples",
    "dev": "--dev",
    "model": "the model that it starts from",
}


@dataclass(frozen=True)
class Classifying:
    """Labelled examples and the model that learns them: what the settings say, read once."""

    start: Path  # the model directory
    train: LabelledExamples
    dev: LabelledExamples
    settings: TuneSettings
    given_dev: bool = True  # else it is a part of the examples

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What is told apart."""
        return self.train.labels

    @property
    def several(self) -> bool:
        """Whether a text may have any number of labels."""
        return self.train.several

    @cached_property
    def config(self) -> PreTrainedConfig:
        """The configuration of the model to come."""
        config = start_config(self.start)
        config.num_labels = len(self.labels)
        config.id2label = dict(enumerate(self.labels))
        config.label2id = {label: number for number, label in enumerate(self.labels)}
        config.problem_type = "multi_label_classification" if self.several else "single_label_classification"
        if config.pad_token_id is None:  # by which left-to-right models find the last token
            config.pad_token_id = load_tokenizer(self.start).pad_token_id
        if hasattr(config, "classifier_pooling"):
            config.classifier_pooling = "mean"  # masked training gives the first token nothing to do
        return config

    @cached_property
    def reader(self) -> RowReader:
        """The tokenizer with the length of rows."""
        with torch.device("meta"):
            shape = AutoModelForSequenceClassification.from_config(self.config)
        tokenizer = load_tokenizer(self.start)
        return RowReader(tokenizer, row_length(self.settings.length, length_of(shape, tokenizer)))

    @cached_property
    def lr(self) -> float:
        """The learning rate at its height."""
        width = self.config.get_text_config().hidden_size
        return self.settings.lr or lr_for(width)

    @property
    def micro_batch(self) -> int:
        """Examples in a micro-batch."""
        return min(self.settings.micro_batch or self.settings.batch_size, self.settings.batch_size)

    def rows_of(self, examples: LabelledExamples) -> TextRows:
        """Examples as rows."""
        pairs = None if examples.fields.pair is None else [example.pair or "" for example in examples.examples]
        return self.reader.read([example.text for example in examples.examples], pairs)

    def targets_of(self, examples: LabelledExamples) -> Reals:
        """N C: 1 where a label holds."""
        return targets_of([example.labels for example in examples.examples], self.labels)

    @cached_property
    def batches(self) -> LabelledBatches:
        """The examples of every epoch."""
        return LabelledBatches(
            rows=self.rows_of(self.train),
            targets=self.targets_of(self.train),
            batch_size=self.settings.batch_size,
            seed=self.settings.seed,
        )

    @cached_property
    def objective(self) -> Classification:
        """What is learnt."""
        return Classification(self.several, None if self.several else class_weights(self.batches.targets))

    def feed(self, timetable: Timetable) -> LabelledFeed:
        """What each step learns from."""
        return LabelledFeed(
            preparer=self.batches, objective=self.objective, micro_batch=self.micro_batch, timetable=timetable
        )

    def learner(self, *, fresh: bool = True) -> PreTrainedModel:
        """The model before its first step: the weights it starts from, and a head that is drawn from the seed."""
        if fresh and self.settings.start != SCRATCH:
            return start_classifier(self.start, self.config, self.settings.seed)
        return draw_classifier(self.config, self.settings.seed)

    @cached_property
    def held_out(self) -> LabelledValidation:
        """What is measured on."""
        return LabelledValidation(self.rows_of(self.dev), self.targets_of(self.dev), self.several)

    def validation(self, learner: Module) -> LabelledValidation:
        """How a learner is measured."""
        return self.held_out

    @property
    def card(self) -> ClassifyCard:
        """What asking the model takes, before it is calibrated."""
        return ClassifyCard(
            task="classify",
            labels=self.labels,
            several=self.several,
            temperature=1.0,
            thresholds=None,
            text_field=self.train.fields.text,
            pair_field=self.train.fields.pair,
            length=self.reader.length,
        )

    def budget(self) -> Budget:
        """How long to train where nobody says."""
        return Budget(epochs=epochs_for(len(self.train), self.settings.batch_size))

    def optimizing(self) -> Optimizing:
        """AdamW on every weight; the learning rate rises for a tenth of the steps and ends at 0."""
        return Optimizing(
            muon_lr=0.0, adamw_lr=self.lr, betas=(0.9, 0.98), weight_decay=1e-5, clip=1.0, warmup=0.1, decay=0.6
        )

    def job(self) -> Job:
        """The job that the loop runs."""
        rows, settings = self.batches.rows, self.settings
        recorded = {**asdict(settings), "lr": self.lr, "length": self.reader.length, "micro_batch": self.micro_batch}
        recorded.pop("seed")
        examples = f"{len(self.train):,} examples, {len(self.dev):,} held out"
        return Job(
            kind=KIND,
            name="classify",
            seed=settings.seed,
            settings={
                "tuning": recorded,
                "fields": self.train.fields._asdict(),
                "labels": list(self.labels),
                "model": weights_digest(self.start),
                "train": self.train.digest,
                "dev": self.dev.digest if self.given_dev else None,
            },
            figures=(MACRO_F1, ACCURACY, LOSS) if self.several else (ACCURACY, MACRO_F1, LOSS),
            build=self.learner,
            source=self.feed,
            validation=self.validation,
            export=partial(
                export_classifier,
                card=self.card,
                held_out=self.held_out,
                tokenizer=self.reader.tokenizer,
                start=self.start,
            ),
            optimizing=self.optimizing(),
            tokens_a_step=max(1, round(settings.batch_size * float(rows.work.mean()))),
            steps_an_epoch=len(self.train) / settings.batch_size,
            micro_batches=-(-settings.batch_size // self.micro_batch),
            validation_sample=SAMPLE,
            cpu_kernels=self.config.model_type in CPU_KERNELS,
            flags=FLAGS,
            places={
                "model": str(self.start.resolve()),
                "train": str(self.train.path.resolve()),
                **({"dev": str(self.dev.path.resolve())} if self.given_dev else {}),
            },
            facts={
                "task": "several labels a text" if self.several else "one label a text",
                "labels": f"{len(self.labels):,}",
                "model": f"{self.start}, {settings.start}",
                "data": f"{self.train.path}: {examples}",
            },
            uses=USES if self.train.fields.pair is None else ("unmask predict RUN PAIRS.jsonl",),
            example=example_text(self.dev),
        )


def example_text(examples: LabelledExamples) -> str:
    """A short text to try the model on."""
    return min((example.text for example in examples.examples), key=lambda text: abs(len(text) - 60))


def say_what_is_learnt(classifying: Classifying) -> None:
    """Lines before the training: which fields, how many labels, what was left out, how much is held out."""
    train, dev, fields = classifying.train, classifying.dev, classifying.train.fields
    texts = f"text {fields.text!r}" + (f" with {fields.pair!r}" if fields.pair else "")
    kind = "any number of" if classifying.several else "one of"
    count = f"{len(train):,} to learn from, each with {kind} {len(classifying.labels):,} labels"
    say(f"{train.path}: {texts}, label {fields.label!r}; {count}")
    for examples in (train, dev) if classifying.given_dev else (train,):
        if examples.empty:
            say(f"[yellow]{examples.path}: {examples.empty:,} lines without text are left out[/]")
    if not classifying.given_dev:
        way = f"whole groups of {fields.group!r}" if fields.group else "of each label"
        say(f"no --dev: {len(dev):,} of the examples are held out, every tenth, {way}")
    if classifying.objective.weights is not None:
        say("labels are uneven: rare ones weigh more, with one over the root of their frequency")
    long = int((classifying.batches.rows.windows > 1).sum())
    if long:
        say(f"{long:,} texts are longer than {classifying.reader.length:,} tokens: read in windows, none is cut")
    if start_labels(classifying.start):
        same = start_labels(classifying.start) == classifying.labels
        say(f"{classifying.start} is tuned already: its head {'goes on' if same else 'is drawn anew for other labels'}")


def classifying_of(
    path: Path, settings: TuneSettings, train: LabelledExamples, dev: LabelledExamples | None
) -> Classifying:
    """What is to be learnt, with a part of the examples held out where no others are given."""
    start = model_directory(path)
    if dev is not None:
        return Classifying(start, train, dev, settings)
    learnt, held_out = hold_out(train, settings.seed)
    if not len(held_out):
        raise BadInput(f"{train.path}: too few examples of each label to hold some out; give --dev")
    return replace(Classifying(start, learnt, held_out, settings), given_dev=False)
