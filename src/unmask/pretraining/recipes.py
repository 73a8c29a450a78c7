"""Named, complete configurations: what `--recipe` says.

A recipe is a kind (`electra`: a family of models, an objective, a policy) in a size (`mini`). A size alone means the
default kind, ModernBERT, which reaches a lower held-out loss than BERT in the same time (`benchmarks/families.py`);
a kind alone means the size mini.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from unmask.corruption.schedule import parse_schedule
from unmask.errors import BadInput, did_you_mean
from unmask.models.families.sizes import SIZES
from unmask.objectives.curriculum import Curriculum, parse_curriculum
from unmask.pretraining.settings import OPTIMIZING, PretrainSettings, Recipe

DEFAULT_KIND, DEFAULT_SIZE = "modernbert", "mini"


@dataclass(frozen=True)
class Kind:
    """A published method: its family of models, and where its training differs from the default."""

    family: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    slower: float = 1.0  # how many times its learning rates go into the size's


KINDS = {
    "modernbert": Kind("modernbert"),
    "bert": Kind("bert"),
    "bert-wwm": Kind("bert", {"policy": "word"}),
    "roberta": Kind("roberta"),
    "ernie": Kind("ernie", {"policy": "token until 0.33; phrase until 0.67; entity", "rate": "0.15"}),
    "xlm-r": Kind("xlm-roberta", {"smoothing": 0.3}),
    "xlm-r-xl": Kind("xlm-roberta-xl", {"smoothing": 0.3}),
    "pmi": Kind("bert", {"policy": "collocation", "rate": "0.15"}),
    "causal": Kind("gpt2", {"objective": "causal", "policy": None, "rate": None}),
    "diffusion": Kind("modernbert", {"objective": "diffusion", "policy": "diffusion", "rate": None}),
    # a quarter of the budget from left to right is better than none (Gisserot-Boukhlef et al. 2025)
    "causal-then-mlm": Kind("modernbert", {"objective": "causal until 0.25; mlm"}),
    "spanbert": Kind("bert", {"objective": "spans", "policy": "span", "rate": "0.15"}),
    "deberta": Kind("deberta", {"policy": "ngram"}),
    # the AUC of a tiny detector after 600 steps: 0.516 with twice the size's rates, 0.566 with two thirds of them
    "electra": Kind(
        "electra", {"objective": "replaced", "policy": "token mask=1 random=0", "rate": "0.15"}, slower=1.5
    ),
    "deberta-v3": Kind(
        "deberta-v3", {"objective": "replaced-disentangled", "policy": "token mask=1 random=0", "rate": "0.15"}
    ),
    "xlnet": Kind("xlnet", {"objective": "permuted", "policy": "permutation", "rate": None}),
    "mpnet": Kind("mpnet", {"objective": "masked-permuted", "policy": "masked-permutation", "rate": "0.15"}),
    "t5": Kind("t5", {"objective": "seq2seq", "policy": "sentinel", "rate": "0.15"}),
}


# where each was published
PAPERS = {
    "modernbert": "ModernBERT, Warner et al. 2024",
    "bert": "BERT, Devlin et al. 2019",
    "bert-wwm": "whole-word masking, Cui et al. 2019",
    "roberta": "RoBERTa, Liu et al. 2019",
    "ernie": "ERNIE, Sun et al. 2019",
    "xlm-r": "XLM-R, Conneau et al. 2020",
    "xlm-r-xl": "XLM-R XL, Goyal et al. 2021",
    "pmi": "PMI-masking, Levine et al. 2021",
    "causal": "GPT-2, Radford et al. 2019",
    "diffusion": "MDLM, Sahoo et al. 2024",
    "causal-then-mlm": "Gisserot-Boukhlef et al. 2025",
    "spanbert": "SpanBERT, Joshi et al. 2020",
    "deberta": "DeBERTa, He et al. 2021",
    "electra": "ELECTRA, Clark et al. 2020",
    "deberta-v3": "DeBERTaV3, He et al. 2021",
    "xlnet": "XLNet, Yang et al. 2019",
    "mpnet": "MPNet, Song et al. 2020",
    "t5": "T5, Raffel et al. 2020",
}


def recipe_named(name: str, **changes: Any) -> Recipe:
    """The recipe of a name: a kind, a size or both; `changes` are settings of `PretrainSettings` to take instead.

    >>> [(made.family, made.size) for made in map(recipe_named, ("mini", "bert", "bert-wwm-tiny"))]
    [('modernbert', 'mini'), ('bert', 'mini'), ('bert', 'tiny')]
    """
    kind, _, size = name.rpartition("-") if name.rpartition("-")[2] in SIZES else (name, "", DEFAULT_SIZE)
    kind = kind or DEFAULT_KIND
    if kind not in KINDS or size not in SIZES:
        kinds, sizes = ", ".join(KINDS), ", ".join(SIZES)
        names = f"kinds are {kinds}, in the sizes {sizes}: bert-mini"
        raise BadInput(f"--recipe {name}: there is no such recipe; {_similar_recipe(name) or names}")
    usual = SETTINGS[size]
    usual = replace(usual, optimizing=usual.optimizing.slower(KINDS[kind].slower))
    settings = replace(usual, **{**KINDS[kind].settings, **changes})
    curriculum = parse_curriculum(settings.objective)
    # by its own names, whatever it was asked for by
    settings = replace(settings, objective=str(curriculum), length=settings.lengths.setting)
    for objective in curriculum.objectives:
        if objective.families is not None and KINDS[kind].family not in objective.families:
            fitting = ", ".join(other for other, definition in KINDS.items() if definition.family in objective.families)
            raise BadInput(f"--recipe {kind}: the objective {objective.name} does not train it; it trains {fitting}")
    if "objective" in changes and "policy" not in changes:
        settings = with_fitting_policy(settings, curriculum, changes.get("rate"))
    return Recipe(name=name, family=KINDS[kind].family, size=size, settings=settings)


def recipe_names() -> list[str]:
    """Every name that `recipe_named` takes: kinds, sizes, and both together.

    >>> [name for name in recipe_names() if name.endswith("mini")][:3]
    ['mini', 'modernbert-mini', 'bert-mini']
    """
    return [*KINDS, *SIZES, *(f"{kind}-{size}" for kind in KINDS for size in SIZES)]


def _similar_recipe(name: str) -> str:
    """The recipe that was probably meant; a size that is right says nothing of the kind, nor a kind of the size."""
    kind, _, size = name.rpartition("-")
    if kind in KINDS:
        return did_you_mean(size, SIZES).replace("mean ", f"mean {kind}-")
    if size in SIZES:
        return did_you_mean(kind, KINDS).replace("?", f"-{size}?")
    return did_you_mean(name, recipe_names())


def with_fitting_policy(settings: PretrainSettings, curriculum: Curriculum, rate: str | None) -> PretrainSettings:
    """What is hidden for another objective than the kind's own: the same if that fits, else what it usually takes."""
    learning = [objective for objective in curriculum.objectives if objective.hides]
    if not learning:
        return replace(settings, policy=None, rate=None)
    masking = parse_schedule(settings.policy) if settings.policy else None
    if masking and not any(masking.policies_without(objective.learns_from) for objective in learning):
        return settings
    return replace(settings, policy=learning[0].usual, rate=rate)


SETTINGS = {
    "tiny": PretrainSettings(batch_size=32, micro_batch=32),
    "mini": PretrainSettings(batch_size=32, micro_batch=32),
    # the last tenth on long blocks, as BERT was trained (Devlin et al. 2019, A.2)
    "small": PretrainSettings(
        length="128 until 0.9; 1024",
        batch_size=32,
        micro_batch=16,
        # after 160 steps 4.746 nats, 4.781 with the rates of mini, 4.895 with half of these
        optimizing=replace(OPTIMIZING, muon_lr=1e-2, adamw_lr=1e-3),
    ),
    "base": PretrainSettings(
        length="512 until 0.9; 1024",
        batch_size=64,
        micro_batch=8,
        optimizing=replace(OPTIMIZING, muon_lr=5e-3, adamw_lr=5e-4),
    ),
}
