"""What is called a spike, and what is not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from unmask.errors import Diverged
from unmask.training.health import MIN_STEPS, REMEMBERED, Recent, check_weights, spike_limit

STEADY = Recent(losses=(4.0,) * 30, gradients=(1.0,) * 30)


def test_the_rule_is_six_deviations_above_the_median_and_a_share_of_it() -> None:
    before = [3.0, 4.0, 5.0] * 10
    assert spike_limit(before, margin=0.1) == pytest.approx(4 + 6 * np.std(before, ddof=1))
    assert spike_limit([4.0] * 30, margin=0.1) == pytest.approx(4.4)
    assert spike_limit(before[: MIN_STEPS - 1], margin=0.1) is None


def test_a_spike_is_told_by_what_it_is_of() -> None:
    assert STEADY.spike(4.39, 1.9) is None
    assert STEADY.spike(4.41, 1.9) == "loss 4.41 above 4.4"
    assert STEADY.spike(3.0, 2.5) == "gradient 2.5 above 2"


def test_spikes_are_not_remembered_and_the_third_in_a_row_is_a_new_level() -> None:
    once = STEADY.after(9.0, 1.0)
    assert (once.losses, once.spikes) == (STEADY.losses, 1)
    twice = once.after(9.0, 1.0)
    assert twice.spikes == 2 and twice.spike(9.0, 1.0) is None
    assert twice.after(9.0, 1.0) == Recent((9.0,), (1.0,))
    assert twice.after(4.0, 1.0) == Recent((*STEADY.losses, 4.0), (*STEADY.gradients, 1.0))


def test_noise_is_hardly_ever_a_spike() -> None:
    draw = np.random.default_rng(0)
    recent, spikes, steps = Recent(), 0, 5_000
    for loss, gradient in zip(draw.normal(5, 0.2, steps), draw.lognormal(0, 0.1, steps), strict=True):
        spikes += recent.spike(loss, gradient) is not None
        recent = recent.after(loss, gradient)
    assert spikes <= 1
    assert len(recent.losses) == len(recent.gradients) == REMEMBERED


def test_few_steps_are_enough_to_judge_noise_by() -> None:
    draw = np.random.default_rng(1)
    assert sum(value > spike_limit(before, 0.1) for *before, value in draw.normal(5, 0.2, (20_000, MIN_STEPS + 1))) <= 2


def test_what_is_remembered_comes_back_from_json() -> None:
    import json
    from dataclasses import asdict

    recent = STEADY.after(9.0, 1.0)
    assert Recent.of(json.loads(json.dumps(asdict(recent)))) == recent


def test_weights_that_are_not_finite_are_named_and_large_ones_are_let_be() -> None:
    large = torch.full((4, 4), 3e38)
    check_weights([("large", large)], 1)
    bad = torch.ones(4, 4)
    bad[1, 2] = torch.nan
    with pytest.raises(Diverged, match=r"step 7: layer\.weight has 1 of 16 values that are not finite; .*--resume"):
        check_weights([("large", large), ("layer.weight", bad)], 7)
