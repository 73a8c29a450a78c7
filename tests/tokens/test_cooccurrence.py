"""Vectors of co-occurrence: against counts written out, against a full decomposition, and by what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from math import log
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from unmask.tokens import cooccurrence
from unmask.tokens.cooccurrence import (
    SMOOTHING,
    positive_pmi,
    sample_stream,
    strongest_directions,
    token_vectors,
)
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.shards import Shards, ShardWriter


def shards(folder: Path, documents: list[list[int]], size: int) -> Shards:
    from unmask.tokens.tokenizer.encode import EncodedText

    with ShardWriter(folder, size) as writer:
        writer.add([EncodedText(np.array(ids, dtype=np.int32), np.ones(len(ids), dtype=np.bool_)) for ids in documents])
    return Shards(folder)


def test_information_is_that_of_the_formula() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 8, 400, dtype=np.int32), rng.integers(0, 8, 400)
    pairs, tokens, contexts = Counter(zip(left.tolist(), right.tolist(), strict=True)), Counter(left), Counter(right)
    total = sum(count**SMOOTHING for count in contexts.values())
    expected = np.zeros((9, 9))  # a token that never occurs among them
    for (token, context), count in pairs.items():
        expected[token, context] = max(0.0, log(count / tokens[token] / (contexts[context] ** SMOOTHING / total)))
    np.testing.assert_allclose(positive_pmi(left, right, (9, 9)).toarray(), expected, rtol=1e-5, atol=1e-6)


def test_the_strongest_directions_are_those_of_a_full_decomposition() -> None:
    rng = np.random.default_rng(1)
    strengths = 0.8 ** np.arange(60)  # which fall off, as they do in text
    rows = ((rng.standard_normal((60, 60)) * strengths) @ rng.standard_normal((60, 90))).astype(np.float32)
    vectors = strongest_directions(csr_matrix(rows), 5)
    left, values, _ = np.linalg.svd(rows)
    expected = left[:, :5] * np.sqrt(values[:5])
    np.testing.assert_allclose(vectors @ vectors.T, expected @ expected.T, atol=2e-3)


def test_a_direction_and_its_opposite_are_the_same_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = csr_matrix(np.random.default_rng(0).random((40, 30), dtype=np.float32))
    vectors, decompose = strongest_directions(rows, 6), np.linalg.eigh

    def turned_round(matrix: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        squares, directions = decompose(matrix)
        return squares, directions * np.where(np.arange(len(squares)) % 2, -1, 1)

    monkeypatch.setattr(np.linalg, "eigh", turned_round)
    np.testing.assert_allclose(strongest_directions(rows, 6), vectors, rtol=0, atol=1e-6)


def test_a_vocabulary_smaller_than_the_rank_gives_as_many_directions_as_it_has() -> None:
    assert strongest_directions(csr_matrix(np.eye(4, dtype=np.float32)), 9).shape == (4, 4)


def test_no_token_is_beside_one_of_another_document(tmp_path: Path) -> None:
    apart = token_vectors(shards(tmp_path, [[1], [2], [1], [2]], 4), 4, 3)
    assert np.abs(apart).max() < 1e-6


def test_a_sample_is_spread_over_the_whole_split_and_keeps_documents_apart(tmp_path: Path) -> None:
    stream = shards(tmp_path, [[number] * 50 for number in range(40)], 40)
    ids, documents = sample_stream(stream, tokens=400, stretches=8)
    assert len(ids) == len(documents) == 400
    assert ids.min() == 0 and ids.max() == 39
    assert (ids == documents).all()  # here a token is the number of its document
    whole, _ = sample_stream(stream, tokens=10_000, stretches=8)
    assert whole.tolist() == stream.read(0, stream.tokens)[0].tolist()


def test_words_that_stand_in_the_same_places_are_close(data: Path) -> None:
    dataset = Dataset.open(data)
    vectors = token_vectors(dataset.split("train"), dataset.vocabulary.size, 24)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    known = dataset.tokenizer().get_vocab()
    doing = ("sees", "likes", "remembers", "follows", "paints", "forgets", "wants", "builds", "hears", "carries")
    verbs = [known[word] for word in doing if word in known]
    others = [known[word] for word in ("the", "in", "of", ".", ",")]
    assert len(verbs) > 3
    alike = vectors[verbs] @ vectors[verbs].T
    assert alike[~np.eye(len(verbs), dtype=bool)].min() > (vectors[verbs] @ vectors[others].T).max() + 0.2


def test_rare_tokens_have_vectors_though_nobody_looks_for_them_beside_others(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cooccurrence, "CONTEXTS", 40)
    dataset = Dataset.open(data)
    vectors = token_vectors(dataset.split("train"), dataset.vocabulary.size, 16)
    counts = dataset.vocabulary.counts
    assert counts is not None
    known, occur = np.abs(vectors).max(1) > 1e-6, counts > 0
    assert not known[~occur].any() and known[occur].mean() > 0.95


def test_a_token_that_never_occurs_has_no_vector(tmp_path: Path) -> None:
    vectors = token_vectors(shards(tmp_path, [[1, 2, 3, 1, 2, 3]], 6), 6, 4)
    assert np.abs(vectors[[0, 4, 5]]).max() < 1e-6 < np.abs(vectors[[1, 2, 3]]).max(1).min()


def test_a_text_of_one_token_has_vectors_of_zeros(tmp_path: Path) -> None:
    assert not token_vectors(shards(tmp_path, [[1]], 3), 3, 2).any()


def test_they_are_the_same_each_time(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "SAMPLE", 5_000)
    dataset = Dataset.open(data)
    one, other = (token_vectors(dataset.split("train"), dataset.vocabulary.size, 16) for _ in range(2))
    assert np.array_equal(one, other)


KERNELS = {"AVX2": ("Nehalem", "Haswell"), "AVX512": ("Nehalem", "Haswell", "SkylakeX")}  # of OpenBLAS, by processor


@pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() not in KERNELS, reason="OpenBLAS has one way here")
def test_they_are_the_same_whatever_kernels_the_processor_gets(data: Path, tmp_path: Path) -> None:
    program = """
import sys
import numpy as np
from unmask.tokens.cooccurrence import token_vectors
from unmask.tokens.store.dataset import Dataset

dataset = Dataset.open(sys.argv[1])
np.save(sys.argv[2], token_vectors(dataset.split("train"), dataset.vocabulary.size, 128))
"""
    made = []
    for kernels in KERNELS[torch.backends.cpu.get_cpu_capability()]:
        file = tmp_path / f"{kernels}.npy"
        command = [sys.executable, "-c", program, str(data), str(file)]
        subprocess.run(command, env={**os.environ, "OPENBLAS_CORETYPE": kernels}, check=True)
        made.append(np.load(file))
    for vectors in made[1:]:
        np.testing.assert_allclose(vectors, made[0], rtol=0, atol=2e-3 * np.abs(made[0]).max())
