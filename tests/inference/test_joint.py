"""Laws of two blanks that agree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from unmask.inference.fill import fill_blanks
from unmask.inference.joint import nearest_joint
from unmask.models.load import LoadedModel, load_model
from unmask.records import Reals

Make = Callable[..., Path]


def conditionals(table: Reals) -> tuple[Reals, Reals]:
    """Of the first given the second, and of the second given the first."""
    return table / table.sum(0, keepdims=True), table / table.sum(1, keepdims=True)


@pytest.mark.parametrize("seed", range(5))
def test_of_conditionals_that_come_from_one_table_that_table_is_found(seed: int) -> None:
    draws = np.random.default_rng(seed)
    table = draws.gamma(0.5, size=draws.integers(2, 101, size=2)) + 1e-6
    table /= table.sum()
    found = nearest_joint(*conditionals(table))
    np.testing.assert_allclose(found, table, atol=1e-6)
    apart = table.sum(1, keepdims=True) * table.sum(0, keepdims=True)
    assert np.abs(apart - table).sum() > 0.2 > 1e4 * np.abs(found - table).sum()  # what independence would miss by


def test_of_conditionals_that_do_not_agree_the_table_is_nearer_than_either_chain() -> None:
    draws = np.random.default_rng(1)
    first, second = (
        conditionals(draws.gamma(0.5, size=(6, 6)) + 1e-3)[0],
        conditionals(draws.gamma(0.5, size=(6, 6)))[1],
    )

    def divergence(table: Reals) -> float:
        """Arnold and Gokhale's: how far a table's conditionals are from those asked for."""
        mine = conditionals(table)
        return sum(
            float((q * np.log((q + 1e-300) / (p + 1e-300))).sum()) for q, p in zip((first, second), mine, strict=True)
        )

    found = nearest_joint(first, second)
    assert found.sum() == pytest.approx(1)
    for other in (first / 6, second / 6, np.full((6, 6), 1 / 36)):
        assert divergence(found) < divergence(other)
    for _ in range(50):  # and no table close by is nearer
        assert divergence(found) <= divergence(found * np.exp(draws.normal(0, 0.05, found.shape))) + 1e-6


@pytest.fixture(scope="module")
def loaded(make_model: Make) -> LoadedModel:
    return load_model(make_model())


def test_pairs_are_those_of_the_table_that_transformers_alone_would_give(loaded: LoadedModel) -> None:
    words = ["king", "the", "dog", "sea"]
    (filled,) = fill_blanks(loaded, ["The [MASK] sees [MASK]."], targets=words, top=16)
    ids = [loaded.tokenizer.get_vocab()[word] for word in words]
    row = loaded.tokenizer("The [MASK] sees [MASK].", return_tensors="pt")["input_ids"]
    first, second = (row[0] == loaded.tokenizer.mask_token_id).nonzero().flatten().tolist()

    def given(shown: int, asked: int) -> Reals:
        rows = row.repeat(len(ids), 1)
        rows[:, shown] = torch.tensor(ids)
        with torch.no_grad():
            said = loaded.model(rows).logits[:, asked, ids].softmax(-1)
        return np.asarray(said.double().numpy())

    table = nearest_joint(given(second, first).T, given(first, second))
    (agreement,) = filled.agreements
    assert (agreement.method, agreement.blanks, agreement.orders) == ("table", (0, 1), 2)
    found = {filling.words: filling.probability for filling in agreement.fillings}
    expected = {(a, b): table[i, j] for i, a in enumerate(words) for j, b in enumerate(words)}
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-6)
    assert filled.completed == "The {} sees {}.".format(*max(expected, key=lambda pair: expected[pair]))
    assert list(found.values()) == sorted(found.values(), key=lambda share: -(share or 0))


def test_what_the_table_leaves_out_and_what_each_says_on_its_own_is_told(loaded: LoadedModel) -> None:
    (filled,) = fill_blanks(loaded, ["The [MASK] sees [MASK]."], top=3)
    (agreement,) = filled.agreements
    assert len(agreement.fillings) == 3 and all(0 < share < 1 for share in agreement.outside)
    assert agreement.independent.words == tuple(guesses[0].token for guesses in filled.blanks)
    assert filled.independent == "The {} sees {}.".format(*agreement.independent.words)
    assert agreement.fillings[0].probability is not None and agreement.independent.probability is not None
    assert agreement.fillings[0].probability >= agreement.independent.probability
