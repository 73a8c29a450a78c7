"""How much sooner is a loss reached than with transformers' Trainer? Both sides on the same text, tokens and masks.

    python benchmarks/time_to_loss.py data --out results               # all that is not there yet, then the tables
    python benchmarks/time_to_loss.py data --out results --only theirs # or ours, or times: one part of it
    python benchmarks/time_to_loss.py data --out results --only report # the tables alone

The loss is a function of the step, and only the time of a step depends on how busy the machine is. So curves are
recorded by step, whenever, and steps are timed with both sides taking turns. Every run is a JSON file in `--out`;
what is there is not done again.

Theirs is Trainer with ModernBERT as someone who knows the field would run it, or with `--who plain` BertForMaskedLM as
run_mlm.py makes it (see rival.py): the best of four learning rates, for as many steps as fit into 15 minutes and into
60 (40 for the plain one). Ours: `unmask pretrain --recipe mini`. The question put to ours: which is the smallest budget
of steps, schedule and all, that ends at or below the held-out loss that theirs has at the end of its minutes? What ours
counts in the text before its first step is added to its seconds.

Both sides may compute in bfloat16. Theirs is timed with `TrainingArguments(bf16=True)` and without, and is given the
faster of the two; ours is timed in what `--precision auto` chooses on this machine, and in float32. Curves are of
float32 on both sides, in favour of a side that is timed in bfloat16: its own curve is not expected to end lower.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import ceil, exp, log
from pathlib import Path
from statistics import median
from typing import Literal

import rival
import sides
import torch
import tyro
from recorded import Figures, kept, key
from turns import THREADS, Clock, Spread, race, ratios

from unmask.pretraining.informed import kept_vectors
from unmask.pretraining.pretrain import Pretraining, pretrain
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import Recipe
from unmask.pretraining.validation import measure_masks
from unmask.tokens.held_out import HeldOutSet
from unmask.tokens.store.dataset import Dataset
from unmask.training.budget import Budget
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.computing import Computing
from unmask.training.machine.fastest import HALF, SINGLE, fastest_precision
from unmask.training.precision import AUTO

RATES: dict[rival.Who, tuple[float, ...]] = {
    "plain": (2.5e-4, 5e-4, 1e-3, 2e-3),
    "informed": (1e-3, 1.5e-3, 2e-3, 3e-3),
}
STEPS: dict[rival.Who, tuple[int, int]] = {  # in 15 minutes and in 40 or 60, at the seconds a step took when quiet
    "plain": (1010, 2700),
    "informed": (924, 3696),
}
TRIED: dict[rival.Who, int] = {"plain": 3, "informed": 1}  # into how many parts of the short budget a rate's trial goes
GUESSED: dict[rival.Who, float] = {"plain": 1 / 30, "informed": 1 / 4}  # of their steps, that ours is tried with first
SEEDS = (0, 1, 2)
VALIDATIONS, SAMPLE = 20, 16_384  # along a run of theirs, and the tokens of each; the final loss is over all
CLOSE = 1.06  # the smallest budget is known within 6 %
FALL = 0.9  # nats that a budget e times as large is thought to bring, before two runs say it themselves


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is compared, on what, and where the runs are kept."""

    data: Path
    out: Path
    recipe: Recipe
    short: int  # steps of theirs in 15 minutes
    long: int  # and in the long budget
    who: rival.Who
    plain: bool
    recording: bool  # or only telling what was recorded

    @property
    def their_rows(self) -> int:
        """Blocks in a step of theirs."""
        return {"plain": rival.ROWS, "informed": 32}[self.who]

    @property
    def prefix(self) -> str:
        """Of the names of what is recorded; the plain rival's were first."""
        return {"plain": "", "informed": "informed-"}[self.who]

    def kept(self, name: str, run: Callable[[], Figures]) -> Figures:
        """A run's figures, from the file of that name where it is there."""
        if not self.recording and not (self.out / f"{name}.json").exists():
            raise NotRecorded(name)
        return kept(self.out, name, run)


class NotRecorded(Exception):
    """A run that a report would have told of."""


def theirs(setting: Setting) -> Iterator[Figures]:
    """Their runs: four rates, then three seeds of the best for the short budget, one for the long one."""

    def run(steps: int, rate: float, seed: int) -> Figures:
        variant = {"rows": setting.their_rows, "plain": setting.plain, "who": setting.who}
        plan = rival.Plan(steps=steps, learning_rate=rate, seed=seed, **variant)
        name = f"{setting.prefix}rival-{steps}-steps-rate-{rate:g}-seed-{seed}"
        return setting.kept(name, lambda: record(setting.data, plan, name))

    trial = setting.short // TRIED[setting.who]
    tried = []
    for rate in RATES[setting.who]:
        with suppress(NotRecorded):
            tried.append(run(trial, rate, 0))
    best = min(tried, key=lambda each: each["loss"])
    if trial != setting.short:
        yield best
    for steps, seed in [*((setting.short, seed) for seed in SEEDS), (setting.long, 0)]:
        with suppress(NotRecorded):
            yield run(steps, best["plan"]["learning_rate"], seed)


def record(data: Path, plan: rival.Plan, name: str) -> Figures:
    """One run of Trainer, its loss on our fixed masks by step."""
    keep_large_blocks()  # changes no number, and recording is long
    dataset = Dataset.open(data)
    examples = HeldOutSet.of(dataset.split("valid"), dataset.vocabulary)
    curve: list[tuple[int, float]] = []

    def after_step(step: int) -> None:
        if step % max(1, plan.steps // VALIDATIONS) == 0 or step == plan.steps:
            curve.append((step, measure_masks(trainer.model, examples, SAMPLE)["loss"]))
            print(f"{name}: step {step:,}, held-out loss {curve[-1][1]:.3f}", flush=True)

    trainer = rival.trainer_of(dataset, plan, after_step)
    trainer.train()
    final = measure_masks(trainer.model, examples)
    weights = sum(parameter.numel() for parameter in trainer.model.parameters())
    print(f"{name}: ends at {final['loss']:.3f}, accuracy {final['accuracy']:.1%}", flush=True)
    return {
        "plan": asdict(plan),
        "parameters": weights,
        "loss": final["loss"],
        "accuracy": final["accuracy"],
        "curve": curve,
    }


def ours(setting: Setting) -> Iterator[tuple[Figures, Figures]]:
    """Each run of theirs with the smallest run of ours that ends as low."""
    share = GUESSED[setting.who]
    for run in theirs(setting):
        steps, seed = run["plan"]["steps"], run["plan"]["seed"]
        with suppress(NotRecorded):
            loss_of = partial(loss_of_ours, setting, seed)
            enough = fewest(loss_of, run["loss"], max(2, round(share * steps)))
            share = enough / steps
            yield run, one_of_ours(setting, enough, seed)


def loss_of_ours(setting: Setting, seed: int, steps: int) -> float:
    return one_of_ours(setting, steps, seed)["loss"]


def one_of_ours(setting: Setting, steps: int, seed: int) -> Figures:
    """A whole run of the recipe, as `unmask pretrain --steps` does it."""
    name = f"ours-{key(setting.recipe)}-{steps}-steps-seed-{seed}"
    return setting.kept(name, lambda: pretrained(setting, steps, seed))


def pretrained(setting: Setting, steps: int, seed: int) -> Figures:
    folder = Path(tempfile.mkdtemp(prefix="ours-"))
    try:
        run = pretrain(setting.data, folder / "run", setting.recipe, Budget(steps=steps), seed=seed)
        lines = map(json.loads, (folder / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
        curve = [(line["step"], line["validation_loss"]) for line in lines if "validation_loss" in line]
    finally:
        shutil.rmtree(folder)
    print(f"ours: {steps:,} steps with seed {seed} end at {run.loss:.3f}", flush=True)
    return {
        "plan": {"steps": steps, "seed": seed, "recipe": asdict(setting.recipe)},
        "parameters": run.parameters,
        "loss": run.loss,
        "accuracy": run.accuracy,
        "tokens": run.tokens,
        "curve": curve,
    }


def fewest(loss_of: Callable[[int], float], target: float, guess: int) -> int:
    """The smallest budget, within 6 %, whose loss is at or below the target; losses fall with the log of the budget.

    >>> fewest(lambda steps: 10 - log(steps), target=5.0, guess=40)
    150
    """
    tried: dict[int, float] = {}
    steps = guess
    while True:
        tried[steps] = loss_of(steps)
        missed = max((each for each in tried if tried[each] > target), default=0)
        reached = min((each for each in tried if tried[each] <= target), default=0)
        if reached and (reached <= missed * CLOSE or reached <= missed + 1 or reached == 1):
            return reached
        if missed and reached:
            share = (tried[missed] - target) / (tried[missed] - tried[reached])
            steps = round(exp(log(missed) + share * log(reached / missed)) * 1.01)
            steps = min(max(steps, missed + 1), ceil(reached / CLOSE))  # a miss there ends the search
        else:  # a little beyond where the target is thought to be, so that it lies in between
            beyond = 1.05 if missed else 0.95
            steps = max(1, round(steps * exp((tried[steps] - target) / slope(tried)) * beyond))


def slope(tried: dict[int, float]) -> float:
    """Nats that a budget e times as large brings, by the two largest that were tried."""
    (few, high), (many, low) = sorted(tried.items())[-2:] if len(tried) > 1 else ((1, FALL), (exp(1), 0.0))
    return max(FALL / 6, (high - low) / log(many / few))


def times(setting: Setting, steps: int, rounds: int, clock: Clock) -> Figures:
    """Seconds of a step of each in each precision, taking turns; theirs is Trainer's own, ours evenly over the run."""

    def run() -> Figures:
        plan = rival.Plan(steps=100_000, who=setting.who, rows=setting.their_rows)
        their = {
            precision: partial(sides.theirs, data=setting.data, plan=replace(plan, bf16=precision == HALF))
            for precision in (SINGLE, HALF)
        }
        chosen = automatic_precision()
        our = {
            precision: partial(
                sides.ours,
                data=setting.data,
                recipe=setting.recipe,
                steps=steps,
                spread=rounds + 3,
                computing=Computing(precision=precision, device="cpu"),
            )
            for precision in dict.fromkeys((SINGLE, chosen))
        }
        contenders = {f"theirs {precision}": each for precision, each in their.items()}
        contenders |= {f"ours {precision}": each for precision, each in our.items()}
        return {
            **race(contenders, rounds, threads=THREADS[clock], clock=clock),
            "chosen": chosen,
            "rows": setting.recipe.settings.batch_size,
            "beginning": [seconds_to_begin(setting) for _ in range(3)],
        }

    return setting.kept(f"times-precisions-{setting.prefix}{clock}-{key(setting.recipe)}", run)


def automatic_precision() -> str:
    """What `--precision auto` stands for on these processors."""
    return fastest_precision(Computing(precision=AUTO), torch.device("cpu"))


def seconds_to_begin(setting: Setting) -> float:
    """What it takes to make the learner that the first step finds, with all that is counted in the text for it."""
    pretraining = Pretraining.of(Dataset.open(setting.data), setting.recipe)
    kept_vectors.cache_clear()  # or only the first of several would be counted
    start = time.perf_counter()
    pretraining.learner()
    return time.perf_counter() - start


def fastest_sides(seconds: Figures) -> tuple[str, str]:
    """Whose steps are set beside each other: theirs in its faster precision, ours in what `--precision auto` chose."""
    their = min((f"theirs {SINGLE}", f"theirs {HALF}"), key=lambda side: Spread.of(seconds[side]).median)
    return their, f"ours {seconds['chosen']}"


def report(setting: Setting, pairs: list[tuple[Figures, Figures]], seconds: Figures) -> None:
    """The tables, and the same as JSON."""
    their_side, our_side = fastest_sides(seconds)
    their, our = Spread.of(seconds[their_side]), Spread.of(seconds[our_side])
    single = {side: Spread.of(seconds[f"{side} {SINGLE}"]).median for side in ("theirs", "ours")}
    beginning = median(seconds["beginning"])
    print("\nseconds a step, all taking turns")
    for side in (side for side in seconds if side.startswith(("theirs ", "ours "))):
        print(f"  {side:16} {Spread.of(seconds[side]):.3f}" + (" *" if side in (their_side, our_side) else ""))
    print(f"* set beside each other: theirs in its faster precision, ours in what --precision auto chose; {CURVES}")
    print(f"theirs over ours {ratios(seconds, their_side, our_side):.2f}")
    print(f"ours begins with {beginning:.1f} seconds of counting, which are added to its own\n")
    heads = ("theirs: minutes", "steps", "seed", "held-out loss", "ours: steps", "seconds", "held-out loss")
    print(f"| {' | '.join(heads)} | times as fast | both in float32 |")
    print("|---" * (len(heads) + 2) + "|")
    rows = []
    for run, answer in pairs:
        steps, enough = run["plan"]["steps"], answer["plan"]["steps"]
        long, short = steps * their.median, beginning + enough * our.median
        alike = steps * single["theirs"] / (beginning + enough * single["ours"])
        factors = {"factor": long / short, "factor in float32": alike}
        rows.append({"theirs": run, "ours": answer, "seconds": [long, short], **factors})
        print(
            f"| {long / 60:.1f} | {steps:,} | {run['plan']['seed']} | {run['loss']:.3f} "
            f"| {enough:,} | {short:.0f} | {answer['loss']:.3f} | {long / short:.1f} | {alike:.1f} |"
        )
    known = {"rows": rows, "times": seconds, "recipe": asdict(setting.recipe)}
    (setting.out / "report.json").write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


CURVES = (
    "losses of both sides are of runs in float32, in favour of a side that is timed in bfloat16, which is not expected "
    "to end lower: benchmarks/precision.py has the difference for ours, theirs was not measured"
)


def draw(pairs: list[tuple[Figures, Figures]], seconds: Figures, file: Path) -> None:
    """Both sides' held-out loss against time, a line from each of theirs to the one of ours that ends as low."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    colours, labels = {"theirs": "#999999", "ours": "#1f6f8b"}, {"theirs": "transformers' Trainer", "ours": "unmask"}
    figure, panel = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for pair in pairs:
        ends = []
        for side, timed, run in zip(("theirs", "ours"), fastest_sides(seconds), pair, strict=True):
            minutes = Spread.of(seconds[timed]).median / 60
            ends.append((run["plan"]["steps"] * minutes, run["loss"]))
            steps, losses = zip(*(point for point in run["curve"] if point[0]), strict=True)
            panel.plot([step * minutes for step in steps], losses, color=colours[side], label=labels.pop(side, None))
        panel.plot(*zip(*ends, strict=True), "o:", color="#d1495b", markersize=4, linewidth=1)
    panel.set_xscale("log")
    panel.set_xticks(ticks := [0.25, 0.5, 1, 2, 5, 10, 15, 40], [f"{tick:g}" for tick in ticks])
    panel.minorticks_off()
    panel.set(xlabel="minutes", ylabel="held-out loss, nats a token")
    panel.grid(alpha=0.25)
    panel.legend(frameon=False)
    figure.savefig(file, dpi=150)


def main(
    data: Path,
    /,
    out: Path = Path("time_to_loss"),
    only: Literal["all", "theirs", "ours", "times", "report"] = "all",
    size: str = "mini",
    who: rival.Who = "informed",
    rounds: int = 15,
    clock: Clock = "wall",
    plain: bool = False,
    plot: Path | None = None,
) -> None:
    """Compare."""
    out.mkdir(parents=True, exist_ok=True)
    short, long = STEPS[who]
    recipe, recording = recipe_named(size), only != "report"
    setting = Setting(
        data=data, out=out, recipe=recipe, short=short, long=long, plain=plain, recording=recording, who=who
    )
    if only in ("all", "theirs") and who == "plain" and not plain:
        differences = rival.agrees(Dataset.open(data))
        print("head at the labels alone against Trainer's own:", differences, flush=True)
        assert max(differences["loss"], differences["gradient"]) < 1e-5
    if only == "theirs":
        list(theirs(setting))
        return
    if only == "times":
        times(setting, short // 8, rounds, clock)
        return
    pairs = list(ours(setting))
    if only != "ours":
        seconds = times(setting, pairs[0][1]["plan"]["steps"], rounds, clock)
        report(setting, pairs, seconds)
        if plot is not None:
            draw(pairs, seconds, plot)


if __name__ == "__main__":
    tyro.cli(main)
