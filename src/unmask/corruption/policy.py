"""The policies: each a choice of units × select × render, with the published values as its defaults.

In go blocks, a policy and a seed, out come examples; `restore` goes back. A policy is a name, a rate and
settings that JSON can hold, so a run can be described by it and made again from the description.

    policy = policy_named("span", rate=0.15, longest=5)
    corrupted = corrupt(blocks, policy, vocabulary, seed=0)

A policy of one's own is another line in the table: see docs/corruption.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from unmask.corruption import render, units
from unmask.corruption.properties import properties_of
from unmask.corruption.rows import join_examples, take_rows
from unmask.corruption.select import (
    random_segmentation,
    systematic_sample,
    systematic_sample_apart,
    systematic_sample_timed,
)
from unmask.corruption.sentinels import expand_sentinels, replace_by_sentinels
from unmask.corruption.settings import NO_USUAL, spell_setting
from unmask.corruption.units import Units
from unmask.errors import BadInput, did_you_mean
from unmask.randomness import Draws
from unmask.records import Blocks, Corrupted, Flags, Ids, PolicyProperties, Vocabulary

CHUNK = 1 << 16  # tokens worked on at a time: their arrays stay in the cache, and memory is not taken anew each time


@dataclass(frozen=True)
class Composition:
    """How a policy works: three functions, whose keyword-only arguments are the policy's settings."""

    units: Callable[..., Units]  # (blocks, vocabulary, draws, *, …): what is hidden together
    select: Callable[..., Flags]  # (units, rate, draws, *, …): which of it
    render: Callable[..., Corrupted]  # (blocks, units, hidden, vocabulary, draws, *, …): how the gap looks
    rate: float = 0.15
    defaults: Mapping[str, Any] = field(default_factory=dict)  # settings that differ from the functions' own

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting of the policy with its published value."""
        functions = (self.units, self.select, self.render)
        return {
            **{key: value for function in functions for key, value in _defaults_of(function).items()},
            **self.defaults,
        }

    @property
    def properties(self) -> PolicyProperties:
        """What its functions declare."""
        return properties_of(self.units, self.select, self.render)


POLICIES: dict[str, Composition] = {
    "token": Composition(units.tokens, systematic_sample, render.replace),
    "word": Composition(units.words, systematic_sample, render.replace),
    "span": Composition(units.spans, systematic_sample_apart, render.bounded),
    "entity": Composition(units.marked, systematic_sample, render.replace, defaults={"kind": "entity"}),
    "phrase": Composition(units.marked, systematic_sample, render.replace, defaults={"kind": "phrase"}),
    "collocation": Composition(units.marked, systematic_sample, render.replace, defaults={"kind": "collocation"}),
    "ngram": Composition(units.ngrams, systematic_sample, render.replace),
    "sentinel": Composition(units.tokens, random_segmentation, replace_by_sentinels),
    "permutation": Composition(units.ngrams, systematic_sample, render.ordered, rate=1 / 6, defaults={"longest": 5}),
    "masked-permutation": Composition(units.words, systematic_sample, render.replaced_in_order),
    "diffusion": Composition(units.tokens, systematic_sample_timed, render.masked, rate=1.0),
}
# what each is called where it was published, and where that is
PAPERS = {
    "token": "masking by tokens, 80/10/10; BERT, Devlin et al. 2019",
    "word": "whole-word masking, WWM; Cui et al. 2019",
    "span": "span masking; SpanBERT, Joshi et al. 2020",
    "entity": "entity-level masking; ERNIE, Sun et al. 2019",
    "phrase": "phrase-level masking; ERNIE, Sun et al. 2019",
    "collocation": "PMI-masking; Levine et al. 2021",
    "ngram": "n-gram masking; DeBERTa, He et al. 2021",
    "sentinel": "span corruption; T5, Raffel et al. 2020",
    "permutation": "permutation language modelling, PLM; XLNet, Yang et al. 2019",
    "masked-permutation": "masked and permuted language modelling; MPNet, Song et al. 2020",
    "diffusion": "masked diffusion; MDLM, Sahoo et al. 2024; LLaDA, Nie et al. 2025",
}


@dataclass(frozen=True)
class Policy:
    """A policy with all it takes to make it again: `Policy(**asdict(policy)) == policy`."""

    name: str
    rate: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    redraw: bool = True  # a new draw each epoch; false draws the same for a block's number in every epoch

    def __post_init__(self) -> None:
        usual = composition_named(self.name).settings
        unknown = set(self.settings) - set(usual)
        if unknown:
            names = ", ".join(usual) or "none"
            raise BadInput(f"policy {self.name!r} has no setting {min(unknown)!r}: it has {names}")
        _check_rate(self.rate)
        _check_replacement(self.settings)

    def __str__(self) -> str:
        """The policy as a person writes it: its name, and the settings that are not the usual ones."""
        usual = composition_named(self.name).settings
        changes = {key: value for key, value in self.settings.items() if value != usual[key]}
        return " ".join([self.name, *(f"{key}={spell_setting(value)}" for key, value in changes.items())])

    @property
    def properties(self) -> PolicyProperties:
        """What it does, whatever it is called."""
        return composition_named(self.name).properties

    @property
    def spans(self) -> str | None:
        """The kind of marked spans that it hides, if it does."""
        kind: str | None = self.settings["kind"] if self.properties.needs_spans else None
        return kind


def policy_named(name: str, rate: float | None = None, *, redraw: bool = True, **settings: Any) -> Policy:
    """A policy by its name, with the published settings where none are given.

    >>> policy_named("span", random=0.0).settings
    {'p': 0.2, 'longest': 10, 'mask': 0.8, 'random': 0.0, 'replacement': 'uniform'}
    """
    how = composition_named(name)
    values = {**how.settings, **settings}
    if unset := [key for key, value in values.items() if value is NO_USUAL]:
        raise BadInput(f"policy {name!r} needs the setting {unset[0]!r}: it has no usual value")
    return Policy(name, how.rate if rate is None else rate, values, redraw)


def policies_with(accepts: Callable[[PolicyProperties], bool]) -> list[str]:
    """The names of the policies whose properties are wanted, in order.

    >>> policies_with(lambda policy: policy.needs_sentinels)
    ['sentinel']
    """
    return sorted(name for name, how in POLICIES.items() if accepts(how.properties))


def corrupt(
    blocks: Blocks, policy: Policy, vocabulary: Vocabulary, *, seed: int, rate: float | None = None
) -> Corrupted:
    """Hide what the policy hides; `rate` overrides the policy's, for a rate that changes over training."""
    target_rate = policy.rate if rate is None else _check_rate(rate)
    rows, length = blocks.ids.shape
    size = max(CHUNK // max(length, 1), 1)
    slices = [slice(begin, begin + size) for begin in range(0, rows, size)]
    chunks = [take_rows(blocks, chunk) for chunk in slices] if rows > size else [blocks]
    return join_examples([_corrupt(chunk, policy, vocabulary, seed, target_rate) for chunk in chunks])


def _corrupt(blocks: Blocks, policy: Policy, vocabulary: Vocabulary, seed: int, rate: float) -> Corrupted:
    how = POLICIES[policy.name]
    draws = Draws.of(seed, blocks.epoch if policy.redraw else 0, blocks.numbers)
    settings = {function: _settings_for(function, policy.settings) for function in (how.units, how.select, how.render)}

    together = how.units(blocks, vocabulary, draws, **settings[how.units])
    hidden = how.select(together, rate, draws, **settings[how.select])
    return how.render(blocks, together, hidden, vocabulary, draws, **settings[how.render])


def restore(corrupted: Corrupted) -> Ids:
    """B L: the ids before corruption."""
    if corrupted.answer is not None:
        return expand_sentinels(corrupted.ids, corrupted.answer)
    ids = corrupted.ids.copy()
    ids[corrupted.hidden] = corrupted.targets
    return ids


@lru_cache
def _defaults_of(function: Callable[..., object]) -> dict[str, Any]:
    """A function's settings: its keyword-only arguments and their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}


def _settings_for(function: Callable[..., object], settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: settings[key] for key in _defaults_of(function) if key in settings}


def composition_named(name: str) -> Composition:
    """How the policy of a name works."""
    if name not in POLICIES:
        near = did_you_mean(name, POLICIES)
        raise BadInput(f"no policy is called {name!r}: {near or 'there are ' + ', '.join(POLICIES)}")
    return POLICIES[name]


def _check_rate(rate: float) -> float:
    if not (isinstance(rate, int | float | np.floating) and 0.0 <= rate <= 1.0):
        raise BadInput(f"rate {rate!r} is not a share of the tokens: give a number from 0 to 1")
    return float(rate)


def _check_replacement(settings: Mapping[str, Any]) -> None:
    mask, random = settings.get("mask", 0.0), settings.get("random", 0.0)
    if min(mask, random) < 0 or mask + random > 1 + 1e-9:
        raise BadInput(f"mask {mask} and random {random} are shares of what is hidden: together at most 1")
    if settings.get("replacement", "uniform") not in render.REPLACEMENTS:
        choices = ", ".join(render.REPLACEMENTS)
        raise BadInput(f"replacement {settings['replacement']!r} is unknown: choose from {choices}")
