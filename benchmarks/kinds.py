"""What does each kind of recipe come to under equal operations, before and after recipes were made to learn?

    python benchmarks/kinds.py data --out results                        # what is not there yet, then the tables
    python benchmarks/kinds.py data --out results --only electra         # one kind
    python benchmarks/kinds.py data --out results --way after            # as it is now, alone
    python benchmarks/kinds.py data --out results --report-only          # the tables of what is there
    python benchmarks/kinds.py data --out results --report-only --plot docs/compare.png
    python benchmarks/kinds.py data --size tiny --share 0.02 --out trial # a quick try

Every kind is trained twice: as its recipe was (`--init frequencies`, the learning rates and the schedule of then) and
as it is (`--init informed`, half of the rates), with as many operations as 320 steps of the default kind take in that
size. The masked loss and accuracy are on the same fixed masks for all that restore masked tokens (of ELECTRA and
DeBERTaV3 it is the generator that does), beside the loss of frequencies alone. Bits per byte are of whole texts, where
a model gives them a probability; of masked diffusion they are a bound. Probes are of the frozen model's vectors. One
seed: intervals know the text that was measured on, not another training.

What replaced-token detection trains restores nothing, so all that can be said of it is its probes: a table of their own
sets them beside the same model before its first step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import tyro
from equal_operations import Trial, interval, unigram_loss
from long_runs import BEFORE
from recorded import Figures

from unmask.errors import BadInput
from unmask.evaluation.chart import draw_chart
from unmask.objectives.curriculum import parse_curriculum
from unmask.pretraining.recipes import KINDS, recipe_named
from unmask.pretraining.settings import Recipe
from unmask.results import ComparedRun, Comparison, Figure, Probed
from unmask.tokens.held_out import HELD_OUT_LENGTH
from unmask.tokens.store.dataset import Dataset

Way = Literal["before", "after"]
WAYS: tuple[Way, ...] = ("before", "after")
Found = dict[str, dict[Way, Figures]]  # by kind


def recipe_of(kind: str, size: str, way: Way, dataset: Dataset) -> Recipe:
    """A kind as it was or is; where the data has no languages there is nothing to smooth between."""
    recipe = recipe_named(f"{kind}-{size}")
    if recipe.settings.smoothing is not None:
        try:
            dataset.languages("train")
        except BadInput:
            recipe = recipe_named(f"{kind}-{size}", smoothing=None)
    if way == "after":
        return recipe
    optimizing = replace(recipe.settings.optimizing, **BEFORE).slower(SLOWER.get(kind, 1 / 2))
    return replace(recipe, settings=replace(recipe.settings, init="frequencies", optimizing=optimizing))


SLOWER = {"electra": 1}  # rates were twice what they are, but for this one's


def detects(kind: str, size: str) -> bool:
    """Whether what it trains tells replaced tokens, and restores none."""
    objective = parse_curriculum(recipe_named(f"{kind}-{size}").settings.objective).main
    return "replaced" in objective.name


def cells_of(ways: dict[Way, Figures], cell: Callable[[Figures], float | None], form: str, shown: list[Way]) -> str:
    """A figure of each of the ways that are shown, where it is defined."""
    values = [cell(ways[way]) if way in ways else None for way in shown]
    if not any(value is not None for value in values):
        return "–"
    return " → ".join("–" if value is None else f"{value:{form}}" for value in values)


def value_of(name: str) -> Callable[[Figures], float | None]:
    """Takes a figure's value from a run, if it has that figure."""
    return lambda run: None if run[name] is None else run[name]["value"]


def probe_of(name: str) -> Callable[[Figures], float | None]:
    """Takes a probe's score from a run, if it was asked."""
    return lambda run: run["probes"][name]["score"]["value"] if name in run["probes"] else None


def report(found: Found, unigram: float) -> None:
    """All kinds in a table, before and after."""
    names = probe_names(found)
    heads = ["kind", "parameters", "steps", "masked loss", "accuracy", "bits per byte", "own loss", *names]
    shown = [way for way in WAYS if any(way in ways for ways in found.values())]
    print(f"\n{' → '.join(shown)}; masked loss of frequencies alone {unigram:.3f}\n")
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for kind, ways in found.items():
        any_way = next(iter(ways.values()))
        bound = "≤ " if any_way["text_bound"] and any_way["text_bits_per_byte"] else ""
        cells = [
            kind,
            f"{any_way['parameters']:,}",
            f"{any_way['steps']:,}",
            cells_of(ways, value_of("masked_loss"), ".3f", shown),
            cells_of(ways, value_of("masked_accuracy"), ".1%", shown),
            bound + cells_of(ways, value_of("text_bits_per_byte"), ".3f", shown),
            cells_of(ways, lambda run: None if run["masked_loss"] else run["own_loss"], ".3f", shown),
            *(cells_of(ways, probe_of(name), ".3f", shown) for name in names),
        ]
        print("| " + " | ".join(cells) + " |")


def report_detectors(found: Found) -> None:
    """The probes of what restores nothing, beside those of the same model before its first step."""
    print("\n| kind | recipe | probe | most frequent label | untrained | trained |\n|---|---|---|---|---|---|")
    for kind, ways in found.items():
        for way, run in ways.items():
            for name, probe in run["probes"].items():
                scores = (interval(probe[which], ".3f") for which in ("untrained", "score"))
                print(f"| {kind} | {way} | {name} | {probe['majority']:.3f} | " + " | ".join(scores) + " |")


def chart(found: Found, data: Path, seed: int) -> bytes:
    """The picture that `unmask compare` draws, of every kind as it is, without how fast they were."""

    def figure(value: Figures | None) -> Figure | None:
        return None if value is None else Figure(**value)

    runs = [
        ComparedRun(
            **{name: ways["after"][name] for name in ("recipe", "parameters", "steps", "tokens", "text_bound")},
            name=kind,
            run=Path(kind),
            seconds=None,
            tokens_per_second=None,
            masked_loss=figure(ways["after"]["masked_loss"]),
            masked_accuracy=figure(ways["after"]["masked_accuracy"]),
            hidden_bits_per_byte=None,
            text_bits_per_byte=figure(ways["after"]["text_bits_per_byte"]),
            figures={},
            probes={
                name: Probed(**probe | {way: Figure(**probe[way]) for way in ("score", "untrained")})
                for name, probe in ways["after"]["probes"].items()
            },
        )
        for kind, ways in found.items()
        if "after" in ways
    ]
    return draw_chart(
        Comparison(path=data, data=data, budget={}, seed=seed, length=HELD_OUT_LENGTH, runs=tuple(runs), plot=data)
    )


def probe_names(found: Found) -> list[str]:
    """What was asked, in order."""
    return list(dict.fromkeys(name for ways in found.values() for run in ways.values() for name in run["probes"]))


def main(
    data: Path,
    /,
    out: Path = Path("results"),
    only: str | None = None,
    way: Way | None = None,
    size: str = "mini",
    share: float = 1.0,
    seed: int = 0,
    report_only: bool = False,
    plot: Path | None = None,
) -> None:
    """Train every kind as it was and as it is, and print what came of it."""
    out.mkdir(parents=True, exist_ok=True)
    if only is not None and only not in KINDS:
        raise SystemExit(f"--only {only}: there is no such kind; there are {', '.join(KINDS)}")
    dataset, found = Dataset.open(data), Found()
    for kind in KINDS:
        ways: dict[Way, Figures] = {}
        for each in WAYS:
            trial = Trial(recipe=recipe_of(kind, size, each, dataset), data=data, share=share, seed=seed)
            recording = not report_only and only in (None, kind) and way in (None, each)
            if (run := trial.figures(out, recording=recording)) is not None:
                ways[each] = run
        if ways:
            found[kind] = ways
    length = min(HELD_OUT_LENGTH, recipe_named(size).settings.lengths.longest)
    report(found, unigram_loss(data, length))
    report_detectors({kind: ways for kind, ways in found.items() if detects(kind, size)})
    if plot is not None:
        plot.write_bytes(chart(found, data, seed))


if __name__ == "__main__":
    tyro.cli(main)
