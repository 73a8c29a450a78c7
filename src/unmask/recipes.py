"""Named, complete configurations: what `--recipe` says.

A recipe is a kind (`electra`: a family of models, an objective, a policy) in a size (`mini`). A size alone means the
default kind, ModernBERT, which reaches a lower held-out loss than BERT in the same time (`benchmarks/families.py`);
a kind alone means the size mini.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from unmask.errors import BadInput
from unmask.models.families import SIZES
from unmask.training.loop import Training
from unmask.training.optimizer import Optimizing
from unmask.training.work import Recipe

DEFAULT_KIND, DEFAULT_SIZE = "modernbert", "mini"


@dataclass(frozen=True)
class Kind:
    """A published method: its family of models, and where its training differs from the default."""

    family: str
    training: Mapping[str, Any] = field(default_factory=dict)


KINDS = {
    "modernbert": Kind("modernbert"),
    "bert": Kind("bert"),
    "bert-wwm": Kind("bert", {"policy": "word"}),
    "spanbert": Kind("bert", {"objective": "spans", "policy": "span", "rate": "0.15"}),
    "xlnet": Kind("xlnet", {"objective": "permuted", "policy": "permutation", "rate": "0.1667"}),
    "deberta": Kind("deberta", {"policy": "ngram"}),
    "electra": Kind("electra", {"objective": "replaced", "policy": "token mask=1 random=0", "rate": "0.15"}),
    "deberta-v3": Kind(
        "deberta-v3", {"objective": "replaced-disentangled", "policy": "token mask=1 random=0", "rate": "0.15"}
    ),
}


def recipe(name: str, **changes: Any) -> Recipe:
    """The recipe of a name: a kind, a size or both; `changes` are settings of `Training` to take instead.

    >>> [(made.family, made.size) for made in map(recipe, ("mini", "bert", "bert-wwm-tiny"))]
    [('modernbert', 'mini'), ('bert', 'mini'), ('bert', 'tiny')]
    """
    kind, _, size = name.rpartition("-") if name.rpartition("-")[2] in SIZES else (name, "", DEFAULT_SIZE)
    kind = kind or DEFAULT_KIND
    if kind not in KINDS or size not in SIZES:
        kinds, sizes = ", ".join(KINDS), ", ".join(SIZES)
        raise BadInput(f"--recipe {name}: there is no such recipe; kinds are {kinds}, in the sizes {sizes}: bert-mini")
    training = replace(TRAINING[size], **{**KINDS[kind].training, **changes})
    return Recipe(name=name, family=KINDS[kind].family, size=size, training=training)


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
