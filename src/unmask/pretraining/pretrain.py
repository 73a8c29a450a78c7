"""From a data directory to a trained model: the run, its budget, its checkpoints, its export.

In: a data directory, a recipe and a budget. Out: a run directory with a model that transformers loads.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import exp, isfinite
from pathlib import Path
from typing import Any

import torch

from unmask import __version__
from unmask.errors import BadInput
from unmask.files import digest, sha256_of
from unmask.models.families.family import FAMILIES
from unmask.objectives.objective import FILL_MASK
from unmask.pretraining import card as export
from unmask.progress import Step, say, task
from unmask.results import Trained
from unmask.runs import tensorboard as events
from unmask.runs.directory import FORMAT, Run, describe, opened, read_description
from unmask.runs.reporting import Reporter, chronicled
from unmask.tokens.spans.phrases import read_phrases
from unmask.tokens.store.dataset import Dataset
from unmask.training import checkpoint, loop
from unmask.training.budget import Budget, steps_for
from unmask.training.interrupt import Interruption, interruptible
from unmask.training.loop import Measured, Position
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.computing import PLAIN, Computing, device_for, made_ready
from unmask.training.machine.distributed import World, joined
from unmask.training.session import VALIDATIONS, Recipe, Work, fresh

LOGGED = 1000  # steps logged over a run; where it has fewer, every one
CALIBRATED_STEPS = 1000  # what a calibration takes the run to be: its rates matter little


@dataclass(frozen=True, kw_only=True)
class Saving:
    """How often the run is saved, and what else is written of it; nothing of what is trained changes with it."""

    seconds: float = 120.0
    keep: int = 2
    report: bool = True  # plot.png and report.html
    tensorboard: bool = False


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
) -> Trained:
    """Train a recipe on a data directory, or go on with a run that was stopped."""
    begun = time.perf_counter()
    device = device_for(computing.device)
    if workers is None:
        workers = 2 if device.type == "cuda" else 0  # see `training.loader`
    if workers < 0:
        raise BadInput(f"--workers {workers}: give 0 or more")
    saving = saving or Saving()
    if saving.tensorboard:
        events.check()
    dataset = Dataset.open(data)
    if not budget.given and not resume:
        raise BadInput("how long? give --minutes, --steps or --tokens")
    packs = FAMILIES[recipe.family].packs
    # what cannot be trained leaves nothing behind
    feed = loop.feed_of(recipe.training, dataset, CALIBRATED_STEPS, seed, packs=packs)
    if computing.checkpointing or computing.compile:
        made_ready(fresh(feed.curriculum.main, dataset, recipe, seed), computing, device)
    asked = {
        "format": FORMAT,
        "unmask": __version__,
        "recipe": asdict(recipe),
        "data": dataset.fingerprint,
        "phrases": digest(read_phrases(recipe.training.phrases)) if recipe.training.phrases else None,
        "seed": seed,
        "budget": asdict(budget) if budget.given else None,
        "computing": asdict(computing),
    }
    with (
        joined(device, micros=feed.micros, reproducible=reproducible, shard=computing.shard) as world,
        shared(out, asked, resume, world) as run,
        interruptible() as interruption,
    ):
        if world.first:
            say_if_unusual(recipe.family, dataset)
        keep_large_blocks()
        torch.set_num_threads(run.description.get("threads", torch.get_num_threads()))
        with interruption.at_once("stopped before training went on: nothing is lost; the same command begins again"):
            if "steps" not in run.description:

                def trial() -> Work:
                    return Work.of(dataset, recipe, CALIBRATED_STEPS, seed, computing, world)

                steps = steps_for(budget, recipe.training.rows, recipe.training.length, trial, begun, world)
                run = describe(run, steps, torch.get_num_threads(), write=world.first)
            work = Work.of(dataset, recipe, run.description["steps"], seed, computing, world)
        told = {"wanted": saving.report and world.first, "tensorboard": saving.tensorboard and world.first}
        with chronicled(run, work, **told) as (run, reporter):
            position = carry_out(work, run, interruption, saving, world, reporter, workers)
            with interruption.at_once(
                f"stopped after the last step, which is saved in {run.path}; "
                "the same command with --resume measures and exports the model"
            ):
                return finish(work, run, position, world)


def say_if_unusual(family: str, dataset: Dataset) -> None:
    """A line where the text was cut by another kind of tokenizer than the family was published with."""
    published, own = FAMILIES[family].tokenizer, dataset.tokenizer_kind()
    if published is not None and own != published:
        say(
            f"[yellow]{family} was published with a {published} tokenizer, and {dataset.path} has a {own} one: "
            f"for the published method, prepare with --tokenizer {published}[/]"
        )


@contextmanager
def shared(out: Path, asked: dict[str, Any], resume: bool, world: World) -> Iterator[Run]:
    """The run directory: opened and locked by the first process, looked at by the others."""
    if world.first:
        with opened(out, asked, resume=resume) as run:
            world.wait()
            yield run
    else:
        world.wait()
        known = (out / "run.json").exists()
        yield Run(out, read_description(out) if known else asked)


def carry_out(
    work: Work,
    run: Run,
    interruption: Interruption,
    saving: Saving,
    world: World,
    reporter: Reporter,
    workers: int,
) -> Position:
    """Train to the last step from where the run stands."""
    saved = checkpoint.newest(run.checkpoints)
    position = Position() if saved is None else work.go_on(saved)
    world.wait()  # nobody writes a new checkpoint while another still reads the old
    if world.first:
        run.rewind(position.step if saved else -1)
    if saved:
        say(f"going on from step {position.step:,}")
    with task("Training", total=work.steps) as progress:
        progress(position.step)
        watch = Watch(work, run, interruption, saving, progress, world, reporter)
        if position.step == 0:
            watch.validate(0)
        return loop.train(
            work.learner,
            work.optimizer,
            work.feed,
            position=position,
            after_step=watch,
            world=world,
            precision=work.precision,
            workers=workers,
            skip_spikes=work.recipe.training.skip_spikes,
        )


class Watch:
    """What happens after each step: logging, validating, saving, stopping."""

    def __init__(
        self,
        work: Work,
        run: Run,
        interruption: Interruption,
        saving: Saving,
        progress: Step,
        world: World,
        reporter: Reporter,
    ) -> None:
        self.work, self.run, self.interruption, self.reporter = work, run, interruption, reporter
        self.saving, self.progress, self.world = saving, progress, world
        self.validations = {round(work.steps * part / VALIDATIONS) for part in range(1, VALIDATIONS)}
        self.validations -= {0, work.steps}
        self.last = ""
        self.saved_at = time.monotonic()

    def __call__(self, position: Position, figures: dict[str, Any]) -> None:
        """Do what is due after this step."""
        steps = self.work.steps
        if "blocks" in figures or position.step % max(1, steps // LOGGED) == 0:
            self.log(figures)
        if position.step in self.validations:
            self.validate(position.step)
        right = f" · {figures['accuracy']:.0%}" if "accuracy" in figures else ""
        now = "loss {loss:.2f}{right} · lr {learning_rate:.1e} · {tokens_per_second:,.0f} tokens/s"
        self.progress(1, note=now.format(right=right, **figures) + self.last)
        finished = position.step == steps
        late = time.monotonic() - self.saved_at >= self.saving.seconds
        # a signal may reach the processes at different steps: all stop at the same one
        asked, due = self.world.total(self.interruption.asked, late and self.world.first)
        if finished or due or asked:
            self.work.save(self.run.checkpoints, position, self.saving.keep, self.world)
            self.saved_at = time.monotonic()
            if not finished and not asked:  # then it is written in the end
                self.reporter.now_and_then()
        if asked and not finished:
            raise self.interruption.error(
                f"stopped after step {position.step:,} of {steps:,}, saved in {self.run.path}; "
                "the same command with --resume goes on"
            )

    def validate(self, step: int) -> None:
        """Measure on the fixed masks, on a sample of them."""
        measured, figures = self.work.validate(self.world)
        self.last = f" · held out {measured}"
        self.log({"step": step, **_validation(measured, figures)})

    def log(self, figures: dict[str, Any]) -> None:
        """Add a line to the metrics, once for all processes."""
        if self.world.first:
            self.run.log(figures)


def finish(work: Work, run: Run, position: Position, world: World) -> Trained:
    """Measure on all held-out text, export the model and say what came out."""
    with task("Validating") as progress:
        final, own = work.measure(None, world)
        progress(1, note=str(final))
    if world.first:
        run.log({"step": work.steps, **_validation(final, own), "final": True})
    figures = {
        "parameters": work.parameters,
        "vocabulary": work.dataset.vocabulary.size,
        "tokens": position.tokens,
        "steps": position.step,
        "epochs": position.step * work.feed.rows / work.feed.per_epoch,
        "loss": final.loss,
        "perplexity": exp(min(final.loss, 700)),
        "accuracy": final.accuracy,
        "predicted": final.predicted,
        "own": own,
        "objective": work.objective.name,
        "hides": any(objective.policies for objective in work.feed.curriculum.objectives),
        "fixed_masks": work.examples is not None,
    }
    learner = work.whole_learner()
    if world.first:
        mask = work.dataset.tokenizer().mask_token
        for name, model in work.objective.exports(learner).items():
            says = model.card or work.objective.card
            card = export.model_card(says, run.description, work.dataset.manifest, figures, mask)
            export.export(model, work.dataset, run.path / name, card)
    world.wait()
    return Trained(
        path=run.path,
        model=run.model,
        recipe=work.recipe.name,
        parameters=work.parameters,
        steps=position.step,
        tokens=position.tokens,
        seconds=position.seconds,
        loss=final.loss,
        accuracy=final.accuracy,
        figures=own,
        fills=work.objective.card.pipeline == FILL_MASK.pipeline,
        weights_sha256=sha256_of(run.model / export.WEIGHTS),
    )


def _validation(measured: Measured, figures: dict[str, float]) -> dict[str, float]:
    own = {f"validation_{name}": value for name, value in figures.items()}
    told = {**own, "validation_loss": measured.loss, "validation_accuracy": measured.accuracy}
    return {name: value for name, value in told.items() if isfinite(value)}
