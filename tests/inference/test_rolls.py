"""A text hidden in many times over: the rate that was asked for, and no position favoured."""

from __future__ import annotations

from pathlib import Path

import pytest

from unmask.corruption.policy import POLICIES
from unmask.inference.rolls import roll_text
from unmask.tokens.tokenizer.load import load_tokenizer

TEXT = "The king sees the unbelievable garden in winter, and nobody likes the river without a word."
PLAIN = [name for name, how in POLICIES.items() if not how.properties.needs_spans]


@pytest.mark.parametrize("policy", PLAIN)
def test_every_policy_hides_at_its_rate_wherever_tokens_stand(data: Path, policy: str) -> None:
    rolled = roll_text(load_tokenizer(data / "tokenizer"), TEXT, policy, seed=1, rolls=400)
    asked = 0.5 if policy == "diffusion" else POLICIES[policy].rate
    assert rolled.rate == pytest.approx(asked, abs=0.04)
    assert len(rolled.positions) == rolled.tokens
    assert rolled.outside <= 0.2 * rolled.tokens
    hidden = sum(size * count for size, count in rolled.lengths.items())
    assert hidden == round(rolled.rate * rolled.tokens * rolled.rolls)
