"""Probes tell what is in vectors, and no more; scores are those of scikit-learn, intervals those of the documents."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score

from unmask import progress
from unmask.evaluation import probes
from unmask.evaluation.probes import f1_figure, fit_classifier, majority_score, probe_score, rows_of
from unmask.evaluation.questions import ProbeTask, labelled_texts, tagged_words
from unmask.inference.vectors import load_encoder

RNG = np.random.default_rng(0)
TAGS = np.array(["O", "COMMA", "STOP"])


def test_the_score_of_tags_is_their_f1_and_without_an_o_the_accuracy() -> None:
    true, said = (TAGS[RNG.choice(3, 500, p=(0.7, 0.2, 0.1))] for _ in range(2))
    documents = np.arange(500) // 10
    expected = f1_score(true, said, labels=["COMMA", "STOP"], average="micro")
    assert f1_figure(true, said, documents).value == pytest.approx(expected)
    marked = true != "O"
    told = f1_figure(true[marked], np.where(said == "O", "STOP", said)[marked], documents[marked])
    assert told.value == pytest.approx(accuracy_score(true[marked], np.where(said == "O", "STOP", said)[marked]))
    assert f1_figure(true, np.full(500, "O"), documents).value == 0.0


def test_the_interval_covers_as_often_as_it_says_and_knows_that_a_document_goes_together() -> None:
    true = np.full(100, "a")
    covered = 0
    for _ in range(100):
        said = np.where(RNG.random(100) < 0.7, "a", "b")
        figure = f1_figure(true, said, np.arange(100))
        covered += figure.low <= 0.7 <= figure.high
    assert 88 <= covered <= 99
    true = np.full(400, "a")
    together = np.repeat(np.where(RNG.random(40) < 0.7, "a", "b"), 10)
    alone, clustered = (f1_figure(true, together, each) for each in (np.arange(400), np.arange(400) // 10))
    assert clustered.high - clustered.low > 2 * (alone.high - alone.low)


def test_a_probe_finds_what_is_in_the_vectors_and_nothing_in_noise() -> None:
    labels = np.where(RNG.random(600) < 0.5, "yes", "no")
    documents = np.arange(600)
    noise = RNG.normal(size=(600, 20))
    told = noise + 0.8 * np.outer(labels == "yes", np.ones(20))
    half = slice(0, 300), slice(300, 600)
    for vectors, least, most in ((told, 0.9, 1.0), (noise, 0.4, 0.6)):
        found = fit_classifier(vectors[half[0]], labels[half[0]], documents[half[0]]).predict(vectors[half[1]])
        assert least <= np.mean(found == labels[half[1]]) <= most


def test_always_the_most_frequent_label_is_measured_by_the_same_score() -> None:
    labels = tuple(["a", "a", "b"] * 100)
    question = ProbeTask("own", "classification", ("text",) * 300, labels, np.arange(300))
    rows = rows_of(question)
    assert majority_score(question) == pytest.approx(np.mean(rows.labels[rows.is_test] == "a"))


def test_a_real_model_is_probed_for_texts_and_for_words(make_model, tmp_path: Path) -> None:
    encoder = load_encoder(make_model("bert"))
    texts, words = tmp_path / "own.jsonl", tmp_path / "own.conll"
    pairs = [("the river likes the sea", "nature"), ("my sister hears music", "people")] * 60
    texts.write_text("".join(f'{{"text": "{text}", "label": "{label}"}}\n' for text, label in pairs))
    words.write_text(
        "\n\n".join("\n".join(f"{w}\t{'N' if w == 'river' else 'O'}" for w in t.split()) for t, _ in pairs)
    )
    assert probe_score(encoder, labelled_texts(texts)).value == 1.0
    assert probe_score(encoder, tagged_words(words)).value == 1.0


def test_strengths_are_chosen_on_every_fifth_document_set_aside_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = LogisticRegression.fit

    def noted(self: LogisticRegression, X: np.ndarray, y: np.ndarray) -> LogisticRegression:
        seen.append(len(X))
        return real(self, X, y)

    monkeypatch.setattr(LogisticRegression, "fit", noted)
    documents = np.repeat(np.arange(10), [30, 2, 2, 2, 2, 30, 2, 2, 2, 2])
    fit_classifier(RNG.normal(size=(76, 3)), np.array(["a", "b"] * 38), documents)
    assert seen == [16] * len(probes.STRENGTHS) + [76]


def test_rare_tags_are_found_though_saying_none_of_them_is_right_more_often() -> None:
    labels = np.where(RNG.random(1000) < 0.1, "STOP", "O")
    vectors = RNG.normal(size=(1000, 5)) + 0.7 * np.outer(labels == "STOP", np.ones(5))
    half, documents = slice(0, 500), np.arange(1000)
    said = fit_classifier(vectors[half], labels[half], documents[half]).predict(vectors[500:])
    assert f1_figure(labels[500:], said, documents[500:]).value > 0.35


def test_a_probe_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "NOW_AND_THEN", 0.0)
    monkeypatch.setattr(progress, "SHORT", 0.0)
    page = io.StringIO()
    labels, documents = np.array(["a", "b"] * 38), np.arange(76)
    with progress.show_progress(Console(file=page, width=80)):
        fit_classifier(RNG.normal(size=(76, 3)), labels, documents, title="Probing order")
    lines = page.getvalue().splitlines()
    assert [line.split()[2] for line in lines[1:5]] == ["20%", "40%", "60%", "80%"]
    assert lines[0].startswith("Probing order") and lines[-1].startswith("✓ Probing order")
    assert "76 labels" in lines[-1]
