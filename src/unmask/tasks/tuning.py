"""What the tunings of all tasks have in common: a start, settings, and the job that the loop runs.

In: a model directory and settings. Out: a `Job`, from what the task says of its examples, objective and measurements.
Resume, signals, many processes, precision, budgets and the best moment are the loop's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch.nn import Module
from transformers import PreTrainedConfig, PreTrainedModel

from unmask.models.load import check_vocabulary
from unmask.models.masked_lm import length_of
from unmask.objectives.objective import AnyObjective
from unmask.results import FigureTitle
from unmask.tasks.feed import ExampleBatches, ExampleFeed
from unmask.tasks.lora import FASTER, add_adapters, check_peft, merged
from unmask.tasks.rows import RowReader, row_length
from unmask.tasks.settings import LAYER_DECAY, SCRATCH, TuneSettings, epochs_for, lr_for
from unmask.tasks.splitting import fold_places, parted
from unmask.tasks.start import HeadKind, draw_model, start_model, weights_digest
from unmask.tokens.tokenizer.load import load_tokenizer
from unmask.training.budget import Budget
from unmask.training.job import FinishedRun, Job, ValidationSample, Validator
from unmask.training.optimizer import Optimizing
from unmask.training.timetable import Timetable

FLAGS = {  # that the settings of a run are asked for by
    **{
        f"tuning.{name}": f"--{name.replace('_', '-')}"
        for name in ("start", "lr", "batch_size", "micro_batch", "length", "layer_decay", "lora", "sets")
    },
    **{f"fields.{name}": f"--{name}-field" for name in ("text", "pair", "label", "group")},
    "train": "the labelled examples",
    "dev": "--dev",
    "model": "the model that it starts from",
}
# Of what is held out, measured on the way: all eleven take about a third of the time of the steps at the most.
SAMPLE = ValidationSample(0.1, 32_768, 200_000)


class Tuning(ABC):
    """A task to be learnt: a model to start from, examples and settings."""

    task: ClassVar[str]  # its name on the command line
    head: ClassVar[HeadKind]
    flags: ClassVar[Mapping[str, str]] = FLAGS

    start: Path  # the model directory
    settings: TuneSettings
    train: Any  # the examples to learn from
    dev: Any  # those that choose the moment
    given_dev: bool  # else it is a part of the examples
    fold: str | None  # which part of the examples it leaves out to be judged by, if one of several

    @property
    @abstractmethod
    def config(self) -> PreTrainedConfig:
        """The configuration of the model to come."""

    @property
    @abstractmethod
    def batches(self) -> ExampleBatches:
        """The examples of every epoch."""

    @property
    @abstractmethod
    def objective(self) -> AnyObjective:
        """What is learnt."""

    @property
    @abstractmethod
    def held_out(self) -> Validator:
        """What is measured on."""

    @property
    @abstractmethod
    def figures(self) -> tuple[FigureTitle, ...]:
        """What is measured; the first chooses the best moment."""

    @property
    @abstractmethod
    def recorded(self) -> dict[str, Any]:
        """What the run is known by beside its settings and its start: fields, labels, digests of the examples."""

    @property
    def digests(self) -> dict[str, str | None]:
        """The SHA-256 of the examples; none of a dev that is a part of them."""
        return {"train": self.train.digest, "dev": self.dev.digest if self.given_dev else None}

    @property
    def places(self) -> dict[str, str]:
        """Where the examples are, by name."""
        given = {"train": self.train, **({"dev": self.dev} if self.given_dev else {})}
        return {name: str(examples.path.resolve()) for name, examples in given.items()}

    @property
    @abstractmethod
    def facts(self) -> dict[str, str]:
        """What people are told of the run."""

    @property
    @abstractmethod
    def uses(self) -> tuple[str, ...]:
        """Commands and code that use the model; EXAMPLE in them is the example."""

    @property
    @abstractmethod
    def example(self) -> str:
        """A short text to try the model on."""

    @abstractmethod
    def exporter(self) -> Callable[..., None]:
        """What writes the model."""

    @abstractmethod
    def say_what_is_learnt(self) -> None:
        """Lines before the training: what was read, and what was left out."""

    def folds(self, count: int) -> list[tuple[Tuning, Any]]:
        """So many tunings, each on all examples but a part, and that part; together the parts are all examples."""
        everyone = self.train
        if not self.given_dev:
            everyone = replace(self.train, examples=self.train.examples + self.dev.examples)
        tunings: list[tuple[Tuning, Any]] = []
        for number, places in enumerate(fold_places(self.groups_of(everyone), count, self.settings.seed), start=1):
            rest, part = parted(everyone, places)
            learnt, dev = (rest, self.dev) if self.given_dev else self.hold_out(rest)
            tunings.append((self.on_fold(learnt, dev, f"{number}/{count}"), part))
        return tunings

    def groups_of(self, examples: Any) -> list[Hashable]:
        """What each example goes one way with: itself, or all of its group."""
        return [place if each.group is None else f"group {each.group}" for place, each in enumerate(examples.examples)]

    @abstractmethod
    def hold_out(self, examples: Any) -> tuple[Any, Any]:
        """The examples to learn from, and a part that is held out to choose the best moment."""

    def on_fold(self, train: Any, dev: Any, fold: str) -> Tuning:
        """The same tuning on other examples."""
        changed: Tuning = replace(self, train=train, dev=dev, fold=fold)  # type: ignore[type-var]
        return changed

    def texts_of(self, examples: Any) -> list[str]:
        """The text of each example, by which leaks are found."""
        return [example.text for example in examples.examples]

    @property
    def labels(self) -> tuple[str, ...]:
        """What is told apart, where labels are."""
        return ()

    @property
    def several(self) -> bool:
        """Whether an example may have any number of labels."""
        return False

    @property
    def same_labels(self) -> bool:
        """Whether the model it starts from has a head for these very labels, which goes on."""
        return False

    @cached_property
    def reader(self) -> RowReader:
        """The tokenizer with the length of rows."""
        with torch.device("meta"):
            shape = self.head.auto.from_config(self.config)
        tokenizer = load_tokenizer(self.start)
        reader = RowReader(tokenizer, row_length(self.settings.length, length_of(shape, tokenizer)))
        check_vocabulary(self.start, self.config.get_text_config().vocab_size, reader.vocabulary)
        return reader

    @cached_property
    def lr(self) -> float:
        """The learning rate at its height."""
        width = self.config.get_text_config().hidden_size
        return self.settings.lr or lr_for(width) * (1.0 if self.settings.lora is None else FASTER)

    @property
    def layer_decay(self) -> float:
        """How much slower lower layers learn; fresh weights, and what LoRA adds, all learn alike."""
        if self.settings.layer_decay is not None:
            return self.settings.layer_decay
        return 1.0 if self.settings.start == SCRATCH or self.settings.lora else LAYER_DECAY

    @property
    def micro_batch(self) -> int:
        """Examples in a micro-batch."""
        return min(self.settings.micro_batch or self.settings.batch_size, self.settings.batch_size)

    def feed(self, timetable: Timetable) -> ExampleFeed:
        """What each step learns from."""
        return ExampleFeed(
            preparer=self.batches, objective=self.objective, micro_batch=self.micro_batch, timetable=timetable
        )

    def learner(self, *, fresh: bool = True) -> PreTrainedModel:
        """The model before its first step: the weights it starts from, and a head that is drawn from the seed."""
        seed, rank = self.settings.seed, self.settings.lora
        if fresh and self.settings.start != SCRATCH:
            model = start_model(self.head, self.start, self.config, seed, same_labels=self.same_labels)
        else:
            model = draw_model(self.head, self.config, seed)
        return model if rank is None else add_adapters(model, rank, seed)

    def export(self, learner: Module, finished_run: FinishedRun) -> None:
        """Write the model; adapters are added to its matrices first."""
        assert isinstance(learner, PreTrainedModel)
        self.exporter()(learner if self.settings.lora is None else merged(learner), finished_run)

    def validation(self, learner: Module) -> Validator:
        """How a learner is measured."""
        return self.held_out

    def budget(self) -> Budget:
        """How long to train where nobody says."""
        return Budget(epochs=epochs_for(self.batches.order.per_epoch, self.settings.batch_size))

    def optimizing(self) -> Optimizing:
        """AdamW on every weight, slower in lower layers; the rate rises for a tenth of the steps and ends at 0."""
        return Optimizing(
            muon_lr=0.0,
            adamw_lr=self.lr,
            betas=(0.9, 0.98),
            weight_decay=1e-5,
            clip=1.0,
            warmup=0.1,
            decay=0.6,
            layer_decay=self.layer_decay,
        )

    def job(self) -> Job:
        """The job that the loop runs."""
        if self.settings.lora is not None:
            check_peft()
        settings, order = self.settings, self.batches.order
        tuning = {**asdict(settings), "lr": self.lr, "length": self.reader.length, "micro_batch": self.micro_batch}
        tuning["layer_decay"] = self.layer_decay
        tuning.pop("seed")
        return Job(
            kind=f"tune {self.task}",
            name=self.task,
            seed=settings.seed,
            settings={"tuning": tuning, "model": weights_digest(self.start), **self.recorded},
            figures=self.figures,
            build=self.learner,
            source=self.feed,
            validation=self.validation,
            export=self.export,
            optimizing=self.optimizing(),
            tokens_a_step=max(1, round(settings.batch_size * float(order.work.mean()))),
            steps_an_epoch=order.per_epoch / settings.batch_size,
            micro_batches=-(-settings.batch_size // self.micro_batch),
            sample=SAMPLE,
            flags=dict(self.flags),
            places={"model": str(self.start.resolve()), **self.places},
            facts=self.facts,
            uses=self.uses,
            example=self.example,
        )
