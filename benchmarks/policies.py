"""Does it pay to hide what is harder to guess? Policies under equal operations, beside how hard they are.

    python benchmarks/policies.py data --out results                     # what is not there yet, then the table
    python benchmarks/policies.py data --out results --only span         # one policy
    python benchmarks/policies.py data --out results --report-only       # the table of what is there
    python benchmarks/policies.py data --size tiny --share 0.02 --seeds 0 --out trial     # a quick try

The default kind, all of it alike but the policy: rate, schedule, steps. Hardness is that of `unmask audit --hardness`
at the rate that training begins with. The loss is on the fixed masks, which hide single tokens: what `token` trains
for, so it has the advantage there; probes of frozen vectors have no such favourite. Three seeds, mean and range.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Literal

import tyro
from equal_operations import Trial, interval, mean_and_range
from recorded import Figures, kept, key

from unmask.evaluation.hardness import measure_hardness
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import Recipe
from unmask.results import to_plain
from unmask.tokens.store.dataset import Dataset

Name = Literal["token", "word", "span", "ngram", "collocation"]
POLICIES: tuple[Name, ...] = ("token", "word", "span", "ngram", "collocation")


def hardness(data: Path, out: Path, recipe: Recipe) -> dict[str, Figures]:
    """How hard each policy is, by its name."""
    settings = recipe.settings
    digest = key(POLICIES, settings.rate, settings.lengths.first, Dataset.open(data).fingerprint)

    def run() -> Figures:
        return to_plain(asdict(measure_hardness(data, POLICIES, rate=settings.rate, length=settings.lengths.first)))

    return {each["policy"]: each for each in kept(out, f"hardness-{data.name}-{digest}", run)["policies"]}


def report(found: dict[str, list[Figures]], hard: dict[str, Figures]) -> None:
    """The table of what is there."""
    names = sorted({name for runs in found.values() for run in runs for name in run["probes"]})
    heads = ["policy", "seeds", "bits a hidden token", "under 1 bit", "masked loss", "accuracy", *names]
    print("\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for policy, runs in found.items():
        cells = [
            policy,
            str(len(runs)),
            interval(hard[policy]["bits"], ".2f"),
            f"{hard[policy]['under_one_bit']['value']:.1%}",
            mean_and_range([run["masked_loss"]["value"] for run in runs], ".3f"),
            mean_and_range([run["masked_accuracy"]["value"] for run in runs], ".1%"),
            *(mean_and_range([run["probes"][name]["score"]["value"] for run in runs], ".3f") for name in names),
        ]
        print("| " + " | ".join(cells) + " |")
    first = next((run for runs in found.values() for run in runs), None)
    if first is not None:
        print(f"\n{first['steps']:,} steps each, {first['flops']:.3g} operations")


def main(
    data: Path,
    /,
    out: Path = Path("results"),
    only: Name | None = None,
    size: str = "mini",
    share: float = 1.0,
    seeds: tuple[int, ...] = (0, 1, 2),
    report_only: bool = False,
) -> None:
    """Train under each policy, and set what came of it beside how hard it is."""
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[Figures]] = {}
    for policy in POLICIES:
        recipe = recipe_named(size, policy=policy)
        recording = not report_only and only in (None, policy)
        runs = (
            Trial(recipe=recipe, data=data, share=share, seed=seed).figures(out, recording=recording) for seed in seeds
        )
        found[policy] = [run for run in runs if run is not None]
    report(found, hardness(data, out, recipe_named(size)))


if __name__ == "__main__":
    tyro.cli(main)
