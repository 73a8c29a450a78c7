"""From a data directory to a trained model: the run, its budget, its checkpoints, its export.

In: a data directory, a recipe and a budget. Out: a run directory with a model that transformers loads.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import exp
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from unmask import __version__
from unmask.errors import BadInput, Damaged
from unmask.models.families import build
from unmask.progress import Step, say, task
from unmask.results import Trained
from unmask.tokens.collate import HELD_OUT_LENGTH, HeldOutSet
from unmask.tokens.dataset import Dataset
from unmask.training import checkpoint, export, loop
from unmask.training.allocator import keep_large_blocks
from unmask.training.interrupt import Interruption, interruptible
from unmask.training.loop import Measured, Position, Training
from unmask.training.optimizer import Optimizer
from unmask.training.run import FORMAT, Run, describe, opened

VALIDATIONS = 10  # over a run, besides the last, which takes all held-out text
VALIDATION_SHARE = (
    0.01  # tokens of a validation for each token trained on: about a thirtieth of the time in all
)
VALIDATION_TOKENS = (4_096, 65_536)  # at the least and at the most
LOGGED = 1000  # steps logged over a run, at the least every one
CALIBRATION = 0.05  # the part of a budget of minutes spent on finding out how long a step takes


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A model and how it is trained."""

    name: str
    family: str
    size: str
    training: Training


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How long to train: exactly one of the three."""

    minutes: float | None = None
    steps: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in asdict(self).items() if value is not None}
        if len(given) > 1:
            raise BadInput(f"one budget is enough, not {' and '.join('--' + name for name in given)}")
        for name, value in given.items():
            if not value > 0:
                raise BadInput(f"--{name} {value}: give a number above 0")

    @property
    def given(self) -> bool:
        """Whether there is one."""
        return any(value is not None for value in asdict(self).values())


@dataclass(frozen=True, kw_only=True)
class Saving:
    """How often the run is saved; it changes nothing of what is trained."""

    seconds: float = 120.0
    keep: int = 2


def pretrain(
    data: Path,
    out: Path,
    recipe: Recipe,
    budget: Budget,
    *,
    seed: int = 0,
    resume: bool = False,
    saving: Saving | None = None,
) -> Trained:
    """Train a recipe on a data directory, or go on with a run that was stopped."""
    begun = time.perf_counter()
    dataset = Dataset.open(data)
    if not budget.given and not resume:
        raise BadInput("how long? give --minutes, --steps or --tokens")
    asked = in_json(
        {
            "format": FORMAT,
            "unmask": __version__,
            "recipe": asdict(recipe),
            "data": dataset.fingerprint,
            "seed": seed,
            "budget": asdict(budget) if budget.given else None,
        }
    )
    with opened(out, asked, resume=resume) as run, interruptible() as interruption:
        keep_large_blocks()
        torch.set_num_threads(run.description.get("threads", torch.get_num_threads()))
        work = Work.of(dataset, recipe, seed)
        if "steps" not in run.description:
            if not budget.given:
                raise BadInput("how long? this run had not begun, so give --minutes, --steps or --tokens")
            steps = work.steps_for(budget, begun)
            run = describe(run, steps, torch.get_num_threads())
        return work.carry_out(run, interruption, saving or Saving())


@dataclass(frozen=True)
class Work:
    """A model with what it is trained and measured on."""

    dataset: Dataset
    recipe: Recipe
    seed: int
    model: PreTrainedModel
    optimizer: Optimizer
    feed: loop.Feed
    examples: HeldOutSet

    @classmethod
    def of(cls, dataset: Dataset, recipe: Recipe, seed: int) -> Work:
        """A fresh start."""
        settings, vocabulary = recipe.training, dataset.vocabulary
        model = build(
            recipe.family,
            recipe.size,
            vocabulary,
            length=settings.length,
            dropout=settings.dropout,
            seed=seed,
        )
        feed = loop.feed_of(settings, dataset.split("train"), vocabulary, seed)
        if not len(feed.pieces.starts):
            raise BadInput(f"{dataset.path}: has no tokens to train on; prepare it from more text")
        length = min(HELD_OUT_LENGTH, settings.length)
        examples = HeldOutSet.of(dataset.split("valid"), vocabulary, length=length)
        return cls(dataset, recipe, seed, model, Optimizer(model, settings.optimizing), feed, examples)

    def steps_for(self, budget: Budget, begun: float) -> int:
        """How many steps a budget buys; minutes are counted from `begun` and measured on a few steps."""
        settings = self.recipe.training
        if budget.steps is not None:
            return budget.steps
        if budget.tokens is not None:
            return max(1, round(budget.tokens / (settings.rows * settings.length)))
        assert budget.minutes is not None
        seconds = budget.minutes * 60
        trial = Work.of(
            self.dataset, self.recipe, self.seed
        )  # thrown away: the run starts from fresh weights
        trial.model.train()
        times: list[float] = []
        with task("Calibrating") as progress:
            started = time.perf_counter()
            while len(times) < 4 or (
                time.perf_counter() - started < CALIBRATION * seconds and len(times) < 40
            ):
                before = time.perf_counter()
                batches = trial.feed.micro_batches(len(times), settings.rate)
                loop.take_step(trial.model, trial.optimizer, batches, len(times), 1000, self.seed)
                times.append(time.perf_counter() - before)
                progress(1, note=f"{times[-1]:.2f} s a step")
            held_out = trial.validation_seconds_per_token(VALIDATION_TOKENS[0])
        step = statistics.median(times[2:])
        left = seconds - (time.perf_counter() - begun) - held_out * self.examples.tokens
        # each step brings its share of the validations with it
        step += held_out * VALIDATIONS * VALIDATION_SHARE * settings.rows * settings.length
        return max(1, int(left / step))

    def validation_seconds_per_token(self, tokens: int) -> float:
        """How long it takes to measure, by measuring a little."""
        begun = time.perf_counter()
        loop.validate(self.model, self.examples, limit=tokens)
        return (time.perf_counter() - begun) / max(1, min(tokens, self.examples.tokens))

    def carry_out(self, run: Run, interruption: Interruption, saving: Saving) -> Trained:
        """Train to the end of the budget from where the run stands, and export."""
        steps = run.description["steps"]
        position = self._go_on_from(run)
        watch = _Watch(self, run, interruption, saving, steps)
        with task("Training", total=steps) as progress:
            progress(position.step)
            watch.progress = progress
            if position.step == 0:
                watch.validate(0)
            position = loop.train(
                self.model,
                self.optimizer,
                self.feed,
                self.recipe.training,
                position=position,
                steps=steps,
                seed=self.seed,
                after_step=watch,
            )
        with task("Validating") as progress:
            final = loop.validate(self.model, self.examples)
            progress(1, note=f"loss {final.loss:.3f} · accuracy {final.accuracy:.1%}")
        run.rewind(steps)
        run.log(
            {
                "step": steps,
                "final": True,
                "validation_loss": final.loss,
                "validation_accuracy": final.accuracy,
            }
        )
        return self._finish(run, position, final)

    def _go_on_from(self, run: Run) -> Position:
        """Take up the newest whole checkpoint, or begin."""
        saved = checkpoint.newest(run.checkpoints)
        if saved is None:
            run.rewind(-1)
            return Position()
        try:
            load_weights(self.model, saved.model)
            self.optimizer.restore(saved.optimizer)
            position = Position(**saved.state)
        except (KeyError, TypeError, RuntimeError) as error:
            raise Damaged(f"{run.checkpoints}: step {saved.step} does not fit the model ({error})") from error
        run.rewind(position.step)
        say(f"going on from step {position.step:,}")
        return position

    def save(self, run: Run, position: Position, keep: int) -> None:
        """Write a checkpoint."""
        tensors = {name: parameter.detach() for name, parameter in self.model.named_parameters()}
        moment = checkpoint.Checkpoint(position.step, tensors, self.optimizer.tensors(), asdict(position))
        checkpoint.save(run.checkpoints, moment, keep=keep)

    def _finish(self, run: Run, position: Position, final: Measured) -> Trained:
        """Export the model and say what came out."""
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        figures: dict[str, Any] = {
            "parameters": parameters,
            "vocabulary": self.dataset.vocabulary.size,
            "tokens": position.tokens,
            "steps": position.step,
            "epochs": position.step * self.feed.rows / self.feed.plan(0).blocks,
            "loss": final.loss,
            "perplexity": exp(min(final.loss, 700)),
            "accuracy": final.accuracy,
            "predicted": final.predicted,
        }
        card = export.model_card(run.description, self.dataset.manifest, figures)
        sha256 = export.export(self.model, self.dataset.path / "tokenizer", run.model, card)
        return Trained(
            path=run.path,
            model=run.model,
            recipe=self.recipe.name,
            parameters=parameters,
            steps=position.step,
            tokens=position.tokens,
            seconds=position.seconds,
            loss=final.loss,
            accuracy=final.accuracy,
            weights_sha256=sha256,
        )


class _Watch:
    """What happens after each step: logging, validating, saving, stopping."""

    progress: Step

    def __init__(self, work: Work, run: Run, interruption: Interruption, saving: Saving, steps: int) -> None:
        self.work, self.run, self.interruption, self.saving, self.steps = (
            work,
            run,
            interruption,
            saving,
            steps,
        )
        self.validations = {round(steps * part / VALIDATIONS) for part in range(1, VALIDATIONS)} - {0, steps}
        self.last = ""
        self.saved_at = time.monotonic()

    def __call__(self, position: Position, figures: dict[str, Any]) -> None:
        if figures.get("skipped") or position.step % max(1, self.steps // LOGGED) == 0:
            self.run.log(figures)
        if position.step in self.validations:
            self.validate(position.step)
        now = "{loss:.2f} · {accuracy:.0%} · rate {learning_rate:.1e} · {tokens_per_second:,.0f} tokens/s"
        self.progress(1, note="loss " + now.format(**figures) + self.last)
        finished = position.step == self.steps
        if finished or self.interruption.asked or time.monotonic() - self.saved_at >= self.saving.seconds:
            self.work.save(self.run, position, self.saving.keep)
            self.saved_at = time.monotonic()
        if self.interruption.asked and not finished:
            raise self.interruption.error(
                f"stopped after step {position.step:,} of {self.steps:,}, saved in {self.run.path}; "
                "the same command with --resume goes on"
            )

    def validate(self, step: int) -> None:
        """Measure on the fixed masks, on a sample of them."""
        settings = self.work.recipe.training
        trained_on = self.steps * settings.rows * settings.length
        least, most = VALIDATION_TOKENS
        limit = min(most, max(least, int(trained_on * VALIDATION_SHARE)))
        measured = loop.validate(self.work.model, self.work.examples, limit=limit)
        self.last = f" · held out {measured.loss:.2f}, {measured.accuracy:.0%}"
        self.run.log(
            {"step": step, "validation_loss": measured.loss, "validation_accuracy": measured.accuracy}
        )


def load_weights(model: PreTrainedModel, tensors: dict[str, torch.Tensor]) -> None:
    """Put saved weights into a model; names and shapes must be the model's own."""
    own = dict(model.named_parameters())
    for name in own.keys() ^ tensors.keys():
        raise KeyError(name)
    with torch.no_grad():
        for name, parameter in own.items():
            if parameter.shape != tensors[name].shape:
                raise RuntimeError(f"{name} is {tuple(tensors[name].shape)}, not {tuple(parameter.shape)}")
            parameter.copy_(tensors[name])


def in_json(value: dict[str, Any]) -> dict[str, Any]:
    """A value as it comes back from JSON, so that it compares with one that was read."""
    back: dict[str, Any] = json.loads(json.dumps(value))
    return back


def logged(run: Path) -> Iterator[dict[str, Any]]:
    """The lines of a run's metrics."""
    with (run / "metrics.jsonl").open(encoding="utf-8") as file:
        yield from map(json.loads, file)
