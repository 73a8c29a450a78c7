from __future__ import annotations

import json
from math import exp
from pathlib import Path

import pytest
from span_cases import as_stock, transformers_log_probability, wide_t5
from writing_cases import Make

import unmask
from unmask.errors import BadInput
from unmask.inference.blanks import BlankText, split_at_blanks
from unmask.inference.model import Model
from unmask.inference.span_row import make_span_row


@pytest.fixture(scope="module", params=["wordpiece", "unigram"])
def model(request: pytest.FixtureRequest, make_model: Make, tmp_path_factory: pytest.TempPathFactory) -> Model:
    path = wide_t5(make_model, tmp_path_factory.mktemp("t5") / "model", request.param)
    return unmask.load(as_stock(path) if request.param == "unigram" else path)


def test_candidates_of_a_blank_are_spans_with_the_probabilities_of_transformers_own_loss(model: Model) -> None:
    text, targets = "The [MASK] sees the sea.", ["king", "dog", "engineer"]
    (free,) = model.fill(text, top=4)
    (filled,) = model.fill(text, targets=targets)
    assert filled.method == free.method == "spans" and len(free.blanks[0]) == 4
    assert {guess.token for guess in filled.blanks[0]} == set(targets)
    assert free.completed == text.replace("[MASK]", free.blanks[0][0].token)
    assert [guess.probability for guess in free.blanks[0]] == sorted(
        (guess.probability for guess in free.blanks[0]), reverse=True
    )
    lm, blanks = model.writer, split_at_blanks(model.writer, text)
    assert isinstance(blanks, BlankText)
    row = make_span_row(lm, blanks)
    for guess in filled.blanks[0]:
        pieces = lm.tokenizer(f"The {guess.token}", add_special_tokens=False).input_ids[1:]
        answers = [[row.sentinels[0], *pieces, closing] for closing in row.closings]
        expected = sum(exp(transformers_log_probability(lm, row.ids.tolist(), answer, 1)) for answer in answers)
        assert guess.probability == pytest.approx(expected, rel=1e-3) and guess.pieces == len(pieces)


def test_several_blanks_are_answered_together_and_each_behind_those_before_it(model: Model) -> None:
    text = "The [MASK] sees the [MASK] again."
    (filled,) = model.fill(text, targets=["king", "dog"])
    (agreement,) = filled.agreements
    assert (agreement.method, agreement.orders, agreement.independent) == ("decoder", 1, None)
    assert len(agreement.fillings) == 4  # every pair
    assert filled.completed == "The {} sees the {} again.".format(*agreement.fillings[0].words)
    best = agreement.fillings[0]
    chained = [
        next(g.probability for g in guesses if g.token == word)
        for guesses, word in zip(filled.blanks, best.words, strict=True)
    ]
    assert exp(best.log_probability) == pytest.approx(chained[0] * chained[1], rel=1e-3)
    (free,) = model.fill(text, top=2)
    assert len(free.blanks) == 2 and len(free.agreements[0].fillings) == 2
    assert free.agreements[0].fillings[0].log_probability >= free.agreements[0].fillings[1].log_probability


def test_what_is_free_is_at_least_as_likely_as_what_was_asked_for(model: Model) -> None:
    (free,) = model.fill("The [MASK:word] sees the sea.", top=3)
    (asked,) = model.fill("The [MASK:word] sees the sea.", targets=[guess.token for guess in free.blanks[0]])
    assert asked.blanks[0][0].probability == pytest.approx(free.blanks[0][0].probability, rel=1e-3)
    assert all(" " not in guess.token for guess in free.blanks[0])  # one word


def test_blanks_side_by_side_are_one_gap_and_that_is_said(model: Model) -> None:
    (filled,) = model.fill("The [MASK] [MASK] sees.")
    assert len(filled.blanks) == len(filled.places) == 1 and "one gap" in filled.notes[0]


def test_a_text_is_filled_the_same_alone_and_beside_others(model: Model) -> None:
    texts = ["The [MASK] sees.", "no blank", "Nobody likes [MASK] under the [MASK] at night.", "[MASK]!"]
    together = model.fill_each(texts, top=3)
    assert isinstance(together[1], BadInput) and "no blank" in str(together[1])
    for text, filled in zip(texts, together, strict=True):
        if not isinstance(filled, BadInput):
            (alone,) = model.fill(text, top=3)
            assert alone.completed == filled.completed
            assert [each.probability for each in alone.blanks[0]] == pytest.approx(
                [each.probability for each in filled.blanks[0]], rel=1e-3
            )


def test_what_cannot_be_asked_of_a_t5_is_refused(model: Model) -> None:
    with pytest.raises(BadInput, match="--explain: asks masked language models"):
        model.explain("The [MASK] sees.")
    with pytest.raises(BadInput, match="gaps, but this model has"):
        model.fill(" a ".join(["[MASK]"] * (len(model.writer.vocabulary.sentinels) + 1)))
    with pytest.raises(BadInput, match="the target 'two words' is 2 words"):
        model.fill("The [MASK] sees.", targets=["two words"])


def test_a_t5_run_of_ours_fills_on_the_command_line(data: Path, tmp_path: Path, inside) -> None:  # type: ignore[no-untyped-def]
    run = tmp_path / "run"
    unmask.pretrain(data, out=run, recipe="t5-tiny", steps=2, length=32, batch_size=4, report=False)
    done = inside("fill", run, "The king sees the [MASK].", "--json")
    assert done.returncode == 0, done.stderr
    (filled,) = map(json.loads, done.stdout.splitlines())
    assert filled["method"] == "spans" and len(filled["blanks"][0]) == 5
    page = inside("fill", run, "The [MASK] sees the [MASK].", "--targets", "king", "sea")
    assert page.returncode == 0 and "blanks 1, 2 together" in page.stdout and "behind those before it" in page.stdout
