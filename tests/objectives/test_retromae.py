"""RetroMAE's two losses: the decoder's against its formula, document by document, from the vector and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from packed_cases import packed_blocks
from torch.nn import functional as F

from unmask.corruption.policy import corrupt, policy_named
from unmask.models.families.family import build_model
from unmask.models.heads import states_kept
from unmask.models.inputs import as_inputs
from unmask.objectives.mlm import masked_lm_loss
from unmask.objectives.retromae import RetroLearner, RetroMAE
from unmask.records import Batch, Vocabulary
from unmask.tokens.collate import collate

VOCABULARY = Vocabulary(size=97, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
BLOCKS = packed_blocks((25, 13), (38,), (9, 20), width=40)
OBJECTIVE = RetroMAE()


@pytest.fixture(scope="module")
def batch() -> Batch:
    return collate(BLOCKS, corrupt(BLOCKS, policy_named("token", 0.3), VOCABULARY, seed=1))


@pytest.fixture(scope="module")
def learner() -> RetroLearner:
    torch.manual_seed(0)
    return OBJECTIVE.learner(lambda: build_model("bert", "tiny", VOCABULARY, length=40, dropout=0.0, seed=0)).eval()


def test_half_of_the_text_is_hidden_from_the_decoder_and_no_special_token(batch: Batch) -> None:
    places = OBJECTIVE.restored(batch)
    original = BLOCKS.ids.ravel()
    assert (original[places] > 4).all() and (np.diff(places) > 0).all()
    wide = packed_blocks(*[(60,)] * 200)
    many = collate(wide, corrupt(wide, policy_named("token", 0.3), VOCABULARY, seed=1))
    assert abs(len(OBJECTIVE.restored(many)) / (200 * 58) - 0.5) < 0.02
    assert OBJECTIVE.counts(batch) == {"mlm": len(batch.targets), "decoder": len(places)}


def test_the_decoder_s_loss_is_that_of_each_document_alone_worked_out(batch: Batch, learner: RetroLearner) -> None:
    decoder, layer, width = learner.decoder, learner.decoder.layer, batch.ids.shape[1]
    states = learner.model.base_model(**as_inputs(learner.model, batch)).last_hidden_state
    table, hidden = learner.model.get_input_embeddings().weight, set(OBJECTIVE.restored(batch).tolist())
    total = torch.zeros(())
    for row, document in sorted({(row, int(n)) for row, line in enumerate(BLOCKS.documents) for n in line if n}):
        columns = np.flatnonzero(BLOCKS.documents[row] == document)
        x = table[torch.from_numpy(BLOCKS.ids[row, columns]).long()].clone()
        masked = [nth for nth, column in enumerate(columns) if row * width + column in hidden]
        x[masked] = learner.mask
        x[0] = states[row, columns[0]]
        x = x + decoder.place.weight[: len(columns)]
        q, k, v = F.linear(x, layer.self_attn.in_proj_weight, layer.self_attn.in_proj_bias).chunk(3, dim=-1)
        heads = [part.view(len(columns), decoder.heads, -1).transpose(0, 1) for part in (q, k, v)]
        seen = (heads[0] @ heads[1].mT / heads[0].shape[-1] ** 0.5).softmax(-1) @ heads[2]
        x = layer.norm1(x + layer.self_attn.out_proj(seen.transpose(0, 1).reshape(len(columns), -1)))
        x = layer.norm2(x + layer.linear2(F.gelu(layer.linear1(x))))
        logs = F.log_softmax(x @ table.T + decoder.bias, dim=-1)
        for nth in masked:
            total = total - logs[nth, BLOCKS.ids[row, columns[nth]]]
    outcome = OBJECTIVE.outcome(learner, batch)
    torch.testing.assert_close(outcome.losses["decoder"], total, rtol=1e-5, atol=1e-3)
    torch.testing.assert_close(outcome.losses["mlm"], masked_lm_loss(learner.model, batch).loss)


def test_of_the_encoder_the_decoder_sees_the_opening_states_alone(batch: Batch, learner: RetroLearner) -> None:
    with states_kept(learner.model) as kept:
        masked_lm_loss(learner.model, batch)
    states = kept[0].detach().requires_grad_()
    OBJECTIVE.restore(learner, states, batch).losses.sum().backward()
    assert states.grad is not None
    moved = states.grad.abs().sum(-1) > 0
    assert (moved.numpy() == (BLOCKS.ids == VOCABULARY.start)).all()


def test_what_is_exported_is_the_model_without_the_decoder(learner: RetroLearner) -> None:
    assert OBJECTIVE.exports(learner)["model"].model is learner.model is OBJECTIVE.masked_lm(learner)
