"""Named, complete configurations: what `--recipe` says.

A recipe is a function that returns one. A size alone (`mini`) means the default family, ModernBERT, which reaches a
lower held-out loss than BERT in the same time (`benchmarks/families.py`); `bert-mini` asks for the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unmask.errors import BadInput
from unmask.models.families import FAMILIES, SIZES
from unmask.training.loop import Training
from unmask.training.optimizer import Optimizing
from unmask.training.work import Recipe

DEFAULT_FAMILY = "modernbert"


def recipe(name: str, **changes: Any) -> Recipe:
    """The recipe of a name: a size, or a family and a size; `changes` are settings of `Training` to take instead."""
    family, _, size = name.rpartition("-")
    family = family or DEFAULT_FAMILY
    if family not in FAMILIES or size not in SIZES:
        names = ", ".join([*SIZES, *(f"{family}-{size}" for family in FAMILIES for size in SIZES)])
        raise BadInput(f"--recipe {name}: there is no such recipe; there are {names}")
    return Recipe(name=name, family=family, size=size, training=replace(TRAINING[size], **changes))


TRAINING = {
    "tiny": Training(rows=32, micro=32),
    "mini": Training(rows=32, micro=32),
    "small": Training(rows=32, micro=16, optimizing=Optimizing(muon=1.5e-2, adamw=2e-3)),
    "base": Training(
        length=512,
        rows=64,
        micro=8,
        rate="linear 0.3 0.15",
        optimizing=Optimizing(muon=1e-2, adamw=1e-3),
    ),
}
