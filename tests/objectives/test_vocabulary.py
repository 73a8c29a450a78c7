"""The loss in chunks is the loss of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from unmask.models.families.family import FAMILIES, build_model
from unmask.objectives import vocabulary as vocabularies
from unmask.objectives.vocabulary import decode_states, first_largest, predict_tokens
from unmask.records import Vocabulary

VOCABULARY = Vocabulary(size=97, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
RNG = np.random.default_rng(0)
IDS, POSITIONS, TARGETS = torch.from_numpy(RNG.integers(5, 97, (9, 33))), np.arange(1, 290), RNG.integers(5, 97, 289)
FLAT = sorted(set(FAMILIES) & {"bert", "modernbert", "roberta", "ernie", "xlm-roberta", "gpt2"})


@pytest.mark.parametrize("family", FLAT)
def test_in_chunks_losses_guesses_and_gradients_are_those_of_the_whole(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build_model(family, "tiny", VOCABULARY, length=33, dropout=0.1, seed=0).train()
    found = []
    for whole in (1 << 26, 128 * 97):  # at once, and in three chunks
        monkeypatch.setattr(vocabularies, "MAX_LOGITS", whole)
        torch.manual_seed(5)
        guesses = predict_tokens(model, POSITIONS, TARGETS, input_ids=IDS)
        model.zero_grad()
        (guesses.losses.sum() / len(TARGETS)).backward()
        gradients = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        found.append((guesses.losses.detach(), guesses.right, gradients))
    (losses, right, gradients), (again, guessed, recomputed) = found
    assert losses.shape == right.shape == (289,) and torch.equal(right, guessed)
    torch.testing.assert_close(again, losses, rtol=0, atol=2e-6)
    torch.testing.assert_close(recomputed, gradients, rtol=1e-5, atol=1e-6)


class Widest(TorchDispatchMode):
    """How many rows of logits the largest tensor of them had, of all that any operation gave."""

    rows = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        for each in made if isinstance(made, tuple | list) else [made]:
            if isinstance(each, torch.Tensor) and each.ndim == 2 and each.shape[1] == VOCABULARY.size:
                self.rows = max(self.rows, len(each))
        return made


def test_beyond_the_limit_no_more_logits_than_the_limit_exist_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build_model("bert", "tiny", VOCABULARY, length=33, dropout=0.0, seed=0)
    with Widest() as whole:
        predict_tokens(model, POSITIONS, TARGETS, input_ids=IDS).losses.sum().backward()
    monkeypatch.setattr(vocabularies, "MAX_LOGITS", 128 * 97)
    with Widest() as chunks:
        predict_tokens(model, POSITIONS, TARGETS, input_ids=IDS).losses.sum().backward()
    assert (whole.rows, chunks.rows) == (320, 128)  # 289 are filled up to a round number


def test_a_barred_token_is_never_the_guess_and_takes_no_share_of_the_probability() -> None:
    model = build_model("bert", "tiny", VOCABULARY, length=33, dropout=0.0, seed=0).eval()
    logits = model(input_ids=IDS).logits.flatten(0, 1)[POSITIONS]
    barred = int(logits[7].argmax())
    others = [each for each in range(97) if each != barred]
    targets = np.where(barred == TARGETS, 5, TARGETS)
    targets[7] = others[int(logits[7, others].argmax())]
    found = predict_tokens(model, POSITIONS, targets, never=barred, input_ids=IDS)
    left = logits.index_fill(1, torch.tensor(barred), -torch.inf)
    torch.testing.assert_close(found.losses, F.cross_entropy(left, torch.from_numpy(targets), reduction="none"))
    assert torch.equal(found.right, left.argmax(-1) == torch.from_numpy(targets)) and found.right[7]
    found.losses.sum().backward()
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("biased", [True, False])
def test_the_loss_and_its_gradients_are_those_of_torch_with_ties_and_ignored_targets(biased: bool) -> None:
    drawn = torch.Generator().manual_seed(1)
    states = torch.randint(-1, 2, (200, 3), generator=drawn).float().requires_grad_()  # many share the largest
    vectors = torch.randint(-1, 2, (11, 3), generator=drawn).float().requires_grad_()
    bias = torch.randint(0, 2, (11,), generator=drawn).float().requires_grad_() if biased else None
    targets = torch.randint(0, 11, (200,), generator=drawn)
    targets[::7] = vocabularies.IGNORED
    weights = torch.rand(200, generator=drawn)
    learnt = [each for each in (states, vectors, bias) if each is not None]

    logits = F.linear(states, vectors, bias)
    expected = F.cross_entropy(logits, targets, reduction="none", ignore_index=vocabularies.IGNORED)
    seen: list[torch.Tensor] = []
    found = decode_states(states, vectors, bias, targets, look=lambda rows: seen.append(rows.clone()))
    torch.testing.assert_close(found.losses, expected)
    torch.testing.assert_close(torch.cat(seen), logits.softmax(-1))
    assert torch.equal(found.right, logits.argmax(-1) == targets) and 0 < found.right.sum() < len(targets)

    gradients = torch.autograd.grad((found.losses * weights).sum(), learnt, retain_graph=True)
    torch.testing.assert_close(gradients, torch.autograd.grad((expected * weights).sum(), learnt))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(found.losses.sum(), learnt)


@pytest.mark.parametrize("width", [1, 127, 128, 129, 300, 512])
@pytest.mark.parametrize("kinds", [2, 50, 1_000_000])  # of numbers: many are equal, some, hardly any
def test_the_first_of_the_largest_is_found(width: int, kinds: int) -> None:
    rows = torch.randint(0, kinds, (400, width), generator=torch.Generator().manual_seed(3)).float()
    rows[7] = torch.nan
    rows[8] = -torch.inf
    assert torch.equal(first_largest(rows), rows.argmax(-1, keepdim=True))


def test_a_loss_is_exact_however_unlikely_its_token() -> None:
    states, vectors = torch.tensor([[1.0], [-1.0]]), torch.tensor([[0.0], [90.0], [500.0], [-500.0]])
    targets = torch.tensor([3, 2])
    expected = F.cross_entropy(states.double() @ vectors.double().T, targets, reduction="none")
    torch.testing.assert_close(decode_states(states, vectors, None, targets).losses.double(), expected)  # 1,000 nats


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_in_half_precision_only_the_products_are_rounded(precision: torch.dtype) -> None:
    drawn = torch.Generator().manual_seed(2)
    states, vectors = (torch.randn(rows, 16, generator=drawn).requires_grad_() for rows in (64, 97))
    bias, targets = torch.randn(97, generator=drawn).requires_grad_(), torch.randint(0, 97, (64,), generator=drawn)
    learnt = (states, vectors, bias)
    expected = F.cross_entropy(F.linear(*learnt), targets, reduction="none")
    with torch.autocast("cpu", precision):
        found = decode_states(*learnt, targets)
    assert found.losses.dtype == torch.float32
    torch.testing.assert_close(found.losses, expected, rtol=0, atol=0.05)
    gradients = torch.autograd.grad(found.losses.sum(), learnt)
    assert all(each.dtype == torch.float32 for each in gradients)
    torch.testing.assert_close(gradients, torch.autograd.grad(expected.sum(), learnt), rtol=0.05, atol=0.05)


def test_nothing_predicted_is_no_loss() -> None:
    model = build_model("bert", "tiny", VOCABULARY, length=33, dropout=0.0, seed=0)
    found = predict_tokens(model, POSITIONS[:0], TARGETS[:0], input_ids=IDS)
    assert found.losses.shape == found.right.shape == (0,)
    found.losses.sum().backward()
