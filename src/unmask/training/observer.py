"""What happens after each step of a run: logging, validating, saving, planning again, stopping.

In: a session, its run directory and whatever may interrupt it. Out: the position after the last step, with everything
on the way written down; or the error that says how to go on.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from unmask.errors import BadInput
from unmask.progress import Step, say, task
from unmask.runs.directory import STOPPED, Run
from unmask.runs.history import ENDING, HELD_OUT, PLANNED
from unmask.runs.reporting import Reporter
from unmask.training import checkpoint, loop
from unmask.training.interrupt import Interruption
from unmask.training.job import Job
from unmask.training.loop import Position
from unmask.training.machine.distributed import World
from unmask.training.pacing import PARTS
from unmask.training.session import Session

ENDING_SHARE = 0.1  # of the steps, over which the learning rate falls to 0 where a run ends before its budget does
LOGGED_STEPS = 1000  # steps logged over a run; where it has fewer, every one


@dataclass(frozen=True, kw_only=True)
class Saving:
    """How often the run is saved, and what else is written of it; nothing of what is trained changes with it."""

    seconds: float = 120.0
    keep: int = 2
    best: bool = False  # keep the best moment by the job's headline beside the newest, and export that one
    stable: bool = False  # keep the moment before the learning rate falls: adapting goes on from it best
    moments: bool = False  # keep the weights of the start and of each tenth: what it knew when
    report: bool = True  # plot.png and report.html
    tensorboard: bool = False

    def __post_init__(self) -> None:
        if not self.seconds >= 0:
            raise BadInput(f"--save-seconds {self.seconds}: give 0 or more")


class Observer:
    """What happens after each step of a session: logging, validating, saving, stopping."""

    def __init__(
        self,
        session: Session,
        run: Run,
        interruption: Interruption,
        saving: Saving,
        world: World,
        reporter: Reporter,
        again: str,
    ) -> None:
        self.session, self.run, self.interruption = session, run, interruption
        self.saving, self.world, self.reporter, self.again = saving, world, reporter, again
        self.pacer, self.timetable = session.pacer, session.pacer.timetable
        self.best: float | None = None
        self.best_step: int | None = None
        self.last = ""
        self.saved_at = time.monotonic()

    def take_up(self) -> Position:
        """Where the run stands, by its newest checkpoint, which the session takes up."""
        newest = checkpoint.newest(self.run.checkpoints)
        position = Position() if newest is None else self.session.restore(newest)
        self._take_up_best(position)
        return position

    def train(self, position: Position, workers: int, start: float) -> Position:
        """Train to the last step from this position; `start` is when the clock of the run began."""
        session, resumed = self.session, checkpoint.any_in(self.run.checkpoints)
        self.world.wait()  # nobody writes a new checkpoint while another still reads the old
        if self.world.first:
            self.run.rewind(position.step if resumed else -1)
        if resumed:
            is_last = position.step == self.timetable.steps
            say(
                f"all {position.step:,} steps are taken; the model is measured and exported again"
                if is_last
                else f"going on from step {position.step:,}"
            )
        self.pacer.begin(None if resumed else self.pacer.clock() - start)
        self.parts_done = self.timetable.parts_done(position.step, PARTS)
        with task("Training", total=self.timetable.steps) as progress:
            progress(position.step)
            self.progress: Step = progress
            if position.step == 0:
                self.validate(position)
            return loop.train(
                session.learner,
                session.optimizer,
                session.source,
                position=position,
                after_step=self,
                world=self.world,
                precision=session.precision,
                workers=workers,
                skip_spikes=session.job.skip_spikes,
            )

    def __call__(self, position: Position, figures: dict[str, Any]) -> None:
        """Do what is due after this step."""
        self.pacer.end_step()
        if "rows" in figures or position.step % max(1, self.timetable.steps // LOGGED_STEPS) == 0:
            self.log(figures)
        if self._part_is_done(position.step):
            self.validate(position)
        self._keep_stable(position)
        self.pacer.end_rest()
        late = time.monotonic() - self.saved_at >= self.saving.seconds
        # a signal may reach the processes at different steps, and their clocks differ: all stop and plan alike
        stop, due, planned = self.world.total(
            self.interruption.pending, late and self.world.first, self._planned(position.step)
        )
        if planned:
            self.plan(position, int(planned))
        steps = self.timetable.steps
        self.progress(1, note=self._note(figures), total=steps)
        is_last = position.step == steps
        if is_last or due or stop:
            self.session.save(self.run.checkpoints, position, self.saving.keep, self.world)
            self.saved_at = time.monotonic()
            if not is_last and not stop:  # then it is written in the end
                self.reporter.write_if_due()
        if stop and not is_last:
            self.log({"step": position.step, STOPPED: True})
            raise self.interruption.error(
                f"stopped after step {position.step:,} of {steps:,}, which is saved; to go on: {self.again}"
            )

    def _keep_stable(self, position: Position) -> None:
        """Keep the moment before the learning rate falls, once."""
        if not self.saving.stable or position.step >= self.timetable.steps or checkpoint.any_in(self.run.stable):
            return
        if self.session.optimizer.settings.is_falling(*self.timetable.at(position.step)):
            self.world.wait()  # nobody looks for it any more while it is written
            self.session.save(self.run.stable, position, 1, self.world)

    def _part_is_done(self, step: int) -> bool:
        """Whether this step is the last of a tenth of the run; one that is ending is measured in the end alone."""
        before, self.parts_done = self.parts_done, self.timetable.parts_done(step, PARTS)
        return step == self.timetable.steps if self.pacer.ending else self.parts_done > before

    def _end_if_due(self, position: Position) -> None:
        """Bring the run to its end, the learning rate falling to 0, where what was measured says so."""
        watcher, steps = self.session.watcher, self.timetable.steps
        last = position.step + max(1, round(ENDING_SHARE * steps))
        if watcher is None or self.pacer.ending or last >= steps or (why := watcher.why_end()) is None:
            return
        self.pacer.end(position.step, last, why)
        self.log({"step": position.step, PLANNED: last, ENDING: why})
        say(f"ending after step {last:,} of {steps:,}: {why}")

    def _planned(self, step: int) -> int:
        """How many steps the first process plans for, if this is a moment to plan; else 0."""
        planned = self.pacer.plan(step, end=self.session.end)
        return planned or 0 if self.world.first else 0

    def plan(self, position: Position, steps: int) -> None:
        """Let the run have so many steps from here on."""
        self.pacer.adopt(position.step, steps)
        self.log({"step": position.step, PLANNED: steps, "minutes": self.pacer.spent.seconds / 60})

    def _note(self, figures: Mapping[str, Any]) -> str:
        """A step behind the bar."""
        notes = [f"loss {figures['loss']:.2f}"]
        for title in self.session.job.figures:
            if title.percent and title.name in figures:
                notes.append(f"{title.short} {figures[title.name]:.0%}")
                break
        notes += [f"lr {figures['lr']:.1e}", f"{figures['tokens_per_second']:,.0f} tokens/s"]
        return " · ".join(notes) + self.last

    def validate(self, position: Position) -> None:
        """Measure on a sample of what is held out, always the same."""
        self.pacer.end_rest()
        figures = self.session.validate(self.world)
        self.pacer.end_validation()
        self.last = f" · a sample held out {brief_figures(figures, self.session.job)}"
        self.log({"step": position.step, **prefixed_figures(figures, HELD_OUT)})
        if self.saving.best and self._is_best(figures):
            self.best, self.best_step = figures[self.session.job.headline.name], position.step
            self.session.save(self.run.best, position, 1, self.world)
        if self.saving.moments:
            self.session.save_weights(self.run.moments, position, self.world)
        self._end_if_due(position)

    def _is_best(self, figures: Mapping[str, float]) -> bool:
        """Whether a moment is better than the best before; of one that is as good as none, the one that has learnt."""
        headline = self.session.job.headline
        value = figures[headline.name]
        return headline.improves(value, self.best) or (self.best_step == 0 and value == self.best)

    def _take_up_best(self, position: Position) -> None:
        """What was the best before this moment; a later one is going to come again."""
        if not self.saving.best:
            return
        newest = checkpoint.newest(self.run.best)
        if newest is None or newest.step > position.step:
            return
        headline = HELD_OUT + self.session.job.headline.name
        values = [line[headline] for line in self.run.read_log() if line["step"] == newest.step and headline in line]
        self.best, self.best_step = (values[0], newest.step) if values else (None, None)

    def log(self, figures: dict[str, Any]) -> None:
        """Add a line to the metrics, once for all processes."""
        if self.world.first:
            self.run.log(figures)


def brief_figures(figures: Mapping[str, float], job: Job) -> str:
    """The figures that people look at, in a few characters."""
    values = [(title, figures[title.name]) for title in job.figures if title.name in figures]
    return ", ".join(
        f"{title.short} {value:.0%}" if title.percent else f"{title.short} {value:.2f}"
        for title, value in values[:2]
        if isfinite(value)
    )


def prefixed_figures(figures: Mapping[str, float], prefix: str) -> dict[str, float]:
    """What is logged of a measurement: on a sample of what is held out, or in the end on all of it."""
    return {prefix + name: value for name, value in figures.items() if isfinite(value)}
