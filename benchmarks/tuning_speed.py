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

import json
import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import tyro
from recorded import Figures, kept, key
from tuning_rivals import BATCH, FIGURE, Task, Tuned, scores_of, trainer_of
from turns import THREADS, Clock, Seconds, Spread, Turn, race, ratios

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
    clock: Clock = "wall",
    out: Path = Path("benchmarks/results"),
) -> None:
    """Race both sides, and with `--dev` see how soon each has the same score.

    Args:
        run: A run or a model directory that both start from.
        train: Labelled texts, or scored pairs.
        task: What is learnt.
        dev: Examples to measure the score on.
        lrs: Rates of theirs, of which the one with the best score is taken.
        seeds: Tunings of each side to a score.
        precisions: What both take turns in, with commas.
        steps: Steps in a turn.
        rounds: Turns of each; 0 for none, to record scores while the machine is busy: steps then count alike.
        clock: Seconds of the wall, or those that the processor worked for it.
        out: Where scores are kept.
    """
    faster = race_both(task, run, train, precisions.split(","), steps, rounds, clock) if rounds else 1.0
    if dev is None:
        return
    out.mkdir(parents=True, exist_ok=True)
    for seed in range(seeds):
        digest = key(str(run), str(train), str(dev), task, seed)
        mine = kept(out, f"tuning-scores-ours-{digest}", partial(our_scores, task, run, train, dev, seed))
        found: dict[float, Scores] = {}
        for lr in map(float, lrs.split(",")):
            plan = Tuned(model=run, train=train, dev=dev, steps=mine["steps"], lr=lr, seed=seed)
            name = f"tuning-scores-theirs-{digest}-{lr}"
            found[lr] = kept(out, name, lambda plan=plan: {"scores": scores_of(task, plan)})["scores"]
        report(task, mine["scores"], found, faster)


def report(task: Task, mine: Scores, found: dict[float, Scores], faster: float) -> None:
    """Whose score is the better, and how soon ours has theirs."""
    lr, best = max(((lr, max(score for _, score in scores)) for lr, scores in found.items()), key=lambda pair: pair[1])
    print(f"dev {FIGURE[task]}: ours {max(score for _, score in mine):.4f}, theirs {best:.4f} (lr {lr:g})")
    for share in (1.0, 0.99, 0.97):
        theirs_steps, ours_steps = steps_to(found[lr], share * best), steps_to(mine, share * best)
        assert theirs_steps is not None
        if ours_steps is None:
            print(f"  {share:.0%} of theirs: after {theirs_steps} steps, ours never")
            continue
        times = theirs_steps / ours_steps * faster
        print(
            f"  {share:.0%} of theirs: they after {theirs_steps} steps, ours after {ours_steps}: {times:.2f} × as soon"
        )
    print(json.dumps({"ours": mine, "theirs": {str(lr): scores for lr, scores in found.items()}}))


if __name__ == "__main__":
    tyro.cli(main)
