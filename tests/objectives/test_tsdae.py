"""TSDAE's two losses: the decoder's against its formula, document by document, from the vector of what is left."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from packed_cases import packed_blocks
from torch.nn import functional as F

from unmask.corruption.policy import corrupt, policy_named
from unmask.models.families.family import build_model
from unmask.objectives.from_vector import VectorLearner, original_ids
from unmask.objectives.mlm import masked_lm_loss
from unmask.objectives.tsdae import TSDAE, shortened, vectors_of
from unmask.records import Batch, Vocabulary
from unmask.tokens.collate import collate

VOCABULARY = Vocabulary(size=97, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
BLOCKS = packed_blocks((25, 13), (38,), (9, 20), width=40)
OBJECTIVE = TSDAE()


@pytest.fixture(scope="module")
def batch() -> Batch:
    return collate(BLOCKS, corrupt(BLOCKS, policy_named("token", 0.3), VOCABULARY, seed=1))


@pytest.fixture(scope="module")
def learner() -> VectorLearner:
    torch.manual_seed(0)
    return OBJECTIVE.learner(lambda: build_model("bert", "tiny", VOCABULARY, length=40, dropout=0.0, seed=0)).eval()


def documents(batch: Batch) -> list[tuple[int, ...]]:
    """The ids of each document, in their order."""
    lines = zip(original_ids(batch).tolist(), batch.documents.tolist(), strict=True)
    return [
        tuple(token for token, owner in zip(ids, owners, strict=True) if owner == number)
        for ids, owners in lines
        for number in dict.fromkeys(owner for owner in owners if owner)
    ]


def test_most_of_the_text_is_deleted_and_what_is_left_moves_together(batch: Batch) -> None:
    short = shortened(batch, VOCABULARY.pad)
    for whole, left in zip(documents(batch), documents(short), strict=True):
        assert left[0] == 2 and left[-1] == 3 and len(left) < len(whole)
        rest = iter(whole)
        assert all(token in rest for token in left)  # in their order, hidden or not
    for row, owners in enumerate(short.documents):
        assert (np.diff((owners > 0).astype(int)) <= 0).all()  # nothing stands behind padding
        for number in set(owners[owners > 0].tolist()):
            assert short.positions[row, owners == number].tolist() == list(range((owners == number).sum()))
    assert (short.ids[short.documents == 0] == VOCABULARY.pad).all()
    wide = packed_blocks(*[(60,)] * 200)
    many = collate(wide, corrupt(wide, policy_named("token", 0.3), VOCABULARY, seed=1))
    left = (shortened(many, VOCABULARY.pad).documents > 0).sum() - 2 * 200
    assert abs(left / (200 * 58) - 0.4) < 0.02


def test_the_decoder_s_loss_is_that_of_each_document_alone_worked_out(batch: Batch, learner: VectorLearner) -> None:
    decoder, layer, table = learner.decoder, learner.decoder.layer, learner.table
    total, count = torch.zeros(()), 0
    for whole, left in zip(documents(batch), documents(shortened(batch, VOCABULARY.pad)), strict=True):
        vector = learner.model.base_model(input_ids=torch.tensor([left])).last_hidden_state[0, 0]
        x = table[torch.tensor(whole)].clone()
        x[0] = vector
        x = x + decoder.place.weight[: len(whole)]
        q, k, v = F.linear(x, layer.self_attn.in_proj_weight, layer.self_attn.in_proj_bias).chunk(3, dim=-1)
        heads = [part.view(len(whole), decoder.heads, -1).transpose(0, 1) for part in (q, k, v)]
        scores = heads[0] @ heads[1].mT / heads[0].shape[-1] ** 0.5
        later = torch.ones(len(whole), len(whole), dtype=torch.bool).triu(1)
        seen = scores.masked_fill(later, -torch.inf).softmax(-1) @ heads[2]
        x = layer.norm1(x + layer.self_attn.out_proj(seen.transpose(0, 1).reshape(len(whole), -1)))
        x = layer.norm2(x + layer.linear2(F.gelu(layer.linear1(x))))
        logs = F.log_softmax(x @ table.T + decoder.bias, dim=-1)
        for nth, token in enumerate(whole[1:]):
            total, count = total - logs[nth, token], count + 1
    outcome = OBJECTIVE.outcome(learner, batch)
    assert OBJECTIVE.counts(batch) == {"mlm": len(batch.targets), "decoder": count}
    torch.testing.assert_close(outcome.losses["decoder"], total, rtol=1e-5, atol=1e-3)
    torch.testing.assert_close(outcome.losses["mlm"], masked_lm_loss(learner.model, batch).loss)


def test_what_was_deleted_reaches_the_encoder_by_no_way(batch: Batch, learner: VectorLearner) -> None:
    before = vectors_of(learner, batch)
    ids = batch.ids.copy()
    original = original_ids(batch)
    left = {token for each in documents(shortened(batch, VOCABULARY.pad)) for token in each}
    gone = next(place for place, token in enumerate(original.ravel()) if token > 4 and token not in left)
    assert gone not in batch.predicted
    ids.reshape(-1)[gone] = 5
    changed = Batch(**{**vars(batch), "ids": ids})
    torch.testing.assert_close(vectors_of(learner, changed), before, rtol=0, atol=0)
    assert OBJECTIVE.outcome(learner, changed).losses["decoder"] != OBJECTIVE.outcome(learner, batch).losses["decoder"]


@pytest.mark.parametrize("family", ["roberta", "modernbert", "deberta"])
def test_it_trains_the_encoder_of_other_kinds_through_the_vector(family: str) -> None:
    blocks = packed_blocks((25,), (38,), (9,))  # DeBERTa takes no packed documents
    batch = collate(blocks, corrupt(blocks, policy_named("token", 0.3), VOCABULARY, seed=1))
    learner = OBJECTIVE.learner(lambda: build_model(family, "tiny", VOCABULARY, length=64, dropout=0.0, seed=0))
    OBJECTIVE.outcome(learner, batch).losses["decoder"].backward()
    layers = [weight.grad for name, weight in learner.model.named_parameters() if ".0." in name]
    assert layers and all(grad is not None and grad.abs().sum() > 0 for grad in layers)


def test_what_is_exported_is_the_model_without_the_decoder(learner: VectorLearner) -> None:
    assert OBJECTIVE.exports(learner)["model"].model is learner.model is OBJECTIVE.masked_lm(learner)
