"""How fast a model is tuned beside the trainers that people use, in turns, on the same model and examples.

    python benchmarks/tuning_speed.py run train.jsonl                                   # beside Trainer
    python benchmarks/tuning_speed.py run train.tsv --task similarity                   # SentenceTransformerTrainer
    python benchmarks/tuning_speed.py run train.jsonl --dev dev.jsonl --lrs 1e-4,3e-4,1e-3      # and to the same score
    python benchmarks/tuning_speed.py run train.jsonl --clock processor                 # a machine that is never quiet

Both start from the same weights and take 32 examples a step; a turn is so many steps of each, in float32 and in
bfloat16. Ours is `unmask tune` as it comes. With `--dev` both train to the end as well, theirs with the best of a few
rates, and the dev score is measured on all of it at eleven moments: how soon ours has the best that theirs comes to,
its steps taking what they take in the race.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import tyro
from recorded import Figures, kept, key
from tuning_rivals import BATCH, FIGURE, Task, Tuned, scores_of, trainer_of
from turns import THREADS, Clock, Seconds, Spread, Turn, race, ratios

from unmask.files import sha256_of

RATE = 3e-4
STEPS = 100_000  # of the schedule of a race: more than any takes
PRECISIONS = "bfloat16,float32"
Scores = list[tuple[int, float]]  # steps, and the dev score after them


def ours(turn: Turn, *, task: Task, run: Path, train: Path, steps: int, precision: str) -> None:
    """The steps of `unmask tune`."""
    from unmask.tasks.request import new_request
    from unmask.tasks.tune import TASKS
    from unmask.training.machine.allocator import keep_large_blocks
    from unmask.training.machine.computing import Computing
    from unmask.training.session import Session
    from unmask.training.step import StepOptions, take_step

    keep_large_blocks()
    tuning, _ = TASKS[task].open(new_request({"model": run, "train": train}, {"lr": RATE}))
    session = Session.begin(tuning.job(), STEPS, Computing(device="cpu", precision=precision))
    session.learner.train()
    options = StepOptions(precision=session.precision)
    for step in range(STEPS):
        if step % steps == 0:
            turn()
        take_step(session.learner, session.optimizer, session.source, step=step, options=options)


def theirs(turn: Turn, *, task: Task, run: Path, train: Path, steps: int, precision: str) -> None:
    """The steps of their trainer."""

    def after_step(step: int) -> None:
        if step % steps == 0:
            turn()

    plan = Tuned(model=run, train=train, steps=STEPS, lr=RATE, bf16=precision == "bfloat16")
    trainer = trainer_of(task, plan, after_step)
    turn()
    trainer.train()


def our_scores(task: Task, run: Path, train: Path, dev: Path, seed: int) -> Figures:
    """`unmask tune` to its end: the dev score after so many steps."""
    import unmask
    from unmask.runs.history import read_lines

    out = Path(tempfile.mkdtemp(prefix="tuning-")) / "run"
    try:
        unmask.tune(task, run, train, dev=dev, out=out, seed=seed)
        lines, name = [*read_lines(out / "metrics.jsonl")], f"validation_{FIGURE[task]}"
        scores = [(line["step"], line[name]) for line in lines if name in line]
    finally:
        shutil.rmtree(out.parent, ignore_errors=True)
    return {"scores": scores, "steps": max(line["step"] for line in lines)}


def steps_to(scores: Scores, goal: float) -> int | None:
    """The first moment that has the score.

    >>> steps_to([(10, 0.6), (20, 0.7), (30, 0.69)], 0.65), steps_to([(10, 0.6)], 0.7)
    (20, None)
    """
    return next((step for step, score in scores if score >= goal), None)


def race_both(
    task: Task, run: Path, train: Path, precisions: Sequence[str], steps: int, rounds: int, clock: Clock
) -> float:
    """How many times as fast ours is, each side in its faster precision; what each does in a second is printed."""
    case = {"task": task, "run": run, "train": train, "steps": steps}
    sides = {
        f"{name} {precision}": partial(side, **case, precision=precision)
        for name, side in (("unmask", ours), ("theirs", theirs))
        for precision in precisions
    }
    seconds = race(sides, rounds=rounds, warm=1, threads=THREADS[clock], clock=clock)
    for name, taken in seconds.items():
        print(f"{name}: {Spread.of([BATCH * steps / one for one in taken]):.0f} examples a second")
    ahead, behind = fastest(seconds, "unmask"), fastest(seconds, "theirs")
    faster = ratios(seconds, behind, ahead)
    print(f"{ahead} is {faster:.2f} times as fast as {behind}")
    return faster.median


def fastest(seconds: Seconds, side: str) -> str:
    """The faster precision of a side."""
    return min((name for name in seconds if name.startswith(side)), key=lambda name: Spread.of(seconds[name]).median)


def main(
    run: Path,
    train: Path,
    /,
    task: Task = "classify",
    dev: Path | None = None,
    lrs: str = "1e-4,3e-4,1e-3",
    seeds: int = 1,
    precisions: str = PRECISIONS,
    steps: int = 10,
    rounds: int = 12,
    faster: float = 1.0,
    clock: Clock = "wall",
    out: Path = Path("benchmarks/results"),
) -> None:
    """Race both sides, and with `--dev` see how soon each has the same score.

    Args:
        run: A run or a model directory that both start from.
        train: Labelled texts, or scored pairs.
        task: What is learnt.
        dev: Examples to measure the score on.
        lrs: Rates of theirs, of which the one with the best score of the first seed is taken.
        seeds: Tunings of each side to a score.
        precisions: What both take turns in, with commas.
        steps: Steps in a turn.
        rounds: Turns of each; 0 for none, to record scores while the machine is busy.
        faster: Without turns: how many times as fast ours takes a step, from a race of before.
        clock: Seconds of the wall, or those that the processor worked for it.
        out: Where scores are kept.
    """
    if rounds:
        faster = race_both(task, run, train, precisions.split(","), steps, rounds, clock)
    if dev is None:
        return
    out.mkdir(parents=True, exist_ok=True)
    tunings = Tunings(task=task, run=run, train=train, dev=dev, out=out)
    report(task, *tunings.raced([float(lr) for lr in lrs.split(",")], seeds), faster)


@dataclass(frozen=True, kw_only=True)
class Tunings:
    """Tunings of both sides from a run to their end, each made once."""

    task: Task
    run: Path
    train: Path
    dev: Path
    out: Path

    def name(self, side: str, seed: int) -> str:
        """What a tuning is kept under: the start by its name, the examples by their content."""
        digest = key(self.task, sha256_of(self.train), sha256_of(self.dev))
        return f"tuning-scores-{self.run.name}-{self.task}-{digest}-{side}-seed-{seed}"

    def raced(self, lrs: Sequence[float], seeds: int) -> tuple[float, list[tuple[Scores, Scores]]]:
        """Their best rate by the first seed, and for each seed the scores of ours and of theirs with that rate."""
        _, steps = self.ours(0)
        lr = max(lrs, key=lambda lr: best(self.theirs(lr, steps, 0)))
        return lr, [(self.ours(seed)[0], self.theirs(lr, steps, seed)) for seed in range(seeds)]

    def ours(self, seed: int) -> tuple[Scores, int]:
        """Of `unmask tune` as it comes, and how many steps it took."""
        run = partial(our_scores, self.task, self.run, self.train, self.dev, seed)
        found = kept(self.out, self.name("ours", seed), run)
        return found["scores"], found["steps"]

    def theirs(self, lr: float, steps: int, seed: int) -> Scores:
        """Of their trainer, in float32."""
        plan = Tuned(model=self.run, train=self.train, dev=self.dev, steps=steps, lr=lr, seed=seed)
        run = partial(scores_of, self.task, plan)
        return kept(self.out, self.name(f"theirs-{lr:g}", seed), lambda: {"scores": run()})["scores"]


def best(scores: Scores) -> float:
    """The best of all moments."""
    return max(score for _, score in scores)


def report(task: Task, lr: float, raced: list[tuple[Scores, Scores]], faster: float) -> None:
    """Whose score is the better, and how soon each has what theirs comes to."""
    print(
        f"\ntheirs with a rate of {lr:g}; steps to a share of their best dev {FIGURE[task]}; ours takes a step "
        f"{faster:.2f} times as fast\n"
    )
    shares = (1.0, 0.99, 0.97)
    heads = [f"{share:.0%}: theirs, ours, times as soon" for share in shares]
    print(f"| seed | theirs | ours | {' | '.join(heads)} |\n" + "|---" * (3 + len(shares)) + "|")
    for seed, (ours_scores, theirs_scores) in enumerate(raced):
        cells = [f"{seed}", f"{best(theirs_scores):.4f}", f"{best(ours_scores):.4f}"]
        for share in shares:
            goal = share * best(theirs_scores)
            they, we = steps_to(theirs_scores, goal), steps_to(ours_scores, goal)
            cells.append(f"{they}, " + ("never" if we is None else f"{we}, {they / max(we, 1) * faster:.2f}"))
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    tyro.cli(main)
