"""A run ends when the same documents say so, each beside itself, and not before; what is remembered survives a stop."""

from __future__ import annotations

import json

import numpy as np

from unmask.adapting.ending import GROUPS, WatchedValidation
from unmask.adapting.validation import AdaptValidation, Losses
from unmask.pretraining.validation import DocumentLosses

DRAW = np.random.default_rng(0)
HARD = DRAW.normal(4.0, 1.0, 300)  # documents differ far more than moments do


def losses(shift: float, noise: float = 0.01) -> DocumentLosses:
    tokens = np.full(300, 20.0)
    return DocumentLosses((HARD + shift + noise * DRAW.normal(size=300)) * tokens, tokens, np.zeros(300))


def watch(forget: float | None, *shifts: tuple[float, float], noise: float = 0.01) -> WatchedValidation:
    held_out: AdaptValidation = None  # type: ignore[assignment]  # what it measures is given here
    watched = WatchedValidation(held_out, forget)
    for domain, general in shifts:
        watched.remember(Losses(losses(domain, noise), losses(general, noise)))
    return watched


def test_it_goes_on_while_the_domain_gains_and_ends_when_it_does_not() -> None:
    gaining = [(-0.1 * moment, 0.0) for moment in range(8)]
    assert watch(0.05, *gaining).why_end() is None
    assert watch(0.05, *gaining, (-0.7, 0.0), (-0.7, 0.0)).why_end() is None  # not over three validations yet
    why = watch(0.05, *gaining, *[(-0.7, 0.0)] * 3).why_end()
    assert why is not None and why.startswith("over the last 3 validations the domain gained ")


def test_what_may_be_chance_ends_nothing() -> None:
    assert watch(0.05, *[(0.0, 0.0)] * 5, noise=0.5).why_end() is None
    assert watch(0.05, (0.0, 0.0), (-0.1, 0.06), noise=0.5).why_end() is None


def test_it_ends_when_more_is_surely_forgotten_than_may_be() -> None:
    why = watch(0.05, (0.0, 0.0), (-0.1, 0.08)).why_end()
    assert why is not None and "more than the 0.05 --forget leaves" in why
    assert watch(0.1, (0.0, 0.0), (-0.1, 0.08)).why_end() is None
    assert watch(None, (0.0, 0.0), (-0.1, 0.08)).why_end() is None


def test_what_is_remembered_is_the_beginning_and_the_last_and_comes_back_to_the_bit() -> None:
    shifts = [(-0.1 * moment, 0.01 * moment) for moment in range(9)]
    watched, again = watch(0.05, *shifts), watch(0.05)
    again.restore(json.loads(json.dumps(watched.state)))
    assert len(again.moments) == 5 and len(again.moments[0].domain.nats) == GROUPS
    assert again.why_end() == watched.why_end() is not None
    assert again.state == watched.state
