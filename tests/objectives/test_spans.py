"""SpanBERT's two losses, against the formula worked out span by span."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
import torch
from packed_cases import packed_blocks
from torch.nn import functional as F

from unmask.corruption.policy import corrupt, policy_named
from unmask.models.families.family import build_model
from unmask.models.inputs import as_inputs
from unmask.objectives.mlm import masked_lm_loss
from unmask.objectives.spans import BoundaryLearner, SpanBoundary
from unmask.records import Batch, Vocabulary
from unmask.tokens.collate import collate

VOCABULARY = Vocabulary(size=97, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
LENGTHS = ((25, 13), (38,), (9, 20))  # of the documents packed in each row
OBJECTIVE = SpanBoundary()


def batch(rate: float = 0.4) -> Batch:
    blocks = packed_blocks(*LENGTHS, width=40)
    return collate(blocks, corrupt(blocks, policy_named("span", rate), VOCABULARY, seed=1))


@pytest.fixture
def learner() -> BoundaryLearner:
    torch.manual_seed(0)
    return OBJECTIVE.learner(lambda: build_model("bert", "tiny", VOCABULARY, length=40, dropout=0.0, seed=0)).eval()


def runs(some: Batch) -> list[list[int]]:
    """The flat positions of each hidden run, found anew: neighbours in one row and one document."""
    width = some.ids.shape[1]
    documents = some.documents.ravel()
    places = [(int(at), (int(at) // width, int(documents[at]))) for at in some.predicted]
    found = groupby(enumerate(places), key=lambda each: (each[1][0] - each[0], each[1][1]))
    return [[at for _, (at, _) in members] for _, members in found]


def test_the_boundary_loss_is_that_of_a_loop_over_spans(learner: BoundaryLearner) -> None:
    some, head = batch(), learner.boundary
    targets = dict(zip(some.predicted.tolist(), some.targets.tolist(), strict=True))
    states = learner.model.base_model(**as_inputs(learner.model, some)).last_hidden_state.flatten(0, 1)
    embeddings = learner.model.get_input_embeddings().weight
    total = torch.zeros(())
    spans = runs(some)
    assert max(map(len, spans)) > 3 and len(spans) > 5
    for span in spans:
        before, after = states[span[0] - 1], states[span[-1] + 1]
        assert some.ids.ravel()[span[0] - 1] != 0 and some.ids.ravel()[span[-1] + 1] != 0
        for nth, position in enumerate(span):
            x = torch.cat((before, after, head.place.weight[nth]))
            x = F.gelu(head.narrow.weight @ x + head.narrow.bias)
            x = (x - x.mean()) / (x.var(unbiased=False) + 1e-12).sqrt()
            x = F.gelu(head.dense.weight @ x + head.dense.bias)
            x = (x - x.mean()) / (x.var(unbiased=False) + 1e-12).sqrt()
            total = total - torch.log_softmax(embeddings @ x + head.bias, dim=0)[targets[position]]
    outcome = OBJECTIVE.outcome(learner, some)
    torch.testing.assert_close(outcome.losses["boundary"], total, rtol=1e-5, atol=1e-3)
    torch.testing.assert_close(outcome.losses["mlm"], masked_lm_loss(learner.model, some).loss)
    assert OBJECTIVE.counts(some) == {"mlm": len(targets), "boundary": len(targets)}


def test_the_boundary_loss_hangs_on_the_edges_and_the_other_does_not(learner: BoundaryLearner) -> None:
    some = batch()
    first, second = OBJECTIVE.outcome(learner, some), OBJECTIVE.outcome(learner, replace(some, edges=some.edges * 0))
    assert first.losses["mlm"] == second.losses["mlm"]
    assert first.losses["boundary"] != second.losses["boundary"]


def test_both_losses_teach_the_encoder_and_the_shared_embeddings(learner: BoundaryLearner) -> None:
    names = dict(learner.named_parameters())
    assert len(names) == len(list(learner.model.named_parameters())) + len(list(learner.boundary.named_parameters()))
    OBJECTIVE.outcome(learner, batch()).losses["boundary"].backward()
    taught = {name for name, parameter in names.items() if parameter.grad is not None and parameter.grad.any()}
    assert {name for name in names if name.startswith("boundary.")} <= taught
    assert "model.bert.embeddings.word_embeddings.weight" in taught
    assert any(name.startswith("model.bert.encoder.layer.0.") for name in taught)
    assert not any(name.startswith("model.cls.predictions.transform") for name in taught)


def test_nothing_hidden_is_two_losses_of_zero(learner: BoundaryLearner) -> None:
    nothing = replace(
        batch(), predicted=np.zeros(0, np.int64), targets=np.zeros(0, np.int64), edges=np.zeros((0, 2), np.int64)
    )
    assert [loss.item() for loss in OBJECTIVE.outcome(learner, nothing).losses.values()] == [0.0, 0.0]


def test_a_batch_without_edges_is_refused(learner: BoundaryLearner) -> None:
    with pytest.raises(ValueError, match="names no edges"):
        OBJECTIVE.outcome(learner, replace(batch(), edges=None))


def test_chunks_of_the_vocabulary_give_the_losses_of_the_whole(
    learner: BoundaryLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = batch(rate=0.8)
    assert len(some.targets) > 64
    whole = OBJECTIVE.outcome(learner, some)
    monkeypatch.setattr("unmask.objectives.vocabulary.MAX_LOGITS", 1)
    chunked = OBJECTIVE.outcome(learner, some)
    for term, loss in whole.losses.items():
        torch.testing.assert_close(chunked.losses[term], loss)
    assert chunked.tallies == whole.tallies
