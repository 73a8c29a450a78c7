"""Hidden tokens each on their own and one after another: as transformers says alone, and where the answer is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from unmask.errors import BadInput
from unmask.evaluation.dependence import ORDERED, in_order, measure_dependence
from unmask.evaluation.intrinsic import evaluate
from unmask.models.families.family import build_model
from unmask.models.load import LoadedModel, load_model
from unmask.objectives.permuted import all_at_once
from unmask.records import Batch, Vocabulary
from unmask.results import Dependence, Evaluated
from unmask.tokens.held_out import HeldOutSet
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.load import save_tokenizer

BOTH = ("xlnet", "mpnet")
LENGTH = 40


@pytest.fixture(scope="module", params=BOTH)
def model(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of a fresh model of one layer, its weights larger so that what it sees shows."""
    dataset, path = Dataset.open(data), tmp_path_factory.mktemp(request.param)
    made = build_model(request.param, "tiny", dataset.vocabulary, length=LENGTH, dropout=0.0, seed=0)
    layers = made.base_model.layer if request.param == "xlnet" else made.base_model.encoder.layer
    del layers[1:]
    made.config.num_hidden_layers = 1
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(1.5)
    made.save_pretrained(path)
    save_tokenizer(dataset.tokenizer(), path)
    return path


@pytest.fixture(scope="module")
def evaluated(model: Path, data: Path) -> Evaluated:
    return evaluate(model, data, length=LENGTH, rate=0.3, limit=1500)


def examples_of(data: Path) -> HeldOutSet:
    dataset = Dataset.open(data)
    return HeldOutSet.of(dataset.split("valid"), dataset.vocabulary, length=LENGTH, rate=0.3)


def found_in(evaluated: Evaluated) -> Dependence:
    assert evaluated.dependence is not None
    return evaluated.dependence


@torch.no_grad()
def plainly(model: Path, data: Path) -> tuple[list[float], list[float]]:
    """Losses of every hidden token on its own and in order, by the stock classes, a row and a token at a time."""
    is_xlnet = "xlnet" in model.name
    stock = (AutoModelForCausalLM if is_xlnet else AutoModelForMaskedLM).from_pretrained(model).eval()
    mask = Dataset.open(data).vocabulary.mask
    apart, ordered = [], []
    for held_out in examples_of(data).batches(limit=1500):
        batch = in_order(held_out, 0, mask)
        assert batch.order is not None
        for row in range(len(batch.ids)):
            real = int((batch.documents[row] > 0).sum())
            original, order = held_out.blocks.ids[row, :real].astype(np.int64), batch.order[row, :real]
            for column in np.flatnonzero(order):
                for losses, known in ((apart, order == 0), (ordered, order < order[column])):
                    if is_xlnet:
                        unseen = torch.from_numpy(np.tile(~known, (real, 1))).float()[None]
                        mapping = torch.zeros(1, 1, real)
                        mapping[0, 0, column] = 1
                        ids = torch.from_numpy(original)[None]
                        logits = stock(ids, perm_mask=unseen, target_mapping=mapping).logits[0, 0]
                    else:
                        logits = stock(torch.from_numpy(np.where(known, original, mask))[None]).logits[0, column]
                    losses.append(-logits.log_softmax(-1)[original[column]].item())
    return apart, ordered


def test_figures_are_those_of_the_stock_model_asked_for_each_token_in_turn(
    model: Path, data: Path, evaluated: Evaluated
) -> None:
    """In one layer, in which what is known is not looked at anew when more of it is."""
    found = found_in(evaluated)
    apart, ordered = plainly(model, data)
    assert len(apart) == evaluated.positions > 300
    assert found.independent.value == pytest.approx(np.mean(apart), rel=1e-5)
    assert found.dependent.value == pytest.approx(np.mean(ordered), rel=1e-5)
    assert abs(found.gain.value) > 1e-4


def test_the_gain_is_the_difference_with_an_interval_of_its_own(evaluated: Evaluated) -> None:
    found = found_in(evaluated)
    assert found.gain.value == pytest.approx(found.independent.value - found.dependent.value, abs=1e-9)
    assert found.gain.low < found.gain.value < found.gain.high
    width = found.gain.high - found.gain.low
    assert width < 0.5 * (found.independent.high - found.independent.low)  # the same tokens on both sides


def test_the_batch_size_changes_nothing_and_the_seed_the_order(model: Path, data: Path, evaluated: Evaluated) -> None:
    lm = load_model(model, permuted=True)
    again = measure_dependence(lm, examples_of(data), 1500, 200)
    assert again is not None
    assert again.gain.value == pytest.approx(found_in(evaluated).gain.value, rel=1e-3, abs=1e-6)
    other = measure_dependence(lm, replace(examples_of(data), seed=1), 1500, 8192)
    assert other is not None and other.gain.value != found_in(evaluated).gain.value


def test_xlnet_is_shown_nothing_where_something_is_hidden_and_so_costs_what_it_costs_on_its_own(
    model: Path, data: Path, evaluated: Evaluated
) -> None:
    if "xlnet" in model.name:
        assert list(evaluated.by_kind) == ["nothing"]
        assert evaluated.loss.value == pytest.approx(found_in(evaluated).independent.value, rel=1e-6)
        with pytest.raises(BadInput, match="xlnet is not a masked language model"):
            load_model(model)  # as `fill` asks for it
    else:
        assert list(evaluated.by_kind) == ["masked", "random", "kept"]
        everything_masked = evaluate_all_masked(load_model(model), data)
        assert found_in(evaluated).independent.value == pytest.approx(everything_masked, rel=1e-5)


@torch.no_grad()
def evaluate_all_masked(lm: LoadedModel, data: Path) -> float:
    losses = []
    for held_out in examples_of(data).batches(limit=1500):
        batch = in_order(held_out, 0, lm.vocabulary.mask)
        attention = torch.from_numpy(batch.documents > 0).long()
        logits = lm.model(torch.from_numpy(batch.ids), attention_mask=attention).logits.flatten(0, 1)[batch.predicted]
        losses.append(torch.nn.functional.cross_entropy(logits, torch.from_numpy(batch.targets), reduction="none"))
    return torch.cat(losses).mean().item()


def test_a_model_that_predicts_in_one_way_only_has_no_such_figures(make_model, data: Path) -> None:
    assert evaluate(make_model(), data, length=LENGTH, limit=500).dependence is None


@pytest.mark.parametrize("family", BOTH)
def test_where_all_hidden_tokens_are_the_same_word_all_but_the_first_come_to_be_known(family: str) -> None:
    vocabulary = Vocabulary(size=13, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
    learner, how = build_model(family, "tiny", vocabulary, length=8, dropout=0.0, seed=0), ORDERED[family]
    optimizer, rng = torch.optim.Adam(learner.parameters(), lr=3e-3), np.random.default_rng(0)

    def same_words(rows: int) -> Batch:
        words = np.repeat(rng.integers(5, 13, rows), 4)
        ids, order = np.full((rows, 6), 2), np.zeros((rows, 6), dtype=np.int64)
        ids[:, 1:5] = 4 if how.masks else words.reshape(rows, 4)
        ids[:, 5] = 3
        order[:, 1:5] = rng.permuted(np.tile(np.arange(1, 5), (rows, 1)), axis=1)
        places = np.tile(np.arange(6), (rows, 1))
        return Batch(ids, places, ids * 0 + 1, np.flatnonzero(order), words, np.arange(rows), order=order)

    for _ in range(60):
        optimizer.zero_grad()
        how.predict(learner, same_words(32)).losses.mean().backward()
        optimizer.step()
    with torch.no_grad():
        batch = same_words(200)
        assert batch.order is not None
        losses = how.predict(learner, batch).losses.numpy()
        apart = how.predict(learner, all_at_once(batch)).losses.numpy()
    first = batch.order.reshape(-1)[batch.predicted] == 1
    assert losses[first].mean() == pytest.approx(np.log(8), abs=0.2)  # of eight words each as likely
    assert apart.mean() > np.log(8) - 0.1
    assert losses[~first].mean() < 0.3
