"""Vectors have length 1, the regression is scikit-learn's, and what is measured is what is exported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from transformers import AutoModel

from unmask.tasks.classify.validation import logits_of
from unmask.tasks.few.vector_model import VectorModel, VectorValidation, fit_regression, text_vectors_of
from unmask.tasks.rows import RowReader
from unmask.tokens.tokenizer.load import load_tokenizer
from unmask.training.machine.distributed import ALONE


def test_a_fitted_head_says_what_the_regression_says_of_two_labels_and_of_three() -> None:
    draws = np.random.default_rng(0)
    vectors = draws.normal(size=(60, 5))
    for labels in (2, 3):
        numbers = np.arange(60) % labels
        weight, bias = fit_regression(vectors, np.eye(labels)[numbers], 10.0)
        expected = LogisticRegression(C=10.0, max_iter=300).fit(vectors, numbers).predict_proba(vectors)
        np.testing.assert_allclose(softmax(vectors @ weight.T + bias, axis=1), expected, atol=1e-6)


def test_vectors_are_means_of_length_one_and_measuring_fits_the_head(make_model: Callable[..., Path]) -> None:
    directory = make_model("bert", hidden_dropout_prob=0.0, initializer_range=0.1)
    model = VectorModel(AutoModel.from_pretrained(directory), 2)
    reader = RowReader(load_tokenizer(directory), 32)
    texts = ["the dog again.", "the river again.", "nobody sees the dog.", "nobody sees the river. " * 12]
    rows, targets = reader.read(texts), np.eye(2)[[0, 1, 0, 1]]
    vectors = text_vectors_of(model, rows)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    figures = VectorValidation(rows, targets, False, rows, targets).measure(model, None, ALONE)
    assert figures["accuracy"] == 1.0 and float(model.weight.abs().sum()) > 0
    expected = vectors[:3] @ model.weight.numpy().T + model.bias.numpy()
    np.testing.assert_allclose(logits_of(model, rows)[:3], expected, atol=1e-4)
