"""The score of a label is the mean log-probability of its words in the blanks, and its loss is that of a classifier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from unmask.models.load import load_model
from unmask.tasks.classify.validation import logits_of
from unmask.tasks.few.pattern_model import PatternModel
from unmask.tasks.few.pattern_rows import PatternReader

Make = Callable[..., Path]


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_scores_are_the_mean_log_probabilities_of_the_words_written_out(family: str, make_model: Make) -> None:
    lm = load_model(make_model(family))
    words = [(0, (7, 9)), (1, (11,)), (1, (12, 13))]
    model = PatternModel(lm.model, lm.vocabulary.mask, words).train(False)
    reader = PatternReader(lm.tokenizer, 48, ["{text} It was [MASK].", "[MASK]: {text}"], model.masks)
    rows = reader.read(["the king sees the dog.", "music"])
    expected = np.zeros((2, 2))
    for row, (end, length) in enumerate(zip(rows.ends, rows.lengths, strict=True)):
        ids = torch.from_numpy(rows.ids[end - length : end].astype(np.int64))[None]
        places = (ids[0] == lm.vocabulary.mask).nonzero().squeeze(1)
        with torch.no_grad():
            said = lm.model(ids).logits[0, places].log_softmax(-1).numpy()
        scores = [(said[0, 7] + said[1, 9]) / 2, (said[0, 11] + (said[0, 12] + said[1, 13]) / 2) / 2]
        expected[rows.owners[row]] += np.array(scores) / 2
    np.testing.assert_allclose(logits_of(model, rows), expected, atol=1e-4)
