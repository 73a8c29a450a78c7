"""Weighted words, against the formulas written out; and the guard against a collapse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

from unmask.errors import Diverged
from unmask.objectives.ranking import ANSWER, QUERY, Judgments
from unmask.objectives.sparse_ranking import SparseRanking, word_weights
from unmask.tasks.sentence_rows import SentenceReader
from unmask.tokens.tokenizer.load import load_tokenizer

WEIGHTS = torch.tensor([[0.0, 1.0, 0.5, 0.0], [0.0, 2.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [3.0, 0.0, 1.0, 0.0]])
TARGETS = torch.tensor([[QUERY, 0], [ANSWER, 5], [QUERY, 1], [ANSWER, 6]])
OBJECTIVE = SparseRanking(Judgments.of(np.array([[0, 5], [1, 6]]), 10))


def test_the_loss_is_the_ranking_by_products_and_the_squares_of_mean_weights() -> None:
    outcome = OBJECTIVE.joint_outcome(WEIGHTS, TARGETS)
    scores = WEIGHTS[[0, 2]] @ WEIGHTS[[1, 3]].T
    expected = torch.nn.functional.cross_entropy(scores, torch.tensor([0, 1]), reduction="sum")
    assert outcome.losses["queries"].item() == pytest.approx(expected.item())
    assert outcome.losses["query_words"].item() / 2 == pytest.approx(0.5**2 + 0.5**2 + 0.25**2)
    assert outcome.losses["document_words"].item() / 2 == pytest.approx(1.5**2 + 1.0**2 + 0.5**2)
    assert outcome.tallies["active"].tolist() == [3.0, 3.0] and outcome.tallies["right"].item() == 2


def test_what_makes_words_rare_rises_with_the_square_over_the_first_third() -> None:
    weights = [replace(OBJECTIVE, progress=progress).terms["query_words"] for progress in (0.0, 1 / 6, 1 / 3, 1.0)]
    assert weights == pytest.approx([0.0, 5e-5 / 4, 5e-5, 5e-5])
    assert replace(OBJECTIVE, sparsity=2.0).terms["document_words"] == pytest.approx(6e-5)


def test_a_collapse_stops_with_advice_in_the_second_half() -> None:
    with pytest.raises(Diverged, match=r"4 of 4 words of the vocabulary are active.*give a higher --sparsity"):
        OBJECTIVE.joint_outcome(WEIGHTS + 1, TARGETS)
    with pytest.raises(Diverged, match=r"no word of the vocabulary.*give a lower --sparsity"):
        OBJECTIVE.joint_outcome(WEIGHTS * 0, TARGETS)
    assert replace(OBJECTIVE, progress=0.2).joint_outcome(WEIGHTS + 1, TARGETS).losses["queries"] > 0


def test_weights_are_the_greatest_over_all_tokens_of_all_windows(make_model: Callable[..., Path]) -> None:
    directory = make_model()
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(directory).eval(), load_tokenizer(directory)
    texts = ["the king sees the garden.", "nobody likes clouds. " * 20]
    rows = SentenceReader(tokenizer, 32).read_sentences(texts)
    assert rows.windows.tolist()[0] == 1 and rows.windows[1] > 3
    with torch.no_grad():
        found = word_weights(model, rows.batch([0, 1]))
        logits = model(**tokenizer(texts[0], return_tensors="pt")).logits[0]
    expected = torch.log1p(torch.relu(logits)).amax(0)
    assert (found[0] - expected).abs().max() < 1e-5 and found.shape == (2, len(expected))
