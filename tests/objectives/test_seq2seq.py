"""T5's span corruption: against transformers' own loss, and document by document."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from packed_cases import packed_blocks
from transformers import PreTrainedModel

from unmask.corruption.policy import corrupt, policy_named, restore
from unmask.corruption.sentinels import expand_sentinels
from unmask.models.families.family import build_model
from unmask.objectives.seq2seq import COLUMNS, Seq2Seq, as_sequences, spans_restored
from unmask.records import Answer, Batch, Blocks, Ids, Vocabulary
from unmask.tokens.collate import collate

SENTINELS = tuple(range(97, 117))
VOCABULARY = Vocabulary(
    size=117, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4, *SENTINELS), sentinels=SENTINELS
)
OBJECTIVE = Seq2Seq()
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    return build_model("t5", "tiny", VOCABULARY, length=64, dropout=0.0, seed=0).eval()


def packed(*rows: tuple[int, ...], seed: int = 1) -> tuple[Blocks, Batch]:
    """Rows packed with documents of these lengths, a third of each hidden, and what they become."""
    blocks = packed_blocks(*rows)
    return blocks, collate(blocks, corrupt(blocks, policy_named("sentinel", 0.3), VOCABULARY, seed=seed))


def answered(ids: list[list[int]], documents: list[list[int]]) -> Answer:
    return Answer(np.array(ids, dtype=np.int32), np.array(documents, dtype=np.int32), SENTINELS, 0)


def alone(batch: Batch, row: int, document: int) -> Batch:
    """One document of a batch as a batch of its own."""
    assert batch.answer is not None
    inside, said = batch.documents[row] == document, batch.answer.documents[row] == document

    def one(rows: np.ndarray, flags: np.ndarray) -> np.ndarray:
        return rows[row, flags][None]

    answer = replace(batch.answer, ids=one(batch.answer.ids, said), documents=np.ones((1, said.sum()), dtype=np.int32))
    ids, positions = one(batch.ids, inside), one(batch.positions, inside)
    none = np.zeros(0, dtype=np.int64)
    return Batch(ids, positions, np.ones_like(ids), none, none, batch.numbers[:1], answer=answer)


def test_inputs_and_targets_invert_to_the_text() -> None:
    blocks, batch = packed((30, 20), (44,), (9, 9, 9))
    corrupted = corrupt(blocks, policy_named("sentinel", 0.3), VOCABULARY, seed=1)
    assert np.array_equal(restore(corrupted), blocks.ids)
    assert batch.answer is not None
    back: Ids = expand_sentinels(batch.ids.astype(np.int32), batch.answer)
    assert np.array_equal(back, blocks.ids)
    assert batch.tokens == (blocks.documents > 0).sum() and batch.predictions == corrupted.hidden.sum()


def test_the_loss_is_transformers_own_where_rows_hold_one_document(model: PreTrainedModel) -> None:
    _, batch = packed((40,), (31,), (12,))
    assert batch.answer is not None
    labels = torch.from_numpy(np.where(batch.answer.documents > 0, batch.answer.ids, -100)).long()
    seen = torch.from_numpy(batch.documents)
    reference = model(input_ids=torch.from_numpy(batch.ids), attention_mask=seen, labels=labels)
    outcome, count = OBJECTIVE.outcome(model, batch), OBJECTIVE.counts(batch)["seq2seq"]
    assert count == (labels != -100).sum()
    torch.testing.assert_close(outcome.losses["seq2seq"] / count, reference.loss)
    assert outcome.tallies["correct"] == (reference.logits.argmax(-1) == labels).sum()


def test_packed_documents_have_the_losses_they_have_alone(model: PreTrainedModel) -> None:
    _, batch = packed((25, 19), (44,), (13, 14, 15))
    assert batch.answer is not None
    whole = OBJECTIVE.outcome(model, batch).losses["seq2seq"]
    pieces = {(row, int(number)) for row, owners in enumerate(batch.answer.documents) for number in owners if number}
    assert len(pieces) == 6
    parts = [OBJECTIVE.outcome(model, alone(batch, *piece)).losses["seq2seq"] for piece in pieces]
    torch.testing.assert_close(torch.stack(parts).sum(), whole, rtol=1e-5, atol=1e-4)


def test_editing_one_packed_document_leaves_the_answer_of_the_other_as_it_was(model: PreTrainedModel) -> None:
    _, batch = packed((25, 19))
    assert batch.answer is not None
    other = batch.ids.copy()
    other[batch.documents == 2] = 50
    answer = np.where(batch.answer.documents == 2, 60, batch.answer.ids)
    edited = replace(batch, ids=other, answer=replace(batch.answer, ids=answer))

    def first(some: Batch) -> torch.Tensor:
        kept = replace(some, answer=replace(some.answer, documents=some.answer.documents))  # type: ignore[union-attr,arg-type]
        logits: list[torch.Tensor] = []
        hook = model.get_output_embeddings().register_forward_hook(lambda _m, _a, made: logits.append(made))
        OBJECTIVE.outcome(model, kept)
        hook.remove()
        return logits[0][0, : int((some.answer.documents == 1).sum())]  # type: ignore[union-attr]

    assert torch.equal(first(batch), first(edited))


def test_the_decoder_is_given_the_answer_one_later_and_begins_anew_with_each_document() -> None:
    answer = answered([[97, 8, 3, 97, 9, 98, 10, 3, 0]], [[1, 1, 1, 2, 2, 2, 2, 2, 0]])
    _, batch = packed((5, 6))
    inputs, across = as_sequences(replace(batch, answer=answer), 0, CPU)
    assert inputs["decoder_input_ids"].tolist() == [[0, 97, 8, 0, 97, 9, 98, 10, *[0] * 8]]
    assert inputs["input_ids"].shape[1] % COLUMNS == across.shape[2] % COLUMNS == 0
    assert inputs["decoder_attention_mask"][0, 0, 4].nonzero().flatten().tolist() == [3, 4]
    owners = torch.from_numpy(batch.documents[0])
    assert across[0, 0, 0, : len(owners)].tolist() == (owners == 1).tolist()
    assert across[0, 0, 5, : len(owners)].tolist() == (owners == 2).tolist()


def test_a_span_is_restored_when_all_its_tokens_are() -> None:
    answer = answered(
        [[97, 8, 9, 98, 7, 3, 97, 6, 3], [97, 5, 3, 0, 0, 0, 0, 0, 0]],
        [[1, 1, 1, 1, 1, 1, 2, 2, 2], [1, 1, 1, 0, 0, 0, 0, 0, 0]],
    )
    everything = torch.ones(12, dtype=torch.bool)
    assert [int(each) for each in spans_restored(answer, everything)] == [4, 4]
    for wrong, restored in ((0, 4), (1, 3), (2, 3), (4, 3), (5, 4), (7, 3), (10, 3), (11, 4)):
        right = everything.clone()
        right[wrong] = False
        assert [int(each) for each in spans_restored(answer, right)] == [restored, 4], wrong
    right = everything.clone()
    right[[1, 2, 10]] = False
    assert int(spans_restored(answer, right)[0]) == 2


def test_chunks_of_the_vocabulary_give_the_loss_of_the_whole(
    model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, batch = packed(*[(40,)] * 8)
    gradients = []
    for size in (1 << 26, 1):
        monkeypatch.setattr("unmask.objectives.vocabulary.MAX_LOGITS", size)
        model.zero_grad()
        outcome = OBJECTIVE.outcome(model, batch)
        outcome.losses["seq2seq"].backward()
        gradients.append([outcome.losses["seq2seq"].detach(), *(p.grad.clone() for p in model.parameters())])  # type: ignore[union-attr]
    assert OBJECTIVE.counts(batch)["seq2seq"] > 64
    for whole, chunked in zip(*gradients, strict=True):
        torch.testing.assert_close(chunked, whole, rtol=1e-4, atol=1e-4)


def test_a_batch_with_nothing_hidden_is_a_loss_of_zero_and_one_without_an_answer_is_refused(
    model: PreTrainedModel,
) -> None:
    _, batch = packed((12,))
    nothing = answered([[]], [[]])
    outcome = OBJECTIVE.outcome(model, replace(batch, answer=nothing))
    assert outcome.losses["seq2seq"].item() == 0.0 and outcome.tallies["spans"].tolist() == [0, 0]
    figures = OBJECTIVE.figures({"seq2seq": 0.0}, {"correct": np.zeros(1), "spans": np.zeros(2)})
    assert figures == {"accuracy": 0.0, "spans_restored": 0.0}
    with pytest.raises(ValueError, match="no answer"):
        OBJECTIVE.outcome(model, replace(batch, answer=None))
