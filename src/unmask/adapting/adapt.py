"""From a trained model and domain text to a model of the domain, within a budget of forgetting: adaptation as a job.

In: a model directory, data of the domain and, where there is some, general data. Out: a run directory with a model that
transformers loads: the mixture of the weights before and after that is best in the domain and forgets no more than may
be forgotten. `adapted.json` has what was measured.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from torch.nn import Module

from unmask.adapting.ending import WatchedValidation
from unmask.adapting.fitting import Fitting
from unmask.adapting.outcome import write_outcome
from unmask.adapting.replay import ReplayedBatches, ReplayFeed
from unmask.adapting.settings import AdaptSettings, adapt_lr, adapt_optimizing
from unmask.adapting.start import AdaptStart, block_length
from unmask.adapting.strangeness import strange_text
from unmask.adapting.validation import ACCURACY, GENERAL, LOSS, PERPLEXITY, SAMPLE, AdaptValidation
from unmask.errors import BadInput
from unmask.inference.sentence_layout import is_tuned
from unmask.models.families.architectures import architecture
from unmask.models.masked_lm import length_of
from unmask.objectives.curriculum import Curriculum
from unmask.pretraining.batches import MaskedBatches
from unmask.pretraining.card import export_shape
from unmask.progress import say
from unmask.tasks.start import weights_digest
from unmask.tokens.example import NEUTRAL, example_blank
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.load import load_tokenizer
from unmask.training.job import FinishedRun, Job, ValidationSample
from unmask.training.timetable import Timetable

KIND = "adapt"
USES = ("unmask fill RUN EXAMPLE", "unmask evaluate RUN DATA", "unmask tune classify RUN TRAIN --out tuned")
NAMED = (
    *("objective", "policy", "rate", "length", "batch_size", "micro_batch", "lr", "replay_share", "forget"),
    *("whole_budget", "extend", "warm_steps", "task_epochs", "similarity"),
)
FLAGS = {
    **{f"adapting.{name}": f"--{name.replace('_', '-')}" for name in NAMED},
    "model": "the model that it starts from",
    "data": "the domain's data",
    "replay": "--replay",
}
FEWEST_HELD_OUT = 2  # documents: one alone tells no interval
FEW_TOKENS = 10_000  # of held-out domain text, below which its loss tells little


@dataclass(frozen=True)
class Shape:
    """What is known of a model before it is trained."""

    model_type: str
    width: int
    longest: int  # tokens in a row
    length: int  # tokens in a block


@dataclass(frozen=True)
class Adapting:
    """A model and the text that it is adapted to: what the settings say, read once."""

    start: AdaptStart
    settings: AdaptSettings
    seed: int = 0

    @cached_property
    def fitting(self) -> Fitting:
        """What the model learns."""
        return Fitting(self.start, self.settings, self.seed)

    @property
    def curriculum(self) -> Curriculum:
        """What is learnt when."""
        return self.fitting.curriculum

    def check(self) -> None:
        """Refuse what cannot be adapted, before anything is written."""
        if self.settings.forget is not None and self.start.general is None:
            raise BadInput("--forget: what is forgotten shows on general text only; give some by --replay DATA")
        for dataset in (self.start.data, *(() if self.start.replay is None else (self.start.replay,))):
            if (count := dataset.split("valid").documents) < FEWEST_HELD_OUT:
                raise BadInput(
                    f"{dataset.path}: {count} of its {dataset.manifest['counts']['train'] + count} documents are held "
                    f"out, and differences are known from {FEWEST_HELD_OUT} on; prepare it from more text, or with "
                    "a larger --valid"
                )
        self.fitting.check()

    @cached_property
    def shape(self) -> Shape:
        """What is known of the model; it is loaded once for this."""
        model = self.fitting.build()
        length = block_length(self.start.model, model, self.settings.length)
        longest = length_of(model, load_tokenizer(self.start.model)) or length
        width = model.config.get_text_config().hidden_size
        return Shape(model.config.model_type, width, longest, length)

    @property
    def length(self) -> int:
        """Tokens in a block."""
        return self.shape.length

    @property
    def lr(self) -> float:
        """The learning rate at its height."""
        return self.settings.lr or adapt_lr(self.shape.width)

    def learner(self, *, fresh: bool = True) -> Module:
        """The model as it is in its directory, or as it was before its learning rate fell, where that was kept."""
        return self.fitting.stable_learner()

    def batches_of(self, dataset: Dataset, packs: bool) -> MaskedBatches:
        """Blocks of some text with something hidden."""
        return MaskedBatches(
            stream=dataset.split("train"),
            vocabulary=dataset.vocabulary,
            masking=self.fitting.masking,
            length=self.length,
            batch_size=self.settings.batch_size,
            micro_batch=self.micro_batch,
            seed=self.seed,
            packs=packs,
        )

    @property
    def micro_batch(self) -> int:
        """Blocks in a micro-batch."""
        return min(self.settings.micro_batch, self.settings.batch_size)

    @cached_property
    def preparer(self) -> ReplayedBatches:
        """The blocks of both texts; several documents share one where the model can keep them apart."""
        packs = architecture(self.shape.model_type).packs
        general = None if self.start.general is None else self.batches_of(self.start.general, packs)
        return ReplayedBatches(domain=self.batches_of(self.start.domain, packs), general=general)

    def feed(self, timetable: Timetable) -> ReplayFeed:
        """What each step learns from."""
        return ReplayFeed(
            preparer=self.preparer,
            curriculum=self.curriculum,
            timetable=timetable,
            batch_size=self.settings.batch_size,
            micro_batch=self.micro_batch,
            share=0.0 if self.start.general is None else self.settings.replay_share,
            seed=self.seed,
        )

    @cached_property
    def held_out(self) -> AdaptValidation:
        """What is measured on."""
        return AdaptValidation.of(self.start.domain, self.start.general, self.length, self.curriculum.main)

    def validation(self, learner: Module) -> AdaptValidation | WatchedValidation:
        """How a learner is measured; unless the whole budget is asked for, what it finds can end the run."""
        return self.held_out if self.settings.whole_budget else WatchedValidation(self.held_out, self.settings.forget)

    def say_what_is_learnt(self) -> None:
        """Lines before the training: how much text, and what cannot be seen."""
        domain, general = self.start.domain, self.start.general
        tokens = domain.manifest["tokens"]["train"]
        say(f"{self.start.data.path}: {tokens:,} tokens of the domain, in blocks of {self.length}; lr {self.lr:.1e}")
        if general is None:
            say("[yellow]no --replay: what the model forgets of general language cannot be seen, and is not limited[/]")
        else:
            given = general if self.start.replay is None else self.start.replay
            say(f"{given.path}: {self.settings.replay_share:.0%} of the blocks are general text")
        for line in strange_text(self.start):
            say(f"[yellow]{line}[/]")
        if self.start.moment is not None:
            say(f"{self.start.model}: goes on from the moment before its learning rate fell, {self.start.moment}")
        if is_tuned(self.start.model):
            say(f"[yellow]{self.start.model} was tuned for vectors of sentences: tuning comes after adapting[/]")
        if self.held_out.domain.tokens < FEW_TOKENS:
            tokens = self.held_out.domain.tokens
            say(f"[yellow]only {tokens:,} tokens of the domain are held out: its loss is known roughly[/]")

    def write_shape(self, learner: Module, out: Path) -> None:
        """Write what the masked model in a learner is like, for its checkpoints."""
        model = self.curriculum.main.masked_lm(learner)
        export_shape(model, self.start.domain, out, length=self.shape.longest)

    def job(self) -> Job:
        """The job that the loop runs."""
        settings, domain, start = self.settings, self.preparer.domain, self.start
        if not len(domain.pieces.starts):
            raise BadInput(f"{start.data.path}: has no tokens to train on; prepare it from more text")
        feed = self.feed(Timetable(1))
        replay = {} if start.replay is None else {"replay": str(start.replay.path.resolve())}
        return Job(
            kind=KIND,
            name="adapt",
            seed=self.seed,
            settings={
                "adapting": {**asdict(settings), "lr": self.lr, "length": self.length},
                "model": weights_digest(start.model),
                "data": start.data.fingerprint,
                "replay": None if start.replay is None else start.replay.fingerprint,
            },
            figures=(LOSS, *(() if start.general is None else (GENERAL,)), ACCURACY, PERPLEXITY),
            build=self.learner,
            source=self.feed,
            validation=self.validation,
            export=self.export,
            write_shape=self.write_shape,
            optimizing=adapt_optimizing(self.lr),
            tokens_a_step=settings.batch_size * self.length,
            steps_an_epoch=domain.per_epoch / settings.batch_size / (1 - feed.share),
            micro_batches=feed.micro_batches,
            sample=ValidationSample(0.0, SAMPLE, SAMPLE),
            flags=FLAGS,
            places={"model": str(start.model.resolve()), "data": str(start.data.path.resolve()), **replay},
            facts=self._facts(),
            uses=USES if self.curriculum.main.name != "replaced" else USES[-1:],
            example=example_blank(start.data.path) or NEUTRAL,
        )

    def _facts(self) -> dict[str, str]:
        """What is trained on what, for people."""
        start, forget = self.start, self.settings.forget
        words = {} if start.extension is None else {"new words": f"{start.extension.words:,}"}
        return {
            "model": str(start.model),
            **words,
            "data": str(start.data.path),
            **({} if start.replay is None else {"general text": str(start.replay.path)}),
            "objective": str(self.curriculum),
            "forgetting": "not limited" if forget is None else f"at most {forget} nats",
        }

    def export(self, learner: Module, finished_run: FinishedRun) -> None:
        """Measure mixtures of before and after, and write the best that is within the budget of forgetting."""
        write_outcome(
            self.start,
            self.fitting.learner(),
            learner,
            finished_run,
            self.held_out,
            settings=self.settings,
            longest=self.shape.longest,
            length=self.length,
        )
