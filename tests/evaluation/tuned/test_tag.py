"""Figures of entities are seqeval's; the gazetteer says what it has seen; the surest errors come first."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unmask.evaluation.tuned.tag import (
    Gazetteer,
    f1_figure,
    judge_kinds,
    overlapping,
    span_counts,
    surest_of_both,
    surest_tag_errors,
    text_clusters,
)
from unmask.results import TagError
from unmask.tasks.rows import RowReader
from unmask.tasks.tag.schemes import lenient_spans, strict_spans
from unmask.tasks.tag.tagged import LabelledSpan, TaggedText, join_words
from unmask.tasks.tag.words import read_words
from unmask.tokens.tokenizer.load import load_tokenizer

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from seqeval.metrics import classification_report, f1_score
    from seqeval.scheme import IOB2

TAGS = ["O", "O", "B-x", "I-x", "B-y", "I-y"]


def drawn(count: int = 200) -> tuple[list[list[str]], list[list[str]]]:
    """Well-formed tags, and others that are often not."""
    draw = random.Random(0)
    true, said = [], []
    for _ in range(count):
        tags: list[str] = []
        for _ in range(draw.randint(1, 12)):
            tag = draw.choice(TAGS)
            before = tags[-1] if tags else "O"
            tags.append(f"B-{tag[2:]}" if tag[0] == "I" and before[2:] != tag[2:] else tag)
        true.append(tags)
        said.append([tag if draw.random() < 0.7 else draw.choice(TAGS) for tag in tags])
    return true, said


def test_figures_are_those_of_seqeval_strict_and_as_conlleval_reads() -> None:
    true, said = drawn()
    clusters = np.arange(len(true))
    gold: Any = [lenient_spans(tags) for tags in true]
    lenient, strict = (
        f1_figure(span_counts([read(tags) for tags in said], gold), clusters)  # type: ignore[misc]
        for read in (lenient_spans, strict_spans)
    )
    assert lenient.value == pytest.approx(f1_score(true, said))
    assert strict.value == pytest.approx(f1_score(true, said, mode="strict", scheme=IOB2))
    assert lenient.value != strict.value
    assert strict.low < strict.value < strict.high and 0.03 < strict.high - strict.low < 0.15
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = classification_report(true, said, mode="strict", scheme=IOB2, output_dict=True)
    spans: Any = [strict_spans(tags) for tags in said]
    for row in judge_kinds(["x", "y"], spans, gold):
        assert row.entities == report[row.label]["support"]
        assert row.precision == pytest.approx(report[row.label]["precision"])
        assert row.recall == pytest.approx(report[row.label]["recall"])
        assert row.f1 == pytest.approx(report[row.label]["f1-score"])


def texts(*words: tuple[str, list[tuple[str, str]]]) -> list[TaggedText]:
    made = []
    for line, (text, names) in enumerate(words, start=1):
        _, places = join_words(text.split())
        spans = tuple(LabelledSpan(text.index(name), text.index(name) + len(name), label) for name, label in names)
        made.append(TaggedText(line, text, places, spans))
    return made


def test_the_gazetteer_says_of_the_longest_names_it_has_seen_what_they_most_often_are(
    make_model: Callable[..., Path],
) -> None:
    reader = RowReader(load_tokenizer(make_model()), 64)

    def words(examples: list[TaggedText]) -> Any:
        return read_words(reader, [each.text for each in examples], [each.words for each in examples])

    train = texts(
        ("the sea likes music", [("the sea", "LOC")]),
        ("the sea again", [("the sea", "PER")]),
        ("nobody sees the sea", [("the sea", "LOC")]),
        ("the captain", [("captain", "PER")]),
        ("the sea captain", [("the sea captain", "PER")]),
    )
    test = texts(("the captain likes the sea", []), ("the sea captain sees the sea the", []))
    found = Gazetteer.of(words(train), train).find_all(words(test), test)
    assert found == [
        [LabelledSpan(4, 11, "PER"), LabelledSpan(18, 25, "LOC")],
        [LabelledSpan(0, 15, "PER"), LabelledSpan(21, 28, "LOC")],
    ]


def test_the_surest_errors_come_first_those_that_were_missed_too() -> None:
    examples = texts(("the sea", [("sea", "LOC")]), ("my sister", [("my sister", "PER")]), ("music", []))
    answers = [
        SimpleNamespace(spans=[LabelledSpan(0, 7, "LOC")], sureness=[0.6]),
        SimpleNamespace(spans=[], sureness=[]),
        SimpleNamespace(spans=[LabelledSpan(0, 5, "PER")], sureness=[0.7]),
    ]
    asked: Any = SimpleNamespace(answers=answers, sureness=lambda number, span: 0.2)
    errors = surest_tag_errors(asked, examples)
    assert [(each.line, each.said, each.true, each.probability) for each in errors] == [
        (2, (), ("PER: my sister",), 0.8),
        (3, ("PER: music",), (), 0.7),
        (1, ("LOC: the sea",), ("LOC: sea",), 0.6),
    ]
    assert overlapping(LabelledSpan(0, 3, "x"), [LabelledSpan(3, 5, "x"), LabelledSpan(2, 4, "y")]) == [
        LabelledSpan(2, 4, "y")
    ]


def test_texts_of_a_group_are_sampled_together() -> None:
    examples = [TaggedText(n, "a", None, (), group) for n, group in enumerate(("g", None, "g", None))]
    assert len(set(text_clusters(examples).tolist())) == 3


def test_what_was_said_is_among_the_surest_errors_though_more_was_missed() -> None:
    errors = [TagError(line=n, text="", said=(), true=("x",), probability=0.99) for n in range(30)]
    errors += [TagError(line=n, text="", said=("x",), true=(), probability=n / 100) for n in range(30, 34)]
    surest = surest_of_both(errors)
    assert len(surest) == 20 and [each.line for each in surest if each.said] == [33, 32, 31, 30]
    assert len(surest_of_both(errors[:3])) == 3
