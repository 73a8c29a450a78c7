"""One way to ids: a model is asked with the tokens it was trained and measured on, whatever a text spells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from unmask.inference.encode import encode_rows
from unmask.models.load import LoadedModel, load_model
from unmask.tokens.held_out import HeldOutSet
from unmask.tokens.prepare import prepare
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.encode import encode

HOSTILE = (
    "The king sees [MASK] and a[MASK] of [SEP] the [CLS] garden.",
    "<s>The cat</s> likes <pad> and <unk> <mask> [PAD][UNK]",
    "the king 🦊🏽‍🚀 likes emoji, café and naïve [ MASK ] [mask]",
    "ฉันชอบแมวและสุนัข [SEP] Tom ชอบด้วย มากๆ ที่นี่",
    "我喜欢猫。The dog, 2nd time; at night? “yes” — no!",
    "[MASK][MASK][MASK] is all that is left here",
)


@pytest.fixture(params=("wordpiece", "bpe", "unigram"))
def loaded(request: pytest.FixtureRequest, make_model: Callable[..., Path]) -> LoadedModel:
    return load_model(make_model(kind=request.param))


def test_the_ids_of_a_text_are_those_that_training_has_of_it(loaded: LoadedModel, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("\n\n".join(HOSTILE), encoding="utf-8")
    prepare([str(tmp_path / "in.txt")], tmp_path / "data", tokenizer=str(loaded.path))
    dataset = Dataset.open(tmp_path / "data")
    compared = 0
    for split in ("train", "valid"):
        rows = encode_rows(loaded, list(dataset.texts(split)))
        trained_on = HeldOutSet.of(dataset.split(split), dataset.vocabulary, length=512, policy=None)
        for batch in (held_out.batch for held_out in trained_on.batches()):
            for row, number in zip(batch.ids, batch.numbers.tolist(), strict=True):
                size = len(rows[number].ids)
                assert row[:size].tolist() == rows[number].ids.tolist()
                assert set(row[size:].tolist()) <= {loaded.vocabulary.pad}
                compared += 1
    assert compared == len(HOSTILE)


def test_where_texts_have_blanks_a_text_without_one_has_the_same_ids(loaded: LoadedModel) -> None:
    texts = [text.replace(loaded.tokenizer.mask_token, "mask") for text in HOSTILE]
    for asked, encoded in zip(encode_rows(loaded, texts, blanks=True), encode(loaded.tokenizer, texts), strict=True):
        assert asked.ids.tolist() == [loaded.vocabulary.start, *encoded.ids.tolist(), loaded.vocabulary.end]


def test_a_blank_is_the_mask_and_no_other_special_token_can_be_spelt(loaded: LoadedModel) -> None:
    mask, vocabulary = loaded.tokenizer.mask_token, loaded.vocabulary
    others = sorted(set(loaded.tokenizer.all_special_tokens) - {mask})
    (row,) = encode_rows(loaded, [f"{' the '.join(others)} sees {mask}, {mask}{mask}."], blanks=True)
    assert (row.ids[0], row.ids[-1]) == (vocabulary.start, vocabulary.end)
    inside = row.ids[1:-1].tolist()
    assert inside.count(vocabulary.mask) == 3
    assert not set(inside) & (set(vocabulary.special) - {loaded.tokenizer.unk_token_id, vocabulary.mask})


def test_a_text_with_blanks_has_the_ids_and_places_of_stock_transformers(loaded: LoadedModel) -> None:
    mask, stock = loaded.tokenizer.mask_token, AutoTokenizer.from_pretrained(loaded.path)
    texts = [f"The {mask} sees the {mask}.", f"{mask} of France", f"a({mask}){mask} b{mask}c", "", mask, f"walk {mask}"]
    plain = stock(texts, return_offsets_mapping=True)
    for row, ids, offsets in zip(
        encode_rows(loaded, texts, blanks=True), plain["input_ids"], plain["offset_mapping"], strict=True
    ):
        assert row.ids.tolist() == ids
        assert row.offsets.tolist() == [list(each) for each in offsets]
