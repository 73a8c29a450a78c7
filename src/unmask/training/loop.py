"""The one loop: micro-batches to gradients to weights, step by step.

In: a learner, an optimizer and a source. Out: the learner, trained; on the way, whoever watches hears of each step.

Step k is a function of (data, settings, seed, k): its rows, its dropout and its learning rate come from the number k,
so a run that was stopped goes on from the weights, the optimizer's state and one integer. Where a budget in minutes
plans the end again on the way, the plans made up to k belong to it (`training.timetable`), and checkpoints keep them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch.nn import Module

from unmask.errors import Diverged
from unmask.training import health
from unmask.training.health import Recent
from unmask.training.job import Source
from unmask.training.loader import Loader
from unmask.training.machine.allocator import give_back_when_full
from unmask.training.machine.distributed import ALONE, World
from unmask.training.machine.sharding import full_tensor
from unmask.training.optimizer import Optimizer, Optimizing
from unmask.training.precision import FLOAT32, Precision
from unmask.training.step import StepOptions, StepResult, take_step

PATIENCE = 5  # steps in a row that may be skipped before the run stops


@dataclass(frozen=True)
class Position:
    """Where a run stands: what a checkpoint keeps besides tensors."""

    step: int = 0  # steps done
    tokens: int = 0  # seen
    skipped: int = 0  # steps in a row whose numbers were not finite
    seconds: float = 0.0  # spent training, over all sittings
    splits: int = 1  # that a micro-batch is computed in, for it to fit into memory
    recent: Recent = field(default_factory=Recent)  # what is usual

    @classmethod
    def of(cls, state: dict[str, Any]) -> Position:
        """The position that `dataclasses.asdict` described; `ValueError` or `TypeError` where it is none."""
        fields = {**state, "recent": Recent.of(state.get("recent", {}))}
        for name, value in fields.items():
            if name != "recent" and (isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0):
                raise ValueError(f"{name} is {value!r}")
        return cls(**fields)

    def after(self, result: StepResult, seconds: float) -> Position:
        """The position when a step is done."""
        return Position(
            step=self.step + 1,
            tokens=self.tokens + result.tokens,
            skipped=0 if result.finite else self.skipped + 1,
            seconds=self.seconds + seconds,
            splits=result.splits,
            recent=self.recent.after(result.loss, result.gradient) if result.finite else self.recent,
        )


def train(
    learner: Module,
    optimizer: Optimizer,
    source: Source,
    *,
    position: Position,
    after_step: Callable[[Position, dict[str, Any]], None],
    world: World = ALONE,
    workers: int = 0,
    skip_spikes: bool = False,
    precision: Precision = FLOAT32,
) -> Position:
    """Train from a position to the last step; `after_step` logs, validates, saves and may stop by raising."""
    learner.train()
    first = position.step
    with Loader(source, world.share(source.micro_batches), first=first, workers=workers) as loader:
        while position.step < source.timetable.steps:
            start = time.perf_counter()
            micro_batches = loader.micro_batches(position.step)
            wait = time.perf_counter() - start
            options = StepOptions(
                splits=position.splits,
                recent=position.recent,
                skip_spikes=skip_spikes,
                overlap=position.step > first,
                precision=precision,
            )
            result = take_step(
                learner,
                optimizer,
                source,
                step=position.step,
                world=world,
                micro_batches=micro_batches,
                options=options,
            )
            seconds = max(time.perf_counter() - start, 1e-9)
            position = position.after(result, seconds)
            figures = figures_of(result, position, optimizer.settings, source, seconds)
            after_step(position, figures | {"waited": wait / seconds})
            give_back_when_full()
            if not result.finite:
                stop_if_hopeless(learner, position, source)
    return position


def figures_of(
    result: StepResult, position: Position, optimizing: Optimizing, source: Source, seconds: float
) -> dict[str, Any]:
    """What is logged of a step."""
    figures: dict[str, Any] = {
        "step": position.step,
        "loss": result.loss,
        **result.figures,
        **source.figures(result.tokens, result.predictions),
        "lr": optimizing.adamw_lr * optimizing.lr_factor(*source.timetable.at(position.step - 1)),
        "gradient_norm": result.gradient,
        "tokens": position.tokens,
        "tokens_per_second": result.tokens / seconds,
    }
    if result.splits > 1:
        figures["splits"] = result.splits
    if result.spike:
        figures["spike"] = result.spike
    if not result.applied:
        figures["skipped"] = True
    if result.spike or not result.applied:
        figures["rows"] = source.rows(position.step - 1)
    return figures


def stop_if_hopeless(learner: Module, position: Position, source: Source) -> None:
    """Stop where skipping steps cannot help: the weights are not finite, or one step after the other is not."""
    weights = ((name, full_tensor(parameter.detach())) for name, parameter in learner.named_parameters())
    health.check_weights(weights, position.step)
    if position.skipped >= PATIENCE:
        rows = source.rows(position.step - 1)
        raise Diverged(
            f"step {position.step}: the loss or its gradient was not finite in {PATIENCE} steps in a row "
            f"(rows of the last: {', '.join(map(str, rows[:8]))} …); lower the learning rate"
        )
