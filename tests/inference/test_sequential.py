from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from writing_cases import Make, sequential_model

import unmask
from unmask.errors import BadInput
from unmask.inference.model import Model


@pytest.fixture(scope="module", params=["wordpiece", "bpe"])
def causal(request: pytest.FixtureRequest, make_model: Make, tmp_path_factory: pytest.TempPathFactory) -> Model:
    return unmask.load(sequential_model(make_model, tmp_path_factory.mktemp("gpt2") / "model", "gpt2", request.param))


@pytest.fixture(scope="module")
def spans(make_model: Make, tmp_path_factory: pytest.TempPathFactory) -> Model:
    return unmask.load(sequential_model(make_model, tmp_path_factory.mktemp("t5") / "model", "t5"))


def test_a_causal_model_writes_behind_a_prefix_the_same_for_a_seed(causal: Model) -> None:
    (first,) = causal.generate(prefix="The cat", length=12, seed=5, trace=True)
    assert causal.generate(prefix="The cat", length=12, seed=5, trace=True) == [first]
    assert causal.generate(prefix="The cat", length=12, seed=6)[0].text != first.text
    assert causal.generate(prefix="The cat", length=12, seed=5, count=3, trace=True)[0].text == first.text
    assert first.method == "causal"
    assert first.text.startswith("The cat")
    assert first.steps == len(first.trace)
    assert [event.place for event in first.trace] == list(range(first.steps))


def test_its_confidences_are_the_model_s_probabilities_of_what_follows(causal: Model) -> None:
    (result,) = causal.generate(prefix="The cat", length=6, seed=1, trace=True)
    writer = causal.writer
    ids = writer.tokenizer("The cat").input_ids[:-1]
    written = writer.tokenizer.convert_tokens_to_ids([event.token for event in result.trace])
    with torch.no_grad():
        logits = writer.model(torch.tensor([[*ids, *written]])).logits[0].double()
    special = [token for token in writer.vocabulary.special if token != writer.vocabulary.end]
    logits[:, special] = -torch.inf
    logits[len(ids) - 1, writer.vocabulary.end] = -torch.inf  # nothing ends before it begins
    for place, (event, token) in enumerate(zip(result.trace, written, strict=True)):
        expected = logits[len(ids) - 1 + place, : writer.vocabulary.size].softmax(-1)[token]
        assert event.confidence == pytest.approx(float(expected), rel=1e-3)


def test_a_causal_model_ends_where_it_writes_the_end(causal: Model) -> None:
    samples = causal.generate(length=60, count=20, temperature=1.5)
    ended = [sample for sample in samples if sample.ended is not None]
    assert ended
    for sample in samples:
        assert len(sample.tokens) == (60 if sample.ended is None else sample.ended)
        assert not set(sample.tokens) & set(causal.writer.tokenizer.all_special_tokens)


def test_t5_fills_gaps_of_any_length_and_leaves_the_text(spans: Model) -> None:
    text = "The [MASK] sees [MASK][MASK], and [MASK]."
    for result in spans.generate(text, count=6, length=5, seed=2):
        assert result.method == "spans"
        assert len(result.places) == 3  # blanks that touch are one gap
        assert 3 <= len(result.tokens) <= 15
        assert not [token for token in result.tokens if token.startswith("<extra_id")]
        assert result.steps <= len(result.tokens) + 4  # three sentinels and the end
        first, second, third = result.places
        between = result.text[first[1] : second[0]], result.text[second[1] : third[0]], result.text[third[1] :]
        assert result.text.startswith("The")
        assert [part.strip() for part in between] == ["sees", ", and", "."]
    assert spans.generate(text, seed=9) == spans.generate(text, seed=9)


def test_t5_writes_behind_a_prefix_as_in_a_last_gap(spans: Model) -> None:
    (result,) = spans.generate(prefix="The cat", length=4)
    assert result.text.startswith("The cat")
    assert 1 <= len(result.tokens) <= 4


def test_orders_gaps_and_lengths_that_do_not_fit_are_refused(causal: Model, spans: Model, tmp_path: Path) -> None:
    for model, settings in ((causal, {"order": "random"}), (spans, {"blocks": 2}), (causal, {"remask": True})):
        with pytest.raises(BadInput, match="writes from left to right, a token at a time; leave it out"):
            model.generate(**settings)
    with pytest.raises(BadInput, match="fills no gaps; give --prefix"):
        causal.generate("The [MASK].")
    with pytest.raises(BadInput, match="--length 64: this model has room for 63 tokens; give --length 63 or less"):
        causal.generate(length=64)
    with pytest.raises(BadInput, match="5 gaps, but this model has 4 sentinels"):
        spans.generate("[MASK] a [MASK] b [MASK] c [MASK] d [MASK]")


def test_a_t5_whose_tokenizer_has_neither_mask_nor_opening_token_fills_gaps_too(
    make_model: Make, tmp_path: Path
) -> None:
    """As T5's own are: a text and its end, and nothing before it."""
    path = sequential_model(make_model, tmp_path / "model", "t5", "unigram")
    file = path / "tokenizer_config.json"
    settings = json.loads(file.read_text(encoding="utf-8"))
    for name in ("mask_token", "cls_token", "sep_token", "bos_token"):
        settings.pop(name, None)
    file.write_text(json.dumps(settings), encoding="utf-8")
    model = unmask.load(path)
    assert model.writer.vocabulary.start == model.writer.vocabulary.end
    (result,) = model.generate("The [MASK] sees [MASK].", length=3)
    assert result.text.startswith("The ")
    assert len(result.places) == 2
