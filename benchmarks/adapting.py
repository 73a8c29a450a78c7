"""What adapting brings, part by part: a model before, with more general text, adapted in several ways, from scratch.

    python benchmarks/adapting.py run bio.txt.gz wiki --task chemprot --out results    # all, then the table
    python benchmarks/adapting.py run bio.txt.gz wiki --out results --only vocabulary  # one way, singly
    python benchmarks/adapting.py run bio.txt.gz wiki --out results --report-only      # what is there

Every way takes the same number of steps. `adapted` has half of general text mixed in, `little-replay` the 5 % that
`adapt` takes where nobody says, `no-replay` none. `general` is the control: as many steps more on general text, which
tells adaptation from mere training. Each model is measured on the held-out text of both, and then tuned to a task with
the same seeds, so that differences between ways are paired by seed. What is there is not made again, and a run that was
stopped goes on; every figure is a JSON file in `--out`, the models lie in `--out`/models-….
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import tyro
from recorded import Figures, kept, key
from scipy.stats import t as student

import unmask
from unmask.models.locate import model_directory
from unmask.results import to_plain
from unmask.tasks.start import weights_digest

Settings = dict[str, Any]

WAYS: dict[str, Settings] = {
    "start": {},
    "general": {"domain": "general"},
    "adapted": {"replay": True, "replay_share": 0.5},
    "vocabulary": {"replay": True, "replay_share": 0.5, "extend": True},
    "no-replay": {},
    "scratch": {},
    "little-replay": {"replay": True},
}


def data_in(tokens: Path, text: Path, place: Path) -> Path:
    """A text in the tokens of a model, prepared once; what is a data directory already is taken as it is."""
    if (text / "manifest.json").exists():
        return text
    if not (place / "manifest.json").exists():
        unmask.prepare(text, out=place, tokenizer=str(tokens), valid=0.02)
    return place


def make_model(way: str, run: Path, texts: Mapping[str, Path], models: Path, budget: Settings) -> Figures:
    """Make the model of a way, or go on making it; what is known of it."""
    place, settings = models / way, WAYS[way]
    if way == "start":
        return {"model": str(run)}
    if way == "scratch":
        made = unmask.pretrain(
            texts["domain"],
            out=place,
            recipe=budget["recipe"],
            steps=budget["steps"],
            resume=(place / "run.json").exists(),
        )
        return {"model": str(made.path), "seconds": made.seconds}
    given: Settings = {"steps": budget["steps"], "whole_budget": True}
    if settings.get("replay"):
        given |= {"replay": texts["general"], "forget": budget["forget"]}
    if share := settings.get("replay_share"):
        given["replay_share"] = share
    if settings.get("extend"):
        given |= {"extend": budget["extend"], "warm_steps": budget["warm_steps"]}
    begun = any((place / sign).exists() for sign in ("run.json", "adapting.json"))
    domain = texts[settings.get("domain", "domain")]
    adapted = unmask.adapt(resume=place) if begun else unmask.adapt(run, domain, out=place, **given)
    return {"model": str(adapted.path), "seconds": adapted.seconds, "adapted": to_plain(asdict(adapted))}


def measure(model: Path, data: Path) -> Figures:
    """Loss and bits a byte on held-out text."""
    found = unmask.evaluate(model, data)
    return {"loss": asdict(found.loss), "bits_per_byte": asdict(found.bits_per_byte)}


def tune(model: Path, task: Path, seeds: int, epochs: float | None) -> Figures:
    """The task's accuracy on test, by seed; of one label a text it is the micro F1 that the task is reported by."""
    out = Path(tempfile.mkdtemp(prefix="adapting-")) / "run"
    files = {name: task / f"{name}.jsonl" for name in ("dev", "test")}
    try:
        result: Any = unmask.tune("classify", model, task / "train.jsonl", out=out, seeds=seeds, epochs=epochs, **files)
    finally:
        shutil.rmtree(out.parent, ignore_errors=True)
    return {
        "accuracy": [trial.test for trial in result.trials] or [result.test.accuracy.value],
        "kept": {"accuracy": asdict(result.test.accuracy), "macro_f1": asdict(result.test.macro_f1)},
        "baselines": {each.name: each.accuracy.value for each in result.test.baselines},
        "steps": result.steps,
    }


def paired(first: list[float], second: list[float]) -> str:
    """The mean of differences over the same seeds, with its 95 % interval.

    >>> paired([0.5, 0.6, 0.7], [0.4, 0.5, 0.5])
    '+0.133 ±0.143'
    """
    differences = np.array(first) - np.array(second)
    if len(differences) < 2:
        return f"{differences.mean():+.3f}" if len(differences) else "–"
    half = float(student.ppf(0.975, len(differences) - 1)) * differences.std(ddof=1) / np.sqrt(len(differences))
    return f"{differences.mean():+.3f} ±{half:.3f}"


def kept_gain(made: Figures) -> str:
    """The share of the whole gain in the domain that is kept within the budget of forgetting."""
    adapted = made.get("adapted")
    if adapted is None:
        return "–"
    losses = {mixture["share"]: mixture["loss"] for mixture in adapted["mixtures"]}
    whole = losses[0.0] - min(losses.values())
    return f"{(losses[0.0] - losses[adapted['kept']]) / whole:.0%}" if whole > 0 else "–"


def row(way: str, made: Figures, texts: Mapping[str, Figures], scores: list[float], others: list[float]) -> str:
    """A line of the table."""
    cells = [way]
    for name in ("domain", "general"):
        found = texts.get(name)
        cells += ["–", "–"] if found is None else [_spelt(found["loss"]), _spelt(found["bits_per_byte"])]
    cells += [kept_gain(made), f"{fmean(scores):.3f}" if scores else "–", paired(scores, others) if scores else "–"]
    return f"| {' | '.join(cells)} |"


def _spelt(figure: Figures) -> str:
    half = (figure["high"] - figure["low"]) / 2 if figure["low"] is not None else None
    return f"{figure['value']:.3f}" + ("" if half is None else f" ±{half:.3f}")


def main(
    run: Path,
    domain: Path,
    general: Path,
    /,
    out: Path = Path("results"),
    task: Path | None = None,
    only: str | None = None,
    steps: int = 600,
    forget: float = 0.05,
    extend: str = "2000",
    warm_steps: int = 300,
    recipe: str = "mini",
    seeds: int = 3,
    epochs: float | None = None,
    report_only: bool = False,
) -> None:
    """Adapt a model in every way, measure and tune each, and print the table.

    Args:
        run: The pretrained run that every way but scratch starts from.
        domain: Text of the domain, such as bio_corpus/train.txt.gz.
        general: General text, or the data that the run was trained on, whose held-out text it has not seen.
        out: Where figures and models are kept.
        task: A folder with train.jsonl, dev.jsonl and test.jsonl of a classification in the domain.
        only: One of the ways, such as start, general or adapted.
        steps: Of every way.
        forget: The budget of forgetting, in nats.
        extend: Words to add, for the way vocabulary.
        warm_steps: Steps in which they learn alone.
        recipe: Of the model from scratch: that of the run.
        seeds: Tunings of each model.
        epochs: Of each tuning; as `tune` has it if not given.
        report_only: Print what is there.
    """
    out.mkdir(parents=True, exist_ok=True)
    digest = key(weights_digest(model_directory(run)), domain.name, steps, forget, extend, warm_steps, recipe)
    models, tokens = out / f"models-{digest}", run / "model"
    budget = {"steps": steps, "forget": forget, "extend": extend, "warm_steps": warm_steps, "recipe": recipe}
    texts = {"domain": models / "domain-data", "general": models / "general-data"}
    if not report_only:
        texts = {name: data_in(tokens, text, texts[name]) for name, text in (("domain", domain), ("general", general))}

    def step(way: str, name: str, make: Callable[[], Figures]) -> Figures | None:
        file = f"adapting-{way}{name}-{digest}"
        is_made_here = not report_only and only in (None, way)
        return kept(out, file, make) if is_made_here or (out / f"{file}.json").exists() else None

    heads = ("way", "domain, nats", "domain, bits/byte", "general, nats", "general, bits/byte")
    heads += ("gain kept", "task, accuracy", "beside start, paired")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    before: list[float] = []
    for way in WAYS:
        made = step(way, "", partial(make_model, way, run, texts, models, budget))
        if made is None:
            continue
        model = Path(made["model"])
        figures = {name: step(way, f"-on-{name}", partial(measure, model, texts[name])) for name in texts}
        found = (
            None if task is None else step(way, f"-tuned-{epochs}-{seeds}", partial(tune, model, task, seeds, epochs))
        )
        tuned = [] if found is None else found["accuracy"]
        before = before or tuned
        known = {name: found for name, found in figures.items() if found is not None}
        print(row(way, made, known, tuned, before if len(before) == len(tuned) else tuned), flush=True)


if __name__ == "__main__":
    tyro.cli(main)
