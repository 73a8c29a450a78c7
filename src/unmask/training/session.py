"""A learner with what it is trained and measured on: what a run needs in memory.

In: a job and a number of steps. Out: the same beginning each time, or the moment that a checkpoint kept.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import Module

from unmask.errors import Damaged
from unmask.training import checkpoint, health
from unmask.training.job import EndingValidator, Job, Source, ValidationSample, Validator
from unmask.training.loop import Position
from unmask.training.machine.computing import PLAIN, Computing, device_for, force_eager, make_ready
from unmask.training.machine.distributed import ALONE, World
from unmask.training.machine.sharding import full_tensor, is_sharded, shard_layers, shard_like
from unmask.training.optimizer import Optimizer
from unmask.training.pacing import KEPT, Clock, Pacer
from unmask.training.precision import FLOAT32, Precision
from unmask.training.timetable import Timetable

USUAL_SAMPLE = ValidationSample(0.01, 4_096, 65_536)  # all of them take about a thirtieth of the time
VALIDATED = "validated"  # in a checkpoint, what a validation that can end the run remembers
SINGLE_TIMES = 1.6  # as long as in bfloat16 a measurement in float32 lasts; a guess, for minutes to end in time


@dataclass(frozen=True)
class Session:
    """Everything that a step touches."""

    job: Job
    steps: int  # as they were planned before the first
    learner: Module
    optimizer: Optimizer
    source: Source
    validation: Validator
    computing: Computing
    precision: Precision
    pacer: Pacer

    @classmethod
    def begin(
        cls,
        job: Job,
        steps: int,
        computing: Computing = PLAIN,
        world: World = ALONE,
        *,
        seconds: float | None = None,
        clock: Clock = time.perf_counter,
        fresh: bool = True,
    ) -> Session:
        """The beginning of a run; where it has so many seconds, its steps are planned again on the way.

        What a checkpoint is going to be restored into need not be fresh.
        """
        pacer = Pacer(Timetable(steps), seconds, clock)
        device = device_for(computing.device)
        learner = make_ready(job.build(fresh=fresh), computing, device)
        if fresh:
            world.hand_out(learner.parameters())  # what was computed from data may differ in its last bits elsewhere
        if computing.shard and world.size > 1:
            shard_layers(learner, device, world.size)
        precision = Precision(computing.precision, device.type)
        return cls(
            job=job,
            steps=steps,
            learner=learner,
            optimizer=Optimizer(learner, job.optimizing, precision.dtype),
            source=job.source(pacer.timetable),
            validation=job.validation(learner),
            computing=computing,
            precision=precision,
            pacer=pacer,
        )

    def restore(self, moment: checkpoint.Checkpoint) -> Position:
        """Take up a moment that was kept; names and shapes must be the learner's own."""
        try:
            self.restore_weights(moment)
            self.optimizer.restore(moment.optimizer)
            self.precision.restore(moment.state)
            self.pacer.restore(moment.state)
            if (watcher := self.watcher) is not None:
                watcher.restore(moment.state[VALIDATED])
            others = {*self.precision.state, *KEPT, VALIDATED}
            return Position.of({name: value for name, value in moment.state.items() if name not in others})
        except (KeyError, TypeError, ValueError) as error:
            raise Damaged(f"the checkpoint of step {moment.step} does not fit the model ({error})") from error

    def restore_weights(self, moment: checkpoint.Checkpoint) -> None:
        """Take up the weights of a moment; `ValueError` where they are not the learner's."""
        parameters = dict(self.learner.named_parameters())
        for name in parameters.keys() ^ moment.model.keys():
            raise ValueError(f"{name} is not in both")
        with torch.no_grad():
            for name, parameter in parameters.items():
                if parameter.shape != moment.model[name].shape:
                    shapes = tuple(moment.model[name].shape), tuple(parameter.shape)
                    raise ValueError("{} is {}, not {}".format(name, *shapes))
                parameter.copy_(shard_like(moment.model[name].to(parameter.device), parameter))

    def save(self, folder: Path, position: Position, keep: int, world: World = ALONE) -> None:
        """Keep this moment: the first process writes what all of them hold."""
        tensors = self._weights(position)
        state = asdict(position) | self.precision.state | self.pacer.state
        if (watcher := self.watcher) is not None:
            state[VALIDATED] = watcher.state
        moment = checkpoint.Checkpoint(position.step, tensors, self.optimizer.tensors(), state)
        if world.first:
            checkpoint.save(folder, moment, keep=keep)

    def save_weights(self, folder: Path, position: Position, world: World = ALONE) -> None:
        """Keep what the learner knows at this moment, beside all that were kept before; nothing goes on from it."""
        moment = checkpoint.Checkpoint(position.step, self._weights(position), {}, asdict(position))
        if world.first:
            checkpoint.save(folder, moment, keep=None)

    def _weights(self, position: Position) -> dict[str, Tensor]:
        """Every weight in one piece, if all are numbers."""
        tensors = {name: full_tensor(parameter.detach()) for name, parameter in self.learner.named_parameters()}
        health.check_weights(tensors.items(), position.step)
        return tensors

    def whole_learner(self) -> Module:
        """The learner in one piece, to be exported."""
        if not any(is_sharded(parameter) for parameter in self.learner.parameters()):
            return self.learner
        learner = self.job.build(fresh=False)
        parameters = dict(learner.named_parameters())
        with torch.no_grad():
            for name, parameter in self.learner.named_parameters():
                parameters[name].copy_(full_tensor(parameter))
        return learner

    def validate(self, world: World) -> dict[str, float]:
        """Measure on a sample of what is held out, always the same."""
        return self.measure(self.sample, world)

    @property
    def watcher(self) -> EndingValidator | None:
        """The validation, where it is one that can end the run."""
        return self.validation if isinstance(self.validation, EndingValidator) else None

    @property
    def sample(self) -> int:
        """Tokens of a validation, by what the run was to train on when it began."""
        return (self.job.sample or USUAL_SAMPLE).tokens(self.steps * self.job.tokens_a_step)

    @property
    def end(self) -> float:
        """As many validations as the measurement in the end lasts, which is on everything and in float32."""
        times = 1.0 if self.precision.dtype == torch.float32 else SINGLE_TIMES
        return times * self.validation.tokens / max(1, min(self.sample, self.validation.tokens))

    def measure(self, limit: int | None, world: World) -> dict[str, float]:
        """Figures on about so many tokens of what is held out; on all of it in float32, as `evaluate` measures."""
        precision = FLOAT32 if limit is None else self.precision
        with precision.casting(), force_eager(self.computing):
            return self.validation.measure(self.learner, limit, world)

    @property
    def parameters(self) -> int:
        """How many weights the learner has."""
        return sum(parameter.numel() for parameter in self.learner.parameters())
