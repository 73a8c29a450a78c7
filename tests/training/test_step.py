"""One step: the same however it is cut up for memory, and never taken where it is unsound."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from regression import ROWS, job

from unmask.training.health import Recent
from unmask.training.session import Session
from unmask.training.step import StepOptions, StepResult, micro_batch_seed, take_step

STEADY = Recent(losses=(0.01,) * 30, gradients=(1e3,) * 30)  # so that any loss of the first step is a spike


def stepped(options: StepOptions) -> tuple[StepResult, torch.Tensor, torch.Tensor]:
    """What a step did, and the weights before and after it."""
    session = Session.begin(job(), 10)

    def weights() -> torch.Tensor:
        return torch.cat([parameter.detach().flatten() for parameter in session.learner.parameters()])

    before = weights()
    result = take_step(session.learner, session.optimizer, session.source, step=0, options=options)
    return result, before, weights()


@pytest.mark.parametrize("splits", [2, 3, 4])
def test_a_step_in_parts_is_the_step_in_one(splits: int) -> None:
    whole, before, expected = stepped(StepOptions())
    parts, _, after = stepped(StepOptions(splits=splits))
    assert whole.applied and not torch.equal(before, expected)
    assert parts.splits == splits and parts.tokens == whole.tokens == ROWS
    assert (parts.loss, parts.gradient) == pytest.approx((whole.loss, whole.gradient), rel=1e-5)
    torch.testing.assert_close(after, expected, rtol=0, atol=1e-6)


def test_a_spike_is_told_and_taken_unless_it_is_to_be_skipped() -> None:
    told, before, after = stepped(StepOptions(recent=STEADY))
    assert told.spike is not None and told.spike.startswith("loss ") and told.applied
    assert not torch.equal(before, after)
    skipped, before, after = stepped(StepOptions(recent=STEADY, skip_spikes=True))
    assert skipped == replace(told, applied=False) and torch.equal(before, after)


def test_dropout_is_drawn_anew_for_each_micro_batch_part_and_seed_and_alike_for_the_same() -> None:
    seeds = {micro_batch_seed(seed, number, part) for seed in (0, 1) for number in range(50) for part in range(4)}
    assert len(seeds) == 2 * 50 * 4 and 0 <= min(seeds) <= max(seeds) < 2**63
    assert micro_batch_seed(3, 17, 2) == micro_batch_seed(3, 17, 2)
