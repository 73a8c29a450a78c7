"""The loss in chunks is the loss of the whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from unmask.models.families import FAMILIES, build
from unmask.objectives import vocabulary as vocabularies
from unmask.objectives.vocabulary import judge, predict
from unmask.records import Vocabulary

VOCABULARY = Vocabulary(size=97, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
RNG = np.random.default_rng(0)
IDS, POSITIONS, TARGETS = torch.from_numpy(RNG.integers(5, 97, (9, 33))), np.arange(1, 290), RNG.integers(5, 97, 289)
FLAT = sorted(set(FAMILIES) & {"bert", "modernbert", "roberta", "ernie", "xlm-roberta", "gpt2"})


@pytest.mark.parametrize("family", FLAT)
def test_in_chunks_losses_guesses_and_gradients_are_those_of_the_whole(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build(family, "tiny", VOCABULARY, length=33, dropout=0.1, seed=0).train()
    found = []
    for whole in (1 << 26, 128 * 97):  # at once, and in three chunks
        monkeypatch.setattr(vocabularies, "WHOLE", whole)
        torch.manual_seed(5)
        guesses = predict(model, POSITIONS, TARGETS, input_ids=IDS)
        model.zero_grad()
        (guesses.losses.sum() / len(TARGETS)).backward()
        gradients = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        found.append((guesses.losses.detach(), guesses.right, gradients))
    (losses, right, gradients), (again, guessed, recomputed) = found
    assert losses.shape == right.shape == (289,) and torch.equal(right, guessed)
    torch.testing.assert_close(again, losses, rtol=0, atol=2e-6)
    torch.testing.assert_close(recomputed, gradients, rtol=1e-5, atol=1e-6)


def test_beyond_the_limit_no_more_logits_than_the_limit_exist_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build("bert", "tiny", VOCABULARY, length=33, dropout=0.0, seed=0)
    sizes: list[int] = []
    real = vocabularies.head
    monkeypatch.setattr(vocabularies, "head", lambda *args: sizes.append(len(args[1])) or real(*args))
    monkeypatch.setattr(vocabularies, "WHOLE", 128 * 97)
    predict(model, POSITIONS, TARGETS, input_ids=IDS).losses.sum().backward()
    assert sizes == [128, 128, 64, 64, 128, 128]  # forward, and once more backward


def test_a_barred_token_is_never_the_guess_and_takes_no_share_of_the_probability() -> None:
    logits, targets = torch.randn(50, 11, generator=torch.Generator().manual_seed(0)), torch.arange(50) % 10
    losses, right = judge(logits, targets, never=10)
    torch.testing.assert_close(losses, F.cross_entropy(logits[:, :10], targets, reduction="none"))
    assert torch.equal(right, logits[:, :10].argmax(-1) == targets)


def test_the_loss_and_its_gradient_are_those_of_torch_with_ties_and_ignored_targets() -> None:
    drawn = torch.Generator().manual_seed(1)
    logits = torch.randint(-2, 3, (200, 11), generator=drawn).float().requires_grad_()  # many share the largest
    targets = torch.randint(0, 11, (200,), generator=drawn)
    targets[::7] = vocabularies.IGNORED
    weights = torch.rand(200, generator=drawn)
    losses, right = judge(logits, targets)
    expected = F.cross_entropy(logits, targets, reduction="none", ignore_index=vocabularies.IGNORED)
    torch.testing.assert_close(losses, expected)
    assert torch.equal(right, logits.argmax(-1) == targets) and 0 < right.sum() < len(right)
    (found,) = torch.autograd.grad((losses * weights).sum(), logits, retain_graph=True)
    torch.testing.assert_close(found, torch.autograd.grad((expected * weights).sum(), logits)[0])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(losses.sum(), logits)
