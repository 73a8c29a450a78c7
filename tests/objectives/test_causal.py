"""The next token from those before it, on models that look left and on models that are made to."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from unmask.models.families.family import build_model
from unmask.objectives.causal import Causal
from unmask.records import Batch, Integers, Vocabulary
from unmask.tokens.collate import positions_in_document

VOCABULARY = Vocabulary(size=97, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
FIRST, SECOND = [2, 10, 11, 12, 3], [2, 20, 21, 3]
NONE = np.zeros(0, dtype=np.int64)
FAMILIES = ["gpt2", "bert", "modernbert", "roberta", "ernie"]


def batch(*rows: list[list[int]], width: int = 12) -> Batch:
    ids, documents = np.zeros((2, len(rows), width), dtype=np.int64)
    for row, texts in enumerate(rows):
        joined = [token for text in texts for token in text]
        ids[row, : len(joined)] = joined
        documents[row, : len(joined)] = [number for number, text in enumerate(texts, 1) for _ in text]
    return Batch(ids, positions_in_document(documents.astype(np.int32)), documents, NONE, NONE, np.arange(len(rows)))


def model(family: str) -> torch.nn.Module:
    return build_model(family, "tiny", VOCABULARY, length=12, dropout=0.0, seed=0).eval()


def loss(family: str, some: Batch) -> float:
    return Causal().outcome(model(family), some).losses["causal"].item()


def test_the_loss_is_that_of_the_stock_model_on_each_document_alone() -> None:
    stock, expected, right = model("gpt2"), 0.0, 0
    for text in (FIRST, SECOND, FIRST):
        ids = torch.tensor([text])
        logits = stock(input_ids=ids).logits[0, :-1]
        expected += F.cross_entropy(logits, ids[0, 1:], reduction="sum").item()
        right += int((logits.argmax(-1) == ids[0, 1:]).sum())
    outcome = Causal().outcome(stock, packed := batch([FIRST, SECOND], [FIRST]))
    assert outcome.losses["causal"].item() == pytest.approx(expected, rel=1e-5)
    assert outcome.tallies["correct"].item() == right
    assert Causal().counts(packed) == {"causal": 4 + 3 + 4}


def test_closing_tokens_are_learnt_but_not_charged_for() -> None:
    outcome = Causal().outcome(stock := model("gpt2"), batch([FIRST]))
    logits = stock(input_ids=torch.tensor([FIRST])).logits[0, :3]
    text = F.cross_entropy(logits, torch.tensor(FIRST[1:4]), reduction="sum").item()
    assert outcome.tallies["nats"].item() == pytest.approx(text, rel=1e-5) and outcome.tallies["text"].item() == 3
    tallies = {name: tally.double().numpy() for name, tally in outcome.tallies.items()}
    figures = Causal().figures({"causal": 4.0}, tallies)
    assert figures["bits_per_token"] == pytest.approx(text / np.log(2) / 3, rel=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_packed_documents_cost_what_they_cost_alone(family: str) -> None:
    alone = loss(family, batch([FIRST])) + loss(family, batch([SECOND]))
    assert loss(family, batch([FIRST, SECOND])) == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("texts", [[FIRST, SECOND], [FIRST + SECOND]])
def test_no_prediction_sees_its_own_token_or_a_later_one(family: str, texts: list[list[int]]) -> None:
    def losses(ids: Integers) -> torch.Tensor:
        from unmask.models.inputs import as_inputs

        learner, some = model(family), batch(texts)
        some.ids[0, : len(ids)] = ids
        with torch.no_grad():
            return learner(**as_inputs(learner, some, causal=True)).logits[0]

    ids = np.array(FIRST + SECOND)
    before, changed = losses(ids), ids.copy()
    changed[3:] = 50
    after = losses(changed)
    torch.testing.assert_close(after[:3], before[:3], rtol=0, atol=1e-6)
    assert not torch.allclose(after[3], before[3], atol=1e-3)
