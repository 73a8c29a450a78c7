from __future__ import annotations

from math import exp, log
from pathlib import Path

import numpy as np
import pytest
import torch
from span_cases import transformers_log_probability, wide_t5
from writing_cases import Make

from unmask.errors import Damaged
from unmask.inference.judge_spans import AskedSpan, judge_spans
from unmask.models.load import LoadedModel
from unmask.models.load_spans import load_spans


@pytest.fixture(scope="module")
def lm(make_model: Make, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return load_spans(wide_t5(make_model, tmp_path_factory.mktemp("t5") / "model"))


def _spans(lm: LoadedModel) -> list[AskedSpan]:
    first, second, third, _ = lm.vocabulary.sentinels
    text = np.array([lm.vocabulary.start, 40, first, 50, 60, second, 70, lm.vocabulary.end], np.int32)
    short = np.array([lm.vocabulary.start, first, 80, lm.vocabulary.end], np.int32)
    end = lm.vocabulary.end
    return [
        AskedSpan(text, (first,), (44, 45, 46), (second,)),
        AskedSpan(text, (first, 44, second), (47,), (end, third)),
        AskedSpan(short, (first,), (51, 52), (end, second)),
        AskedSpan(text, (first,), (48,), (second,)),
    ]


def test_a_span_has_the_probability_that_transformers_own_loss_gives_it_and_what_closes_it(lm: LoadedModel) -> None:
    spans = _spans(lm)
    judged = dict(judge_spans(lm, spans))
    for number, span in enumerate(spans):
        sums = [
            transformers_log_probability(
                lm, span.source.tolist(), [*span.before, *span.tokens, closing], len(span.before)
            )
            for closing in span.closings
        ]
        assert judged[number].sum() == pytest.approx(log(sum(map(exp, sums))), abs=1e-4)
        assert len(judged[number]) == len(span.tokens)


def test_a_span_is_judged_the_same_alone_and_beside_others(lm: LoadedModel) -> None:
    spans = _spans(lm)
    together = dict(judge_spans(lm, spans))
    for number, span in enumerate(spans):
        ((_, alone),) = judge_spans(lm, [span])
        np.testing.assert_allclose(alone, together[number], atol=1e-4)


def test_weights_that_are_no_numbers_are_damage(make_model: Make, tmp_path: Path) -> None:
    damaged = load_spans(wide_t5(make_model, tmp_path / "model"))
    with torch.no_grad():
        next(damaged.model.parameters()).fill_(torch.nan)
    with pytest.raises(Damaged, match="not finite"):
        list(judge_spans(damaged, _spans(damaged)))
