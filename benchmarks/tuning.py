"""What each task comes to from a pretrained model, from fresh weights of the same shape, and from another encoder.

    python benchmarks/tuning.py run shared-data --out results                    # what is not there yet, then the table
    python benchmarks/tuning.py run shared-data --out results --encoder minilm   # another encoder beside it
    python benchmarks/tuning.py run shared-data --out results --only sst2,stsb --seeds 1
    python benchmarks/tuning.py run shared-data --out results --encoder minilm --starts encoder
    python benchmarks/tuning.py run shared-data --out results --share 1/2        # the other half by another process

Every cell is `unmask tune TASK` as it comes, but for the passes over the largest data sets, which `CASES` has; the
figure is that of test, with the interval of its examples, and with several seeds their mean and range. Where there is
no test, it is that of the folds, whose model of all examples is left out. The questions of XQuAD all have an answer,
and so have those that are learnt from here. `shared-data` has a folder for each data set; one that is not there is left
out. What is there is not made again, and what was killed goes on.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import tyro
from recorded import Figures, kept, key

import unmask
from unmask.evaluation.tuned.judge import JUDGES
from unmask.models.locate import model_directory
from unmask.results import to_plain
from unmask.tasks.request import new_request
from unmask.tasks.start import weights_digest
from unmask.tasks.tune import TASKS, run_tuning


@dataclass(frozen=True)
class Case:
    """A task on a data set."""

    task: str
    train: str
    test: str | None = None
    dev: str | None = None
    figure: str = "accuracy"  # of what was judged
    head: str | None = None  # of retrieve
    epochs: float | None = None  # as `tune` has it if not given
    answerable: bool = False  # whether questions without an answer are left out


@dataclass(frozen=True)
class Cell:
    """A task learnt from a start with several seeds."""

    name: str
    start: str
    seeds: int
    model: Path

    @property
    def file(self) -> str:
        """What its figures are called: another model or other passes have another name."""
        marks = ("answerable",) if self.case.answerable else ()
        known = key(self.name, weights_digest(model_directory(self.model)), self.start, self.case.epochs, *marks)
        return f"tuning-{self.name}-{self.start}-{self.seeds}-{known}"

    @property
    def case(self) -> Case:
        """What is learnt."""
        return CASES[self.name]


CASES = {
    "sst2": Case("classify", "sst2/sentences.train.jsonl", "sst2/sentences.test.jsonl", "sst2/sentences.dev.jsonl"),
    "chemprot": Case("classify", "chemprot/train.jsonl", "chemprot/test.jsonl", "chemprot/dev.jsonl", epochs=2),
    "wnut17": Case("tag", "ner_wnut17/train.conll", "ner_wnut17/test.conll", "ner_wnut17/dev.conll", "f1"),
    "squad": Case(
        "answer", "squad/train_v2_small.json.gz", "squad/dev_xquad_en.json", figure="f1", epochs=2, answerable=True
    ),
    "stsb": Case("similarity", "stsb/en/train.tsv", "stsb/en/test.tsv", "stsb/en/dev.tsv", "spearman"),
    "cranfield": Case("retrieve", "cranfield", figure="ndcg_10", epochs=1),
    "cranfield-sparse": Case("retrieve", "cranfield", figure="ndcg_10", head="sparse", epochs=1),
    "cranfield-cross": Case("retrieve", "cranfield", figure="ndcg_10", head="cross", epochs=0.25),
}
STARTS = ("pretrained", "scratch", "encoder")


def run_cell(cell: Cell, data: Path, out: Path) -> Figures:
    """Tune with every seed; the figures of test by seed, and those of the baselines."""
    if cell.case.test is not None:
        return in_folder(out / f"{cell.file}.runs", partial(tuned, cell, data))
    one = replace(cell, seeds=1)
    runs = []
    for seed in range(cell.seeds):
        name = f"{one.file}-{seed}"
        runs.append(kept(out, name, partial(in_folder, out / f"{name}.runs", partial(folded, one, data, seed))))
    return {**runs[0], "values": [run["figure"]["value"] for run in runs]}


def in_folder(folder: Path, make: Callable[[Path], Figures]) -> Figures:
    """What is made in a folder, which stays until it is made: what was killed goes on there."""
    folder.mkdir(parents=True, exist_ok=True)
    made = make(folder)
    shutil.rmtree(folder)
    return made


def tuned(cell: Cell, data: Path, folder: Path) -> Figures:
    """One call of `tune`, judged by test."""
    case = cell.case
    train = answerable(data / case.train, folder) if case.answerable else data / case.train
    places = {name: data / place for name in ("dev", "test") if (place := getattr(case, name)) is not None}
    run = folder / "run"
    begun = any((run / name).exists() for name in ("run.json", "trials.json"))
    asked = {"resume": run} if begun else {"out": run, **places, **settings_of(cell), "seeds": cell.seeds}
    result: Any = unmask.tune(case.task, *(() if begun else (cell.model, train)), **asked)
    figures = figures_of(case, result.test)
    return {
        **figures,
        "values": [trial.test for trial in result.trials if trial.test is not None] or [figures["figure"]["value"]],
        "dev": to_plain(dict(result.figures)),
        "steps": result.steps,
        "seconds": result.seconds,
    }


def folded(cell: Cell, data: Path, seed: int, folder: Path) -> Figures:
    """The folds of `tune`, by which every example is judged once."""
    case, train = cell.case, data / cell.case.train
    options = {"options": {"head": case.head}} if case.head is not None else {}
    request = new_request({"model": cell.model, "train": train}, {**settings_of(cell), **options, "seed": seed})
    learnt, _ = TASKS[case.task].open(request)
    folds = learnt.folds(TASKS[case.task].folds(train))
    runs = []
    for number, fold in enumerate(folds):
        place = folder / str(number)
        begun = (place / "run.json").exists()
        runs.append(run_tuning(place, *fold, replace(request, resume=begun)))
    judged = JUDGES[case.task].folds(runs)
    seconds = sum(run.run.seconds for run in runs)
    return {**figures_of(case, judged), "steps": runs[0].run.steps, "seconds": seconds}


def settings_of(cell: Cell) -> dict[str, Any]:
    """What a tuning is told beside its data."""
    passes = {} if cell.case.epochs is None else {"epochs": cell.case.epochs}
    return {"start": "scratch" if cell.start == "scratch" else "pretrained", **passes}


def figures_of(case: Case, judged: Any) -> Figures:
    """The figure of a task, and of what it is beside."""
    return {
        "figure": asdict(getattr(judged, case.figure)),
        "baselines": {each.name: asdict(getattr(each, case.figure)) for each in judged.baselines},
    }


def answerable(path: Path, folder: Path) -> Path:
    """A file with the questions of another that have an answer."""
    content = json.loads(gzip.decompress(path.read_bytes()))
    for article in content["data"]:
        for paragraph in article["paragraphs"]:
            paragraph["qas"] = [each for each in paragraph["qas"] if not each.get("is_impossible", False)]
    chosen = folder / "answerable.json"
    chosen.write_text(json.dumps(content), encoding="utf-8")
    return chosen


def spelt(made: Figures | None) -> str:
    """One seed with its interval, or the mean of several with their range and the interval of the one that is kept.

    >>> spelt({"values": [0.5, 0.6], "figure": {"value": 0.6, "low": 0.55, "high": 0.65}})
    '0.550 (0.500–0.600 of 2 seeds, kept 0.550–0.650)'
    """
    if made is None:
        return "–"
    values, interval = made["values"], f"{made['figure']['low']:.3f}–{made['figure']['high']:.3f}"
    if len(values) == 1:
        return f"{values[0]:.3f} ({interval})"
    return f"{fmean(values):.3f} ({min(values):.3f}–{max(values):.3f} of {len(values)} seeds, kept {interval})"


def best_baseline(made: Figures) -> str:
    """The best of the simpler ways."""
    name, figure = max(made["baselines"].items(), key=lambda item: item[1]["value"])
    return f"{name} {figure['value']:.3f}"


def cells_of(
    run: Path, encoder: Path | None, data: Path, only: str | None, starts: str | None, seeds: int
) -> list[Cell]:
    """Everything to be tuned."""
    models = {"pretrained": run, "scratch": run, "encoder": encoder}
    if starts is not None:
        models = {start: models[start] for start in starts.split(",")}
    return [
        Cell(name, start, seeds, model)
        for name, case in CASES.items()
        for start, model in models.items()
        if model is not None and (only is None or name in only.split(",")) and (data / case.train).exists()
        if not (start == "encoder" and case.head == "sparse")  # it has no head that fills blanks
    ]


def main(
    run: Path,
    data: Path,
    /,
    out: Path = Path("results"),
    encoder: Path | None = None,
    only: str | None = None,
    starts: str | None = None,
    seeds: int = 3,
    share: str = "1/1",
    report_only: bool = False,
) -> None:
    """Tune every task from every start, and print what came of it.

    Args:
        run: The pretrained run.
        data: A folder with a folder for each data set.
        out: Where results are kept.
        encoder: Another encoder to start from.
        only: Some of the data sets, with commas.
        starts: Some of pretrained, scratch and encoder, with commas.
        seeds: Runs of each.
        share: Which part of the work is done here, of how many.
        report_only: Print what is there.
    """
    out.mkdir(parents=True, exist_ok=True)
    cells = cells_of(run, encoder, data, only, starts, seeds)
    part, parts = map(int, share.split("/"))
    for cell in () if report_only else cells[part - 1 :: parts]:
        kept(out, cell.file, partial(run_cell, cell, data, out))
    known = {
        (cell.name, cell.start): kept(out, cell.file, dict) for cell in cells if (out / f"{cell.file}.json").exists()
    }
    heads = ("data", "task", "figure", "best baseline", "pretrained", "fresh weights", "other encoder")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name, case in CASES.items():
        row = [known.get((name, start)) for start in STARTS]
        if first := next((made for made in row if made is not None), None):
            print(f"| {name} | {case.task} | {case.figure} | {best_baseline(first)} | {' | '.join(map(spelt, row))} |")


if __name__ == "__main__":
    tyro.cli(main)
