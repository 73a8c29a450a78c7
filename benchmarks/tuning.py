"""What each task comes to from a pretrained model, from fresh weights of the same shape, and from another encoder.

    python benchmarks/tuning.py run shared-data --out results                    # what is not there yet, then the table
    python benchmarks/tuning.py run shared-data --out results --encoder minilm   # another encoder beside it
    python benchmarks/tuning.py run shared-data --out results --only sst2 --seeds 1 --minutes 2

Every cell is `unmask tune TASK` as it comes, with a budget in minutes for each run where one is given; the figure is
that of test, with the interval of its examples, and with several seeds their mean and range. `shared-data` has a folder
for each data set; one that is not there is left out.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import tyro
from recorded import Figures, kept, key

import unmask
from unmask.results import to_plain


@dataclass(frozen=True)
class Case:
    """A task on a data set."""

    task: str
    train: str
    test: str | None = None
    dev: str | None = None
    figure: str = "accuracy"  # of what was judged
    head: str | None = None  # of retrieve


CASES = {
    "sst2": Case("classify", "sst2/sentences.train.jsonl", "sst2/sentences.test.jsonl", "sst2/sentences.dev.jsonl"),
    "chemprot": Case("classify", "chemprot/train.jsonl", "chemprot/test.jsonl", "chemprot/dev.jsonl", "macro_f1"),
    "wnut17": Case("tag", "ner_wnut17/train.conll", "ner_wnut17/test.conll", "ner_wnut17/dev.conll", "f1"),
    "squad": Case("answer", "squad/train_v2_small.json.gz", "squad/dev_xquad_en.json", figure="f1"),
    "stsb": Case("similarity", "stsb/en/train.tsv", "stsb/en/test.tsv", "stsb/en/dev.tsv", "spearman"),
    "cranfield": Case("retrieve", "cranfield", figure="ndcg_10"),
    "cranfield-sparse": Case("retrieve", "cranfield", figure="ndcg_10", head="sparse"),
    "cranfield-cross": Case("retrieve", "cranfield", figure="ndcg_10", head="cross"),
}
STARTS = ("pretrained", "scratch", "encoder")


def run_case(case: Case, data: Path, model: Path, start: str, seed: int, minutes: float | None) -> Figures:
    """Tune once; the figures of test and those of the baselines."""
    out = Path(tempfile.mkdtemp(prefix="tuning-")) / "run"
    places = {name: data / place for name in ("dev", "test") if (place := getattr(case, name)) is not None}
    settings: dict[str, Any] = {"start": "scratch" if start == "scratch" else "pretrained", "seed": seed}
    if case.head is not None:
        settings["head"] = case.head
    try:
        result = unmask.tune(
            case.task,
            model,
            data / case.train,
            out=out,
            minutes=minutes,
            **places,
            **settings,  # type: ignore[arg-type]
        )
    finally:
        shutil.rmtree(out.parent, ignore_errors=True)
    judged = result.test if result.test is not None else result.folds
    assert judged is not None
    return {
        "figure": asdict(getattr(judged, case.figure)),
        "baselines": {each.name: asdict(getattr(each, case.figure)) for each in judged.baselines},
        "dev": to_plain(dict(result.figures)),
        "steps": result.steps,
        "seconds": result.seconds,
    }


def cell(found: list[Figures]) -> str:
    """One seed with its interval, or the mean of several with their range."""
    values = [run["figure"]["value"] for run in found]
    if not values:
        return "–"
    if len(values) == 1:
        return f"{values[0]:.3f} ({found[0]['figure']['low']:.3f}–{found[0]['figure']['high']:.3f})"
    return f"{fmean(values):.3f} ({min(values):.3f}–{max(values):.3f}, {len(values)} seeds)"


def best_baseline(found: list[Figures]) -> str:
    """The best of the simpler ways."""
    if not found:
        return "–"
    name, figure = max(found[0]["baselines"].items(), key=lambda item: item[1]["value"])
    return f"{name} {figure['value']:.3f}"


def main(
    run: Path,
    data: Path,
    /,
    out: Path = Path("results"),
    encoder: Path | None = None,
    only: str | None = None,
    seeds: int = 3,
    minutes: float | None = None,
    report_only: bool = False,
) -> None:
    """Tune every task from every start, and print what came of it.

    Args:
        run: The pretrained run.
        data: A folder with a folder for each data set.
        out: Where results are kept.
        encoder: Another encoder to start from.
        only: One data set.
        seeds: Runs of each.
        minutes: The budget of each run; as `tune` has it if not given.
        report_only: Print what is there.
    """
    out.mkdir(parents=True, exist_ok=True)
    heads = ("data", "task", "figure", "best baseline", "pretrained", "fresh weights", "other encoder")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name, case in CASES.items():
        if (only is not None and name != only) or not (data / case.train).exists():
            continue
        cells, first = [], []
        for start in STARTS:
            model = encoder if start == "encoder" else run
            if start == "encoder" and case.head == "sparse":
                model = None  # it has no head that fills blanks
            found = []
            for seed in range(seeds) if model is not None else ():
                digest = key(name, str(model), start, seed, minutes)
                file = f"tuning-{name}-{start}-{seed}-{digest}"
                if model is not None and (not report_only or (out / f"{file}.json").exists()):
                    tuned = partial(run_case, case, data, model, start, seed, minutes)
                    found.append(kept(out, file, tuned))
            first = first or found
            cells.append(cell(found))
        print(f"| {name} | {case.task} | {case.figure} | {best_baseline(first)} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    tyro.cli(main)
