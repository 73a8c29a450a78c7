from collections.abc import Callable

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from unmask.models.inputs import PACKABLE, as_inputs
from unmask.records import Batch
from unmask.tokens.collate import positions_in_document

RNG = np.random.default_rng(3)
FIRST, SECOND = RNG.integers(5, 211, 23), RNG.integers(5, 211, 14)
Make = Callable[[str], PreTrainedModel]
NOTHING = np.zeros(0, dtype=np.int64)


def batch(*rows: list[np.ndarray], width: int) -> Batch:
    ids = np.zeros((len(rows), width), dtype=np.int64)
    documents = np.zeros_like(ids)
    for row, members in enumerate(rows):
        column = 0
        for number, member in enumerate(members, start=1):
            ids[row, column : column + len(member)] = member
            documents[row, column : column + len(member)] = number
            column += len(member)
    positions = positions_in_document(documents.astype(np.int32))
    return Batch(ids, positions, documents, NOTHING, NOTHING, np.arange(len(rows)))


@pytest.mark.parametrize("family", sorted(PACKABLE))
def test_a_packed_document_has_the_logits_it_has_alone(family: str, make: Make) -> None:
    model = make(family)
    logits = model(**as_inputs(model, batch([FIRST, SECOND], width=40))).logits[0]
    for document, begin in ((FIRST, 0), (SECOND, len(FIRST))):
        alone = model(input_ids=torch.tensor(document)[None]).logits[0]
        torch.testing.assert_close(logits[begin : begin + len(document)], alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", sorted(PACKABLE))
def test_editing_one_packed_document_leaves_the_other_as_it_was(family: str, make: Make) -> None:
    model = make(family)
    before = model(**as_inputs(model, batch([FIRST, SECOND], width=40))).logits[0, : len(FIRST)]
    after = model(**as_inputs(model, batch([FIRST, SECOND[::-1]], width=40))).logits[0, : len(FIRST)]
    assert torch.equal(before, after)


@pytest.mark.parametrize("family", sorted({*PACKABLE, "deberta-v2", "mpnet"}))
def test_padding_changes_nothing_where_rows_hold_one_document(family: str, make: Make) -> None:
    model = make(family)
    logits = model(**as_inputs(model, batch([FIRST], [SECOND], width=30))).logits
    for row, document in enumerate((FIRST, SECOND)):
        alone = model(input_ids=torch.tensor(document)[None]).logits[0]
        torch.testing.assert_close(logits[row, : len(document)], alone, rtol=0, atol=1e-5)


def test_a_family_that_would_leak_is_refused(make: Make) -> None:
    with pytest.raises(ValueError, match="mpnet cannot keep packed documents apart"):
        as_inputs(make("mpnet"), batch([FIRST, SECOND], width=40))
    with pytest.raises(ValueError, match="mpnet cannot look to the left alone"):
        as_inputs(make("mpnet"), batch([FIRST], width=40), causal=True)


@pytest.mark.parametrize("family", sorted(PACKABLE))
@pytest.mark.parametrize("rows", [[FIRST, SECOND], [FIRST]])
def test_from_left_to_right_nothing_later_is_seen(family: str, rows: list[np.ndarray], make: Make) -> None:
    model, place = make(family), 9
    changed = [np.concatenate((FIRST[:place], FIRST[place:][::-1])), *rows[1:]]
    before, after = (
        model(**as_inputs(model, batch(texts, width=40), causal=True)).logits[0] for texts in (rows, changed)
    )
    torch.testing.assert_close(after[:place], before[:place], rtol=0, atol=1e-6)
    assert not torch.allclose(after[place], before[place], atol=1e-4)
