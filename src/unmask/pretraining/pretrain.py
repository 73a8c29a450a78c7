"""From a data directory to a trained model: masked text as a job.

In: a data directory, a recipe and a budget. Out: a run directory with a model that transformers loads. What the
settings say is read once, in `Pretraining.of`: what is learnt, what is hidden, what is marked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import isfinite, nan
from pathlib import Path
from typing import Any

import torch
from torch.nn import Module
from transformers import PreTrainedModel

from unmask.corruption.policy import policies_with
from unmask.corruption.schedule import MaskingSchedule, parse_schedule
from unmask.errors import BadInput
from unmask.files import sha256_of
from unmask.models.families.architectures import architecture
from unmask.models.families.family import FAMILIES, build_model
from unmask.objectives.curriculum import Curriculum, parse_curriculum
from unmask.objectives.text import FILL_MASK, TextObjective
from unmask.pretraining.batches import MaskedBatches
from unmask.pretraining.card import WEIGHTS, export_model, export_shape, model_card
from unmask.pretraining.feed import Feed
from unmask.pretraining.informed import InformedStart
from unmask.pretraining.settings import INITS, PretrainSettings, Recipe
from unmask.pretraining.validation import TITLES, MaskedValidation
from unmask.progress import say
from unmask.results import Trained
from unmask.runs.commands import next_commands
from unmask.tokens.example import NEUTRAL, example_blank
from unmask.tokens.sample import Sampling
from unmask.tokens.spans.lists import Marking, marking_for
from unmask.tokens.spans.phrases import read_phrases
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.sentinels import sentinels_for
from unmask.training.budget import Budget
from unmask.training.job import FinishedRun, Job
from unmask.training.machine.computing import PLAIN, Computing
from unmask.training.observer import Saving
from unmask.training.run_job import run_job
from unmask.training.timetable import Timetable

Tell = Callable[[Path, Dataset, float], None]
USES = (
    "unmask fill RUN EXAMPLE",
    "unmask evaluate RUN DATA",
    "from transformers import pipeline\n\nfill = pipeline('fill-mask', model=MODEL)\n"
    "fill(EXAMPLE.replace('[MASK]', fill.tokenizer.mask_token))",
)
WRITING = "text-generation"  # of models that write from left to right
CHOICES = ("objective", "policy", "rate", "static_masks", "init", "length", "batch_size", "micro_batch", "skip_spikes")
FLAGS = {  # that the settings of a run are asked for by
    **dict.fromkeys(("name", "recipe.name", "recipe.family", "recipe.size"), "--recipe"),
    **{f"recipe.settings.{name}": f"--{name.replace('_', '-')}" for name in CHOICES},
    "phrases": "--phrases, or a list in the data",
}


@dataclass(frozen=True)
class Pretraining:
    """A recipe on some data: what its settings say, read once."""

    recipe: Recipe
    dataset: Dataset  # its tokenizer with sentinels, where the policy needs them
    seed: int
    curriculum: Curriculum
    masking: MaskingSchedule | None
    marking: Marking = field(default_factory=Marking)  # what is hidden whole
    sampling: Sampling | None = None  # languages more alike in size than the text has them, or sources in a mixture

    @classmethod
    def of(cls, dataset: Dataset, recipe: Recipe, seed: int = 0) -> Pretraining:
        """Read the settings; what cannot be trained is told here."""
        settings = recipe.settings
        curriculum = parse_curriculum(settings.objective)
        masking = masking_for(settings, curriculum)
        if masking is not None and masking.needs_sentinels:
            dataset = dataset.with_sentinels(sentinels_for(masking, settings.lengths.longest))
        sampling = _sampling(dataset, settings.smoothing)
        phrases = () if settings.phrases is None else read_phrases(settings.phrases)
        marking = marking_for(dataset, masking, "train", phrases)
        return cls(recipe, dataset, seed, curriculum, masking, marking, sampling)

    @property
    def objective(self) -> TextObjective[Any]:
        """What the training is for in the end."""
        return self.curriculum.main

    def batches(self) -> MaskedBatches:
        """The blocks of every epoch, with something hidden."""
        settings, dataset = self.recipe.settings, self.dataset
        return MaskedBatches(
            stream=dataset.split("train"),
            vocabulary=dataset.vocabulary,
            masking=self.masking,
            length=settings.lengths.first,
            batch_size=settings.batch_size,
            micro_batch=min(settings.micro_batch, settings.batch_size),
            seed=self.seed,
            marks=self.marking.lexicons,
            spans=self.marking.spans,
            redraw=not settings.static_masks,
            packs=FAMILIES[self.recipe.family].packs,
            sampling=self.sampling,
        )

    def feed(self, timetable: Timetable) -> Feed:
        """What each step of a run learns from."""
        lengths = self.recipe.settings.lengths
        return Feed(preparer=self.batches(), curriculum=self.curriculum, timetable=timetable, lengths=lengths)

    def learner(self, *, fresh: bool = True) -> Module:
        """What the objective trains, as it is before the first step: a function of the text and the seed.

        One that is not to be fresh, because its weights will be taken from elsewhere, is not told of the text.
        """
        settings, vocabulary = self.recipe.settings, self.dataset.vocabulary
        usual = {"family": self.recipe.family, "size": self.recipe.size, "dropout": settings.dropout}
        informed = InformedStart(INITS[settings.init], self.dataset, self.seed)

        def build(**overrides: Any) -> PreTrainedModel:
            made = {**usual, **overrides}
            model = build_model(vocabulary=vocabulary, length=settings.lengths.longest, seed=self.seed, **made)
            if fresh:
                informed.begin(model)
            return model

        with torch.random.fork_rng():
            torch.manual_seed(self.seed)  # of what the objective adds to the model
            learner: Module = self.objective.learner(build)
        if fresh:
            informed.set_frequencies(learner)
        return learner

    def validation(self, learner: Module) -> MaskedValidation:
        """How a learner is measured."""
        return MaskedValidation.of(self.objective, self.dataset, self.recipe.settings.lengths.longest, learner)

    def write_shape(self, learner: Module, out: Path) -> None:
        """Write what the masked model in a learner is like, for its checkpoints."""
        length = self.recipe.settings.lengths.longest
        export_shape(self.objective.masked_lm(learner), self.dataset, out, length=length)

    def job(self) -> Job:
        """The job that the loop runs."""
        recipe, settings, feed = self.recipe, self.recipe.settings, self.feed(Timetable(1))
        if not len(feed.preparer.pieces.starts):
            raise BadInput(f"{self.dataset.path}: has no tokens to train on; prepare it from more text")
        counts = self.dataset.manifest["counts"]["train"], self.dataset.manifest["tokens"]["train"]
        kind = self.dataset.manifest["settings"]["tokenizer"]
        masked = {"policy": settings.policy, "rate": settings.rate}
        return Job(
            kind="pretrain",
            name=recipe.name,
            seed=self.seed,
            settings={
                "recipe": asdict(recipe),
                "data": self.dataset.fingerprint,
                "phrases": self.marking.digest,
            },
            figures=TITLES,
            build=self.learner,
            source=self.feed,
            validation=self.validation,
            export=partial(export, self),
            write_shape=self.write_shape,
            optimizing=settings.optimizing,
            tokens_a_step=settings.tokens_a_step,
            steps_an_epoch=feed.preparer.per_epoch / settings.batch_size,
            micro_batches=feed.micro_batches,
            stage_ends=settings.lengths.ends,
            skip_spikes=settings.skip_spikes,
            flags=FLAGS,
            places={"data": str(self.dataset.path.resolve())},
            facts={
                "model": f"{recipe.family}, {recipe.size}",
                "data": "{}: {:,} documents, {:,} tokens".format(self.dataset.path, *counts),
                "data fingerprint": self.dataset.fingerprint,
                "tokenizer": f"{kind}, {self.dataset.vocabulary.size:,} tokens",
                "objective": settings.objective,
                **{name: value for name, value in masked.items() if value is not None},
                "a step": settings.lengths.describe(settings.batch_size),
            },
            uses=uses_of(self.objective, recipe.family),
        )


def masking_for(settings: PretrainSettings, curriculum: Curriculum) -> MaskingSchedule | None:
    """What is hidden, if it fits whatever learns from it."""
    learning = [objective for objective in curriculum.objectives if objective.hides]
    if settings.policy is None:
        for objective in learning:
            fitting = ", ".join(policies_with(objective.learns_from))
            raise BadInput(f"the objective {objective.name} needs a --policy: {fitting}")
        return None
    masking = parse_schedule(settings.policy, settings.rate, redraw=not settings.static_masks)
    if not learning:
        name = curriculum.main.name
        raise BadInput(f"--policy {settings.policy}: the objective {name} takes text as it is; leave --policy out")
    for objective in learning:
        if unfit := masking.policies_without(objective.learns_from):
            fitting = ", ".join(policies_with(objective.learns_from))
            raise BadInput(f"--policy {unfit[0]}: the objective {objective.name} learns from what {fitting} hide")
    return masking


def fills_blanks(objective: TextObjective[Any]) -> bool:
    """Whether the model that an objective exports is one that fills blanks."""
    return objective.card.pipeline == FILL_MASK.pipeline


def uses_of(objective: TextObjective[Any], family: str) -> tuple[str, ...]:
    """What a finished run is for: commands, and Python.

    One that learned from left to right writes where its architecture looks to the left alone by itself.
    """
    writes = objective.card.pipeline != WRITING or architecture(family).left_to_right
    return (*(objective.uses if writes else ()), *(USES if fills_blanks(objective) else ()))


def pretrain(
    data: Path,
    out: Path,
    recipe: Recipe,
    budget: Budget,
    *,
    seed: int = 0,
    resume: bool = False,
    saving: Saving | None = None,
    reproducible: bool = False,
    computing: Computing = PLAIN,
    workers: int | None = None,
    again: str | None = None,
    tell: Tell | None = None,
) -> Trained:
    """Train a recipe on a data directory, or go on with a run that was stopped; `again` is the command that goes on.

    `tell` adds to what the report says: it is given the run with its model, its data and the seconds of its training.
    """
    dataset = Dataset.open(data)
    pretraining = Pretraining.of(dataset, recipe, seed)
    say_what_is_unusual(pretraining)
    fills, job = fills_blanks(pretraining.objective), pretraining.job()
    shown = any("EXAMPLE" in use for use in job.uses)
    if tell is not None and (saving or Saving()).report:
        job = replace(job, export=partial(_export_and_tell, job.export, tell, dataset))
    finished_run = run_job(
        replace(job, example=(example_blank(data) or NEUTRAL) if shown else None),
        out,
        budget,
        resume=resume,
        saving=saving,
        reproducible=reproducible,
        computing=computing,
        workers=workers,
        again=again,
    )
    figures = dict(finished_run.figures)
    loss, accuracy = (figures.pop(name, nan) for name in ("loss", "accuracy"))  # what is not finite is not recorded
    for name in ("perplexity", "predictions"):
        figures.pop(name, None)
    return Trained(
        path=finished_run.path,
        model=finished_run.path / "model",
        recipe=recipe.name,
        parameters=finished_run.parameters,
        steps=finished_run.steps,
        tokens=finished_run.tokens,
        seconds=finished_run.seconds,
        loss=loss,
        accuracy=accuracy,
        precision=finished_run.description["computing"]["precision"],
        figures={name: value for name, value in figures.items() if isfinite(value)},
        fills=fills,
        next=next_commands(finished_run.path, finished_run.description, "finished"),
        weights_sha256=sha256_of(finished_run.path / "model" / WEIGHTS),
    )


def _export_and_tell(
    export: Callable[[Module, FinishedRun], None], tell: Tell, dataset: Dataset, learner: Module, finished: FinishedRun
) -> None:
    """Write the model, then what is told of it."""
    export(learner, finished)
    tell(finished.path, dataset, finished.seconds)


def _sampling(dataset: Dataset, smoothing: float | None) -> Sampling | None:
    """Languages as a recipe smooths them, or sources in the proportions that the data was prepared with."""
    if smoothing is not None:
        return Sampling(dataset.languages("train"), smoothing)
    mix = dataset.mix()
    return None if mix is None else Sampling(mix[0], weights=mix[1])


def say_what_is_unusual(pretraining: Pretraining) -> None:
    """A line each: another tokenizer than was published, languages that are one, what is hidden whole by lists."""
    dataset, family = pretraining.dataset, pretraining.recipe.family
    published, kind = FAMILIES[family].tokenizer, dataset.tokenizer_kind()
    if published is not None and kind != published:
        say(
            f"[yellow]{family} was published with a {published} tokenizer, and {dataset.path} has a {kind} one: "
            f"for the published method, prepare with --tokenizer {published}[/]"
        )
    if pretraining.recipe.settings.smoothing is not None and len(names := dataset.manifest["languages"]) == 1:
        say(
            f"[yellow]{dataset.path} has one language, {names[0]}: there is nothing to sample; "
            "for one language there is --recipe roberta[/]"
        )
    for line in pretraining.marking.lines:
        say(line)


def export(pretraining: Pretraining, learner: Module, finished_run: FinishedRun) -> None:
    """Write the model directories of a run, each with its card."""
    dataset, objective, recipe = pretraining.dataset, pretraining.objective, pretraining.recipe
    epochs = finished_run.steps / (pretraining.batches().per_epoch / recipe.settings.batch_size)
    fixed_masks = objective.masked_lm(learner) is not None
    for name, model in objective.exports(learner).items():
        says = model.card or objective.card
        card = model_card(
            says, recipe, dataset, finished_run, objective=objective.name, epochs=epochs, fixed_masks=fixed_masks
        )
        length = recipe.settings.lengths.trained(finished_run.progress)
        export_model(model, dataset, finished_run.path / name, card, length=length)
