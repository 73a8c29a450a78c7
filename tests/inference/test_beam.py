"""Laws of three and more blanks that agree."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from unmask.inference.beam import ORDERS, reveal_orders
from unmask.inference.fill import fill_blanks
from unmask.models.load import LoadedModel, load_model

Make = Callable[..., Path]
TEXT = "The [MASK] sees [MASK] and [MASK]."
WORDS = ["king", "the", "dog"]


@pytest.fixture(scope="module")
def loaded(make_model: Make) -> LoadedModel:
    return load_model(make_model())


def chains(loaded: LoadedModel, words: tuple[str, ...]) -> list[float]:
    """The log-probability of words one after the other, in each order, by transformers alone."""
    row = loaded.tokenizer(TEXT, return_tensors="pt")["input_ids"]
    places = (row[0] == loaded.tokenizer.mask_token_id).nonzero().flatten().tolist()
    ids = [loaded.tokenizer.get_vocab()[word] for word in words]
    sums = []
    for order in reveal_orders(3):
        shown, total = row.clone(), 0.0
        for blank in order:
            with torch.no_grad():
                logs = loaded.model(shown).logits[0, places[blank]].log_softmax(-1)
            total += float(logs[ids[blank]])
            shown[0, places[blank]] = ids[blank]
        sums.append(total)
    return sums


def test_fillings_are_ranked_by_their_chain_over_five_orders_and_the_spread_is_told(loaded: LoadedModel) -> None:
    (filled,) = fill_blanks(loaded, [TEXT], targets=WORDS, top=20)
    (agreement,) = filled.agreements
    assert (agreement.method, agreement.orders) == ("beam", ORDERS)
    for filling in agreement.fillings[:4]:
        sums = chains(loaded, filling.words)
        assert filling.log_probability == pytest.approx(np.mean(sums), abs=1e-3)
        assert filling.spread == pytest.approx(np.ptp(sums), abs=1e-3)
    logs = [filling.log_probability for filling in agreement.fillings]
    assert logs == sorted(logs, reverse=True)


def test_the_search_finds_what_trying_everything_finds(loaded: LoadedModel) -> None:
    (filled,) = fill_blanks(loaded, [TEXT], targets=WORDS, top=3)
    best = max(product(WORDS, repeat=3), key=lambda words: float(np.mean(chains(loaded, words))))
    (agreement,) = filled.agreements
    assert agreement.fillings[0].words == best
    assert agreement.fillings[0].log_probability >= agreement.independent.log_probability


def test_words_of_several_pieces_agree_with_other_blanks(loaded: LoadedModel) -> None:
    (filled,) = fill_blanks(loaded, ["The [MASK:word] sees [MASK]."], top=3)
    (agreement,) = filled.agreements
    assert agreement.method == "beam" and len(agreement.fillings) == 3
    assert filled.completed == "The {} sees {}.".format(
        *(word.removeprefix("##") for word in agreement.fillings[0].words)
    )


def test_texts_side_by_side_are_filled_as_they_are_alone(loaded: LoadedModel) -> None:
    texts = [TEXT, "The [MASK] sees [MASK].", "The [MASK:word] likes music.", "The [MASK] of [MASK] is [MASK] [MASK]."]
    together = fill_blanks(loaded, texts, top=2)
    for text, one in zip(texts, together, strict=True):
        (alone,) = fill_blanks(loaded, [text], top=2)
        assert (alone.completed, alone.independent) == (one.completed, one.independent)
