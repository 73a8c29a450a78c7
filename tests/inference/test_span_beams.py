from __future__ import annotations

from math import exp

import numpy as np
import pytest
import torch
from span_cases import wide_t5
from writing_cases import Make

from unmask.inference.blanks import BlankText, split_at_blanks
from unmask.inference.judge_spans import AskedSpan, judge_spans
from unmask.inference.span_beams import GapText, search_gaps
from unmask.inference.span_row import SpanGrammar, make_span_row
from unmask.inference.spelling import writable_tokens
from unmask.models.load import LoadedModel
from unmask.models.load_spans import load_spans


@pytest.fixture(scope="module")
def lm(make_model: Make, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_spans(wide_t5(make_model, tmp_path_factory.mktemp("t5") / "model"))


def _gap(lm: LoadedModel, text: str, most: int) -> GapText:
    blanks = split_at_blanks(lm, text)
    assert isinstance(blanks, BlankText)
    row = make_span_row(lm, blanks)
    return GapText(text, row, SpanGrammar(lm, row, most), ((),) * len(row.words))


@torch.no_grad()
def _every_span(lm: LoadedModel, gap: GapText, least: float) -> dict[tuple[int, ...], float]:
    """Spans of one and two tokens, all that can reach a probability, by transformers' forward pass alone."""
    start, sentinel = lm.model.config.decoder_start_token_id, gap.row.sentinels[0]
    source, closings = torch.from_numpy(gap.row.ids).long()[None], list(gap.row.closings)

    def following(*tokens: int) -> torch.Tensor:
        decoded = torch.tensor([[start, sentinel, *tokens]])
        return lm.model(input_ids=source, decoder_input_ids=decoded).logits[0, -1].double().softmax(-1)

    firsts, text = writable_tokens(lm, gap.row.between[0]), writable_tokens(lm)
    first, found = following(), {}
    for one in np.flatnonzero(firsts).tolist():
        if first[one] < least:
            continue
        behind = following(one)
        found[(one,)] = float(first[one] * behind[closings].sum())
        for two in np.flatnonzero(text & (first[one] * behind >= least).numpy()[: len(text)]).tolist():
            found[one, two] = float(first[one] * behind[two] * following(one, two)[closings].sum())
    return found


def test_beams_find_the_likeliest_of_all_spans_with_the_probabilities_of_the_forward_pass(lm: LoadedModel) -> None:
    gap = _gap(lm, "The [MASK] sees the sea.", most=2)
    (judged,) = search_gaps(lm, [gap], [()], beams=64)
    best = judged[:8]
    every = _every_span(lm, gap, least=exp(best[-1].log_probability) / 1.01)
    expected = sorted(every.items(), key=lambda each: -each[1])[:8]
    assert [each.answer[0] for each in best] == [span for span, _ in expected]
    assert [exp(each.log_probability) for each in best] == pytest.approx([value for _, value in expected], rel=1e-3)
    longer = next(each for each in judged if len(each.answer[0]) == 2)
    span = AskedSpan(gap.row.ids, gap.row.sentinels[:1], longer.answer[0], gap.row.closings)
    assert longer.log_probability == pytest.approx(float(next(judge_spans(lm, [span]))[1].sum()), abs=1e-3)


def test_answers_to_several_gaps_have_the_probability_of_all_of_them_together(lm: LoadedModel) -> None:
    gap = _gap(lm, "The [MASK] sees the [MASK] again.", most=2)
    (judged,) = search_gaps(lm, [gap], [()], beams=16)
    for each in judged[:4]:
        first, second = each.answer
        spans = [
            AskedSpan(gap.row.ids, gap.spelt((), 0), first, gap.row.closings_of(0)),
            AskedSpan(gap.row.ids, gap.spelt((first,), 1), second, gap.row.closings_of(1)),
        ]
        total = sum(float(values.sum()) for _, values in judge_spans(lm, spans))
        assert each.log_probability == pytest.approx(total, abs=1e-3)


def test_a_search_may_end_behind_a_gap_that_others_follow(lm: LoadedModel) -> None:
    gap = _gap(lm, "The [MASK] sees the [MASK] again.", most=2)
    (judged,) = search_gaps(lm, [gap], [()], beams=16, last=0)
    span = AskedSpan(gap.row.ids, gap.spelt((), 0), judged[0].answer[0], gap.row.sentinels[1:2])
    ((_, values),) = judge_spans(lm, [span])
    assert judged[0].log_probability == pytest.approx(float(values.sum()), abs=1e-3)


def test_texts_are_searched_together_as_alone(lm: LoadedModel) -> None:
    gaps = [_gap(lm, text, 3) for text in ("The [MASK] sees.", "Nobody likes [MASK] under the tree at night.")]
    together = search_gaps(lm, gaps, [(), ()], beams=8)
    for gap, judged in zip(gaps, together, strict=True):
        (alone,) = search_gaps(lm, [gap], [()], beams=8)
        assert [each.answer for each in alone[:3]] == [each.answer for each in judged[:3]]
        assert alone[0].log_probability == pytest.approx(judged[0].log_probability, abs=1e-3)
