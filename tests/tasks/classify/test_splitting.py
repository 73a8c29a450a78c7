"""What is held out is a tenth of each label, whole groups, and the same each time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from unmask.tasks.classify.labelled import FieldNames, LabelledExamples, LabelledText
from unmask.tasks.classify.splitting import hold_out


def examples(labels: str, groups: list[str] | None = None) -> LabelledExamples:
    texts = tuple(
        LabelledText(n + 1, f"text {n}", None, (label,), None if groups is None else groups[n])
        for n, label in enumerate(labels)
    )
    return LabelledExamples(Path("x.jsonl"), FieldNames("text", None, "label"), texts, several=False)


def test_a_tenth_of_each_label_is_held_out_and_the_seed_decides_which() -> None:
    train, dev = hold_out(examples("a" * 200 + "b" * 50), seed=0)
    assert Counter(example.labels[0] for example in dev.examples) == {"a": 20, "b": 5}
    assert len(train) == 225 and not {e.line for e in train.examples} & {e.line for e in dev.examples}
    assert hold_out(examples("a" * 200 + "b" * 50), seed=0)[1] == dev
    assert hold_out(examples("a" * 200 + "b" * 50), seed=1)[1] != dev


def test_groups_are_held_out_whole() -> None:
    groups = [f"g{n // 4}" for n in range(200)]
    train, dev = hold_out(examples("ab" * 100, groups), seed=0)
    assert 0 < len(dev) < 60
    assert not {e.group for e in train.examples} & {e.group for e in dev.examples}


def test_the_only_examples_of_a_label_stay_to_learn_from() -> None:
    for seed in range(12):
        train, _ = hold_out(examples("a" * 15 + "bcdefgh"), seed=seed)
        assert train.labels == tuple("abcdefgh")
