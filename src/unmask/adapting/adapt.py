"""From a trained model and domain text to a model of the domain, within a budget of forgetting: adaptation as a job.

In: a model directory, data of the domain and, where there is some, general data. Out: a run directory with a model that
transformers loads: the mixture of the weights before and after that is best in the domain and forgets no more than may
be forgotten. `adapted.json` has what was measured.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from torch.nn import Module
from transformers import PreTrainedModel

from unmask.adapting.card import adapted_card
from unmask.adapting.ending import WatchedValidation
from unmask.adapting.mixtures import best_mixture, measure_mixtures, put_mixture, weights_of
from unmask.adapting.replay import ReplayedBatches, ReplayFeed
from unmask.adapting.settings import AdaptSettings, adapt_lr, adapt_optimizing
from unmask.adapting.start import block_length, check_tokenizer, start_masked_lm
from unmask.adapting.validation import ACCURACY, GENERAL, LOSS, PERPLEXITY, SAMPLE, AdaptValidation
from unmask.corruption.schedule import parse_schedule
from unmask.errors import BadInput
from unmask.files import sha256_of, write_json
from unmask.models.families.architectures import architecture
from unmask.models.kernels import CPU_KERNELS
from unmask.objectives.mlm import MLM
from unmask.objectives.text import Export
from unmask.pretraining.batches import MaskedBatches
from unmask.pretraining.card import WEIGHTS, export_model
from unmask.progress import say
from unmask.results import Adapted, Mixture
from unmask.runs.commands import next_commands
from unmask.tasks.start import weights_digest
from unmask.tokens.example import NEUTRAL, example_blank
from unmask.tokens.store.dataset import Dataset
from unmask.training.job import FinishedRun, Job
from unmask.training.machine.distributed import ALONE
from unmask.training.timetable import Timetable

KIND, RESULT = "adapt", "adapted.json"
USES = ("unmask fill RUN EXAMPLE", "unmask evaluate RUN DATA", "unmask tune classify RUN TRAIN --out tuned")
FLAGS = {
    **{
        f"adapting.{name}": f"--{name.replace('_', '-')}"
        for name in (
            "policy",
            "rate",
            "length",
            "batch_size",
            "micro_batch",
            "lr",
            "replay_share",
            "forget",
            "whole_budget",
        )
    },
    "model": "the model that it starts from",
    "data": "the domain's data",
    "replay": "--replay",
}
FEW_TOKENS = 10_000  # of held-out domain text, below which its loss tells little


@dataclass(frozen=True)
class Adapting:
    """A model and the text that it is adapted to: what the settings say, read once."""

    start: Path  # the model directory
    domain: Dataset
    general: Dataset | None
    settings: AdaptSettings
    seed: int = 0

    def check(self) -> None:
        """Refuse what cannot be adapted, before anything is written."""
        for dataset in (self.domain, *(() if self.general is None else (self.general,))):
            check_tokenizer(self.start, dataset)
        if self.settings.forget is not None and self.general is None:
            raise BadInput("--forget: what is forgotten shows on general text only; give some by --replay DATA")
        masking = parse_schedule(self.settings.policy, self.settings.rate)
        if unfit := masking.policies_without(MLM().learns_from):
            raise BadInput(f"--policy {unfit[0]}: a masked language model learns from what is hidden in place")

    @cached_property
    def length(self) -> int:
        """Tokens in a block."""
        return block_length(self.start, self.learner(), self.settings.length)

    @cached_property
    def lr(self) -> float:
        """The learning rate at its height."""
        return self.settings.lr or adapt_lr(self.learner().config.get_text_config().hidden_size)

    def learner(self, *, fresh: bool = True) -> PreTrainedModel:
        """The model as it is in its directory."""
        model = start_masked_lm(self.start)
        model.train()
        return model

    def batches_of(self, dataset: Dataset, packs: bool) -> MaskedBatches:
        """Blocks of some text with something hidden."""
        return MaskedBatches(
            stream=dataset.split("train"),
            vocabulary=dataset.vocabulary,
            masking=parse_schedule(self.settings.policy, self.settings.rate),
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
        packs = architecture(self.learner().config.model_type).packs
        general = None if self.general is None else self.batches_of(self.general, packs)
        return ReplayedBatches(domain=self.batches_of(self.domain, packs), general=general)

    def feed(self, timetable: Timetable) -> ReplayFeed:
        """What each step learns from."""
        return ReplayFeed(
            preparer=self.preparer,
            objective=MLM(),
            timetable=timetable,
            batch_size=self.settings.batch_size,
            micro_batch=self.micro_batch,
            share=0.0 if self.general is None else self.settings.replay_share,
            seed=self.seed,
        )

    @cached_property
    def held_out(self) -> AdaptValidation:
        """What is measured on."""
        return AdaptValidation.of(self.domain, self.general, self.length)

    def validation(self, learner: Module) -> AdaptValidation | WatchedValidation:
        """How a learner is measured; unless the whole budget is asked for, what it finds can end the run."""
        return self.held_out if self.settings.whole_budget else WatchedValidation(self.held_out, self.settings.forget)

    def say_what_is_learnt(self) -> None:
        """Lines before the training: how much text, and what cannot be seen."""
        tokens = self.domain.manifest["tokens"]["train"]
        say(f"{self.domain.path}: {tokens:,} tokens of the domain, in blocks of {self.length}; lr {self.lr:.1e}")
        if self.general is None:
            say("[yellow]no --replay: what the model forgets of general language cannot be seen, and is not limited[/]")
        else:
            say(f"{self.general.path}: {self.settings.replay_share:.0%} of the blocks are general text")
        if self.held_out.domain.tokens < FEW_TOKENS:
            tokens = self.held_out.domain.tokens
            say(f"[yellow]only {tokens:,} tokens of the domain are held out: its loss is known roughly[/]")

    def job(self) -> Job:
        """The job that the loop runs."""
        settings, domain = self.settings, self.preparer.domain
        if not len(domain.pieces.starts):
            raise BadInput(f"{self.domain.path}: has no tokens to train on; prepare it from more text")
        feed = self.feed(Timetable(1))
        recorded = {**asdict(settings), "lr": self.lr, "length": self.length}
        general = {} if self.general is None else {"replay": str(self.general.path.resolve())}
        return Job(
            kind=KIND,
            name="adapt",
            seed=self.seed,
            settings={
                "adapting": recorded,
                "model": weights_digest(self.start),
                "data": self.domain.fingerprint,
                "replay": None if self.general is None else self.general.fingerprint,
            },
            figures=(LOSS, *(() if self.general is None else (GENERAL,)), ACCURACY, PERPLEXITY),
            build=self.learner,
            source=self.feed,
            validation=self.validation,
            export=self.export,
            optimizing=adapt_optimizing(self.lr),
            tokens_a_step=settings.batch_size * self.length,
            steps_an_epoch=domain.per_epoch / settings.batch_size / (1 - feed.share),
            micro_batches=feed.micro_batches,
            validation_sample=SAMPLE,
            cpu_kernels=self.learner().config.model_type in CPU_KERNELS,
            flags=FLAGS,
            places={"model": str(self.start.resolve()), "data": str(self.domain.path.resolve()), **general},
            facts={
                "model": str(self.start),
                "data": str(self.domain.path),
                **({} if self.general is None else {"general text": str(self.general.path)}),
                "forgetting": "not limited" if settings.forget is None else f"at most {settings.forget} nats",
            },
            uses=USES,
            example=example_blank(self.domain.path) or NEUTRAL,
        )

    def export(self, learner: Module, finished_run: FinishedRun) -> None:
        """Measure mixtures of before and after, and write the best that is within the budget of forgetting."""
        assert isinstance(learner, PreTrainedModel)
        start: Any = start_masked_lm(self.start)
        start.to(learner.device)
        before, figures = weights_of(start), self.held_out.measure(start, None, ALONE)
        mixtures = measure_mixtures(learner, before, self.held_out)
        kept = best_mixture(mixtures, self.settings.forget)
        put_mixture(learner, before, weights_of(learner), kept.share)
        after = self.held_out.measure(learner, None, ALONE)
        result = {
            "before": figures,
            "after": after,
            "mixtures": [asdict(mixture) for mixture in mixtures],
            "kept": kept.share,
            "why": why_kept(kept, mixtures, self.settings.forget, figures, after),
            "ended": None if finished_run.ended is None else why_ended(finished_run),
        }
        card = adapted_card(self.start, self.domain, finished_run, result)
        export_model(Export(learner), self.domain, finished_run.path / "model", card, length=self.length)
        write_json(finished_run.path / RESULT, result)


def why_ended(finished_run: FinishedRun) -> str:
    """Why a run ended before its budget did, in a sentence."""
    return f"ended after {finished_run.steps:,} of {finished_run.description['steps']:,} steps: {finished_run.ended}"


def why_kept(
    kept: Mixture, mixtures: list[Mixture], forget: float | None, before: dict[str, float], after: dict[str, float]
) -> str:
    """What is kept and why, in a sentence."""
    if kept.share == 0:
        within = "" if forget is None else f" and forgets at most {forget}"
        return f"kept the model as it was: no mixture does better in the domain{within}"
    gain = before["loss"] - after["loss"]
    said = f"kept {kept.share:.0%} of the way, which gains {gain:.3f} nats in the domain"
    if "general_loss" not in after:
        return f"{said}; what it forgot is not known"
    rise = after["general_loss"] - before["general_loss"]
    said += f" and loses {rise:.3f} in general" if rise > 0 else f" and gains {-rise:.3f} in general"
    if forget is None or kept.share == min(mixtures, key=lambda mixture: mixture.loss).share:
        return said
    return f"{said}: further would forget more than {forget}"


def result_of(adapting: Adapting, run: FinishedRun) -> Adapted:
    """What came of an adaptation that is finished."""
    found: dict[str, Any] = json.loads((run.path / RESULT).read_text(encoding="utf-8"))
    return Adapted(
        path=run.path,
        model=run.path / "model",
        start=adapting.start,
        parameters=run.parameters,
        lr=adapting.lr,
        steps=run.steps,
        tokens=run.tokens,
        seconds=run.seconds,
        precision=run.description["computing"]["precision"],
        before=found["before"],
        after=found["after"],
        forget=adapting.settings.forget,
        mixtures=tuple(Mixture(**mixture) for mixture in found["mixtures"]),
        kept=found["kept"],
        why=found["why"],
        ended=found["ended"],
        next=next_commands(run.path, run.description, "finished"),
        weights_sha256=sha256_of(run.path / "model" / WEIGHTS),
    )
