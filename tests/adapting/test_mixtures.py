"""Mixtures lie between before and after, and measuring them leaves the model as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForMaskedLM

import unmask
from unmask.adapting.mixtures import best_mixture, measure_mixtures, put_mixture, weights_of
from unmask.adapting.validation import AdaptValidation
from unmask.results import Mixture
from unmask.tokens.store.dataset import Dataset


def test_ends_are_exact_and_the_middle_is_the_mean(make_model: Callable[..., Path]) -> None:
    model = AutoModelForMaskedLM.from_pretrained(make_model("bert"))
    before = weights_of(model)
    after = {name: weight + 1 for name, weight in before.items()}
    for share in (0.0, 0.5, 1.0):
        put_mixture(model, before, after, share)
        for name, parameter in model.named_parameters():
            expected = before[name] + share if share == 0.5 else (before, after)[int(share)][name]
            assert torch.allclose(parameter, expected, atol=1e-6)
            assert share == 0.5 or torch.equal(parameter, expected)


def test_measuring_goes_through_both_ends_and_changes_nothing(make_model: Callable[..., Path], data: Path) -> None:
    dataset = Dataset.open(data)
    model = AutoModelForMaskedLM.from_pretrained(make_model("bert"))
    before = {name: weight * 0.9 for name, weight in weights_of(model).items()}
    kept, validation = weights_of(model), AdaptValidation.of(dataset, dataset, 32)
    mixtures = measure_mixtures(model, before, validation, None)
    assert all(torch.equal(parameter, kept[name]) for name, parameter in model.named_parameters())
    assert [mixture.share for mixture in mixtures] == [number / 10 for number in range(11)]
    assert all(mixture.general_loss == pytest.approx(mixture.loss) for mixture in mixtures)


def test_where_the_budget_ends_between_two_mixtures_the_tenth_is_halved(
    make_model: Callable[..., Path], data: Path, tmp_path: Path
) -> None:
    (tmp_path / "domain.txt").write_text("\n\n".join(f"The judge signs the lease number {n}." for n in range(200)))
    unmask.prepare(tmp_path / "domain.txt", out=tmp_path / "domain", tokenizer=str(data / "tokenizer"), valid=0.2)
    domain, general = Dataset.open(tmp_path / "domain"), Dataset.open(data)
    model = AutoModelForMaskedLM.from_pretrained(make_model("bert"))
    knowing = []  # the frequencies of each text: what one of them gains the other loses
    for text in (general, domain):
        with torch.no_grad():
            model.cls.predictions.bias.copy_(torch.log(torch.from_numpy(text.counts + 0.5)))
        knowing.append(weights_of(model))
    validation = AdaptValidation.of(domain, general, 32)
    tenths = measure_mixtures(model, knowing[0], validation, None)
    forget = (tenths[3].general_loss + tenths[4].general_loss) / 2 - tenths[0].general_loss  # type: ignore[operator]
    mixtures = measure_mixtures(model, knowing[0], validation, forget)
    between = [each for each in mixtures if 0.3 < each.share < 0.4]
    assert len(mixtures) == 14 and len(between) == 3 and mixtures == sorted(mixtures, key=lambda each: each.share)
    kept = best_mixture(mixtures, forget)
    following = mixtures[mixtures.index(kept) + 1]
    assert 0.3 < kept.share < 0.4 and following.share - kept.share == pytest.approx(0.1 / 8)
    assert kept.loss < tenths[3].loss and kept.general_loss - tenths[0].general_loss <= forget  # type: ignore[operator]
    assert following.general_loss - tenths[0].general_loss > forget  # type: ignore[operator]


def test_the_best_within_the_budget_is_kept_and_the_start_always_is_within() -> None:
    worse = [Mixture(share=0.0, loss=3.0, general_loss=3.0), Mixture(share=1.0, loss=4.0, general_loss=2.0)]
    assert best_mixture(worse, 0.1).share == 0.0 and best_mixture(worse, None).share == 0.0
    unseen = [Mixture(share=0.0, loss=3.0), Mixture(share=1.0, loss=2.0)]
    assert best_mixture(unseen, None).share == 1.0
