"""The policies: each a choice of units × select × render, with the published values as its defaults.

In go blocks, a policy and a seed, out come examples; `restore` goes back. A policy is a name, a rate and
settings that JSON can hold, so a run can be described by it and made again from the description.

    policy = named("token", rate=0.3, random=0.0)
    corrupted = corrupt(blocks, policy, vocabulary, seed=0)
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from unmask.corruption import render, select, units
from unmask.corruption.randomness import Draws
from unmask.errors import BadInput
from unmask.records import Blocks, Corrupted, Ids, Vocabulary


class Hide(Protocol):
    """What a policy does: settings follow the rate, by keyword."""

    def __call__(self, blocks: Blocks, vocabulary: Vocabulary, draws: Draws, rate: float, /) -> Corrupted:
        """Examples of these blocks."""


def token(
    blocks: Blocks,
    vocabulary: Vocabulary,
    draws: Draws,
    rate: float = 0.15,
    *,
    mask: float = 0.8,
    random: float = 0.1,
    replacement: str = "uniform",
) -> Corrupted:
    """Single tokens (BERT, Devlin et al. 2019).

    the  cat  sat   on  the  mat
    the [MASK] sat  on  the  mat
    """
    each = units.tokens(blocks, vocabulary)
    hidden = select.wheel(each, rate, draws)
    return render.replace(
        blocks, each, hidden, vocabulary, draws, mask=mask, random=random, replacement=replacement
    )


POLICIES: dict[str, Hide] = {"token": token}


@dataclass(frozen=True)
class Policy:
    """A policy with all it takes to make it again: `Policy(**asdict(policy)) == policy`."""

    name: str
    rate: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    fresh: bool = True  # a new draw each epoch; false hides the same in every epoch

    def __post_init__(self) -> None:
        if self.name not in POLICIES:
            raise BadInput(f"no policy is called {self.name!r}: there are {', '.join(POLICIES)}")
        unknown = set(self.settings) - set(_defaults(self.name))
        if unknown:
            known = ", ".join(_defaults(self.name)) or "none"
            raise BadInput(f"policy {self.name!r} has no setting {min(unknown)!r}: it has {known}")
        _check_rate(self.rate)
        _check_split(self.settings)


def named(name: str, rate: float | None = None, *, fresh: bool = True, **settings: Any) -> Policy:
    """A policy by its name, with the published settings where none are given.

    >>> named("token", random=0.0).settings
    {'mask': 0.8, 'random': 0.0, 'replacement': 'uniform'}
    """
    defaults = _defaults(name) if name in POLICIES else {}
    if rate is None and name in POLICIES:
        rate = inspect.signature(POLICIES[name]).parameters["rate"].default
    return Policy(name, rate if rate is not None else 0.0, {**defaults, **settings}, fresh)


def corrupt(
    blocks: Blocks, policy: Policy, vocabulary: Vocabulary, *, seed: int, rate: float | None = None
) -> Corrupted:
    """Hide what the policy hides; `rate` overrides the policy's, for a rate that changes over training."""
    asked = policy.rate if rate is None else _check_rate(rate)
    draws = Draws.of(seed, blocks.epoch if policy.fresh else 0, blocks.numbers)
    return POLICIES[policy.name](blocks, vocabulary, draws, asked, **policy.settings)


def restore(corrupted: Corrupted) -> Ids:
    """B L: the ids before corruption."""
    ids = corrupted.ids.copy()
    ids[corrupted.hidden] = corrupted.targets
    return ids


def _defaults(name: str) -> dict[str, Any]:
    """A policy's settings, which are the keyword-only arguments of its function."""
    parameters = inspect.signature(POLICIES[name]).parameters.values()
    return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


def _check_rate(rate: float) -> float:
    if not (isinstance(rate, int | float | np.floating) and 0.0 <= rate <= 1.0):
        raise BadInput(f"rate {rate!r} is not a share of the tokens: give a number from 0 to 1")
    return float(rate)


def _check_split(settings: Mapping[str, Any]) -> None:
    mask, random = settings.get("mask", 0.0), settings.get("random", 0.0)
    if min(mask, random) < 0 or mask + random > 1 + 1e-9:
        raise BadInput(f"mask {mask} and random {random} are shares of what is hidden: together at most 1")
    if settings.get("replacement", "uniform") not in render.REPLACEMENTS:
        choices = ", ".join(render.REPLACEMENTS)
        raise BadInput(f"replacement {settings['replacement']!r} is unknown: choose from {choices}")
