"""The bound of masked diffusion, against the true entropy of a chain whose posterior is known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import Linear
from transformers import PreTrainedConfig, PreTrainedModel

from unmask.corruption.policy import corrupt, policy_named
from unmask.models.families.family import build_model
from unmask.objectives.diffusion import Diffusion
from unmask.records import Batch, Blocks, Vocabulary
from unmask.tokens.collate import collate

STATES, LENGTH, ROWS = 3, 10, 40_000
VOCABULARY = Vocabulary(size=5 + STATES, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
FIRST = np.array([0.6, 0.3, 0.1])
MOVES = np.array([[0.85, 0.1, 0.05], [0.05, 0.15, 0.8], [0.45, 0.5, 0.05]])


class Posterior(PreTrainedModel):
    """P(state | what is shown), by forward and backward sums; `doubt` mixes it with a uniform guess."""

    config_class = PreTrainedConfig

    def __init__(self, doubt: float) -> None:
        super().__init__(PreTrainedConfig(vocab_size=VOCABULARY.size))
        self.doubt, self.anchor = doubt, torch.nn.Parameter(torch.zeros(()))
        self.decoder = Linear(VOCABULARY.size, VOCABULARY.size, bias=False)
        torch.nn.init.eye_(self.decoder.weight)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> Any:
        shown = input_ids[:, 1:-1].numpy()
        possible = np.where(shown[..., None] == VOCABULARY.mask, 1.0, shown[..., None] == 5 + np.arange(STATES))
        forward, backward = np.empty_like(possible), np.ones_like(possible)
        forward[:, 0] = FIRST * possible[:, 0]
        for i in range(1, LENGTH):
            forward[:, i] = forward[:, i - 1] @ MOVES * possible[:, i]
            backward[:, -1 - i] = (backward[:, -i] * possible[:, -i]) @ MOVES.T
        found = forward * backward
        found = (1 - self.doubt) * found / found.sum(-1, keepdims=True) + self.doubt / STATES
        logits = torch.full((*input_ids.shape, VOCABULARY.size), -1e4)
        logits[:, 1:-1, 5:] = torch.from_numpy(found).log().clip(-1e4).float()
        logits[..., VOCABULARY.mask] = 3.0  # a share that the mask must not get
        return SimpleNamespace(logits=self.decoder(logits + self.anchor))

    def get_output_embeddings(self) -> Linear:
        return self.decoder


def walks() -> Batch:
    draw = np.random.default_rng(0)
    ids = np.full((ROWS, LENGTH + 2), VOCABULARY.start, dtype=np.int32)
    ids[:, -1] = VOCABULARY.end
    state = draw.choice(STATES, ROWS, p=FIRST)
    for column in range(1, LENGTH + 1):
        ids[:, column] = 5 + state
        state = (draw.random(ROWS)[:, None] > MOVES[state].cumsum(-1)).sum(-1)
    starts = np.ones_like(ids, dtype=np.bool_)
    blocks = Blocks(ids, starts, np.ones_like(ids), np.arange(ROWS), epoch=0)
    return collate(blocks, corrupt(blocks, policy_named("diffusion"), VOCABULARY, seed=1))


def entropy() -> float:
    """Nats of a token of the chain: H(x_1) + Σ_i H(x_i | x_{i−1}), over their number."""
    per_state = -(MOVES * np.log(MOVES)).sum(-1)
    total, at = -(FIRST * np.log(FIRST)).sum(), FIRST
    for _ in range(LENGTH - 1):
        total += at @ per_state
        at = at @ MOVES
    return float(total / LENGTH)


def bound(doubt: float, batch: Batch) -> float:
    learner = Posterior(doubt)
    with torch.no_grad():
        outcome = Diffusion().outcome(learner, batch)
    counts: dict[str, float] = dict(Diffusion().counts(batch))
    tallies = {name: tally.double().numpy() for name, tally in outcome.tallies.items()}
    bits = Diffusion().figures(counts, tallies)["bits_per_token"]
    assert bits == pytest.approx(outcome.losses["bound"].item() / counts["bound"] / np.log(2))
    return bits * float(np.log(2))


def test_with_the_exact_posterior_the_bound_is_the_entropy_and_above_it_with_a_worse_one() -> None:
    batch = walks()
    tight = bound(0.0, batch)
    assert tight == pytest.approx(entropy(), rel=0.02)
    assert entropy() * 1.02 < bound(0.2, batch) < bound(0.5, batch) < bound(1.0, batch)
    assert bound(1.0, batch) == pytest.approx(np.log(STATES), rel=1e-3)


def test_the_count_is_all_text_hidden_or_not() -> None:
    batch = walks()
    assert Diffusion().counts(batch) == {"bound": ROWS * LENGTH}
    assert len(batch.targets) < 0.6 * ROWS * LENGTH


def test_each_prediction_weighs_one_over_the_hidden_share_of_its_row() -> None:
    batch = walks()
    some = Batch(
        batch.ids[:4],
        batch.positions[:4],
        batch.documents[:4],
        batch.predicted[batch.predicted < 4 * (LENGTH + 2)],
        batch.targets[batch.predicted[: len(batch.targets)] < 4 * (LENGTH + 2)],
        batch.numbers[:4],
        weights=None if batch.weights is None else batch.weights[:4],
    )
    model = build_model("bert", "tiny", VOCABULARY, length=LENGTH + 2, dropout=0.0, seed=0).eval()
    logits = model(input_ids=torch.from_numpy(some.ids)).logits
    logits[..., VOCABULARY.mask] = -torch.inf
    expected = 0.0
    for row in range(4):
        hidden = np.flatnonzero(some.ids[row] == VOCABULARY.mask)
        columns = [(p - row * (LENGTH + 2), t) for p, t in zip(some.predicted, some.targets, strict=True)]
        for column, target in [(c, t) for c, t in columns if 0 <= c < LENGTH + 2]:
            expected -= logits[row, column].log_softmax(-1)[target].item() * LENGTH / len(hidden)
    assert Diffusion().outcome(model, some).losses["bound"].item() == pytest.approx(expected, rel=1e-5)
