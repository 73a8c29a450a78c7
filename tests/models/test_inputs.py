from collections.abc import Callable

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel
from transformers.models.mpnet.modeling_mpnet import create_position_ids_from_input_ids

from unmask.models.attention import SeenMask
from unmask.models.families.architectures import ARCHITECTURES, MASKED
from unmask.models.families.family import FAMILIES
from unmask.models.families.sizes import SIZES
from unmask.models.inputs import as_inputs
from unmask.models.masked_lm import first_position
from unmask.records import Batch, Vocabulary
from unmask.tokens.collate import positions_in_document

RNG = np.random.default_rng(3)
FIRST, SECOND = RNG.integers(5, 211, 23), RNG.integers(5, 211, 14)
Make = Callable[[str], PreTrainedModel]
NOTHING = np.zeros(0, dtype=np.int64)
MASKABLE = [name for name, each in ARCHITECTURES.items() if each.apart == "mask"]
ALONE = [name for name, each in ARCHITECTURES.items() if each.apart is None]


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


@pytest.mark.parametrize("family", MASKABLE)
def test_a_packed_document_has_the_logits_it_has_alone(family: str, make: Make) -> None:
    model = make(family)
    logits = model(**as_inputs(model, batch([FIRST, SECOND], width=40))).logits[0]
    for document, begin in ((FIRST, 0), (SECOND, len(FIRST))):
        alone = model(input_ids=torch.tensor(document)[None]).logits[0]
        torch.testing.assert_close(logits[begin : begin + len(document)], alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", MASKABLE)
def test_editing_one_packed_document_leaves_the_other_as_it_was(family: str, make: Make) -> None:
    model = make(family)
    before = model(**as_inputs(model, batch([FIRST, SECOND], width=40))).logits[0, : len(FIRST)]
    after = model(**as_inputs(model, batch([FIRST, SECOND[::-1]], width=40))).logits[0, : len(FIRST)]
    assert torch.equal(before, after)


@pytest.mark.parametrize("family", MASKABLE + ALONE)
def test_padding_changes_nothing_where_rows_hold_one_document(family: str, make: Make) -> None:
    model = make(family)
    logits = model(**as_inputs(model, batch([FIRST], [SECOND], width=30))).logits
    for row, document in enumerate((FIRST, SECOND)):
        alone = model(input_ids=torch.tensor(document)[None]).logits[0]
        torch.testing.assert_close(logits[row, : len(document)], alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", ALONE)
def test_a_family_that_would_leak_is_refused(family: str, make: Make) -> None:
    with pytest.raises(ValueError, match=f"{family} cannot keep packed documents apart"):
        as_inputs(make(family), batch([FIRST, SECOND], width=40))
    with pytest.raises(ValueError, match=f"{family} cannot look to the left alone"):
        as_inputs(make(family), batch([FIRST], width=40), causal=True)


def test_they_would_leak_or_fail_indeed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(ALONE) == {"deberta-v2"}
    for family in (*ALONE, "mpnet"):  # the second if it were given flags
        monkeypatch.setitem(ARCHITECTURES, family, MASKED)
    packed = batch([FIRST, SECOND], width=40)
    with pytest.raises(RuntimeError, match="size of tensor"):  # its mask is of rows and columns, and it wants a row
        make("deberta-v2")(**as_inputs(make("deberta-v2"), packed))
    model = make("mpnet")
    before, after = (
        model(**as_inputs(model, batch([first, SECOND], width=40))).logits[0, len(FIRST) : len(FIRST) + len(SECOND)]
        for first in (FIRST, FIRST[::-1])
    )
    assert (before - after).abs().max() > 2e-5  # small, as are the weights; of the others not a bit changes


@pytest.mark.parametrize("family", MASKABLE)
def test_positions_are_counted_from_where_the_model_counts_them(family: str, make: Make) -> None:
    model = make(family)
    can = ARCHITECTURES[family]
    padding = model.config.pad_token_id if can.padding is None else can.padding
    assert first_position(model) == (padding + 1 if can.positions_after_padding else 0)


@torch.no_grad()
def test_a_packed_token_that_mpnet_takes_for_padding_stands_where_it_stands_alone(make: Make) -> None:
    model, second = make("mpnet"), SECOND.copy()
    second[[4, 9]] = 1
    packed = as_inputs(model, batch([FIRST, second], width=40))
    positions = packed["position_ids"][0, len(FIRST) : len(FIRST) + len(second)]
    assert positions.tolist() == create_position_ids_from_input_ids(torch.from_numpy(second)[None], 1)[0].tolist()
    alone = model(input_ids=torch.from_numpy(second)[None]).logits[0]
    torch.testing.assert_close(model(**packed).logits[0, len(FIRST) :][: len(second)], alone, rtol=0, atol=1e-5)


def test_every_family_of_ours_has_the_architecture_that_it_names() -> None:
    vocabulary = Vocabulary(size=100, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
    for name, family in FAMILIES.items():
        assert family.config(SIZES["tiny"], vocabulary, 16, 0.0).model_type == family.model_type, name
    by_objective = {name for name, each in FAMILIES.items() if ARCHITECTURES[each.model_type].apart == "objective"}
    assert by_objective == {"t5", "xlnet"}  # proven in objectives/test_seq2seq.py and test_permuted.py


@pytest.mark.parametrize("family", MASKABLE)
@pytest.mark.parametrize("rows", [[FIRST, SECOND], [FIRST]])
def test_from_left_to_right_nothing_later_is_seen(family: str, rows: list[np.ndarray], make: Make) -> None:
    model, place = make(family), 9
    changed = [np.concatenate((FIRST[:place], FIRST[place:][::-1])), *rows[1:]]
    before, after = (
        model(**as_inputs(model, batch(texts, width=40), causal=True)).logits[0] for texts in (rows, changed)
    )
    torch.testing.assert_close(after[:place], before[:place], rtol=0, atol=1e-6)
    assert not torch.allclose(after[place], before[place], atol=1e-4)


DOCUMENTS = [RNG.integers(5, 211, size) for size in (60, 17, 60, 60, 41, 3, 58, 60, 60, 60)]


@pytest.mark.parametrize("family", MASKABLE)
def test_in_a_long_row_attention_looks_at_what_may_be_seen_and_logits_are_the_document_s_own(
    family: str, make: Make
) -> None:
    model = make(family)
    inputs = as_inputs(model, batch(DOCUMENTS, DOCUMENTS[::-1], width=500))
    masks = inputs["attention_mask"]
    kinds = {type(mask) for mask in (masks.values() if isinstance(masks, dict) else [masks])}
    assert kinds == {torch.Tensor if ARCHITECTURES[family].adds_mask else SeenMask}
    logits = model(**inputs).logits
    for row, documents in enumerate((DOCUMENTS, DOCUMENTS[::-1])):
        begin = 0
        for document in documents:
            alone = model(input_ids=torch.tensor(document)[None]).logits[0]
            torch.testing.assert_close(logits[row, begin : begin + len(document)], alone, rtol=0, atol=1e-5)
            begin += len(document)


@pytest.mark.parametrize("size", [400, 250])
def test_windows_of_rows_of_one_document_are_looked_through_without_a_mask(size: int, make: Make) -> None:
    model = make("modernbert")
    document = RNG.integers(5, 211, size)
    inputs = as_inputs(model, batch([document], [document], width=400))
    masks = inputs["attention_mask"]
    assert type(masks["sliding_attention"]) is SeenMask
    assert (masks["full_attention"] is None) == (size == 400), "where all is seen there is nothing to mask"
    alone = model(input_ids=torch.tensor(document)[None]).logits[0]
    for logits in model(**inputs).logits[:, :size]:
        torch.testing.assert_close(logits, alone, rtol=0, atol=1e-5)


def test_layers_that_are_compiled_have_the_dense_mask_which_is_the_same_for_every_packing(make: Make) -> None:
    model = make("bert")
    for layer in model.base_model.encoder.layer:
        layer.compile(backend="eager")
    assert type(as_inputs(model, batch(DOCUMENTS, width=500))["attention_mask"]) is torch.Tensor
