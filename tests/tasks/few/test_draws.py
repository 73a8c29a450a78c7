"""Draws are balanced, disjoint from what they are chosen by, and a function of their numbers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.tasks.classify.labelled import FieldNames, LabelledExamples, LabelledText
from unmask.tasks.few.draws import check_few, draw_few


def examples(count: int, name: str = "train", labels: str = "abc") -> LabelledExamples:
    texts = [LabelledText(n + 1, f"{name} {n}", None, (labels[n % len(labels)],)) for n in range(count)]
    return LabelledExamples(Path(f"{name}.jsonl"), FieldNames("text", None, "label"), tuple(texts), several=False)


def test_every_label_has_so_many_examples_and_no_text_is_on_both_sides() -> None:
    learnt, held_out = draw_few(examples(90), None, 8, 0, 1)
    for part in (learnt, held_out):
        assert Counter(example.labels[0] for example in part.examples) == dict.fromkeys("abc", 8)
    assert not {example.line for example in learnt.examples} & {example.line for example in held_out.examples}


def test_a_draw_is_a_function_of_its_number_and_the_seed() -> None:
    def lines(seed: int, draw: int) -> list[int]:
        return [example.line for example in draw_few(examples(90), None, 8, seed, draw)[0].examples]

    assert lines(0, 1) == lines(0, 1)
    assert len({tuple(lines(seed, draw)) for seed in (0, 1) for draw in (1, 2, 3)}) == 6


def test_with_dev_what_chooses_comes_from_there_and_all_examples_may_be_learnt_from() -> None:
    learnt, held_out = draw_few(examples(30), examples(60, "dev"), 10, 0, 1)
    assert len(learnt) == len(held_out) == 30 and all("dev" in example.text for example in held_out.examples)
    check_few(examples(30), examples(60, "dev"), 10)
    with pytest.raises(BadInput, match="has 10 examples, and --few 10 takes 10 to learn from and as many to choose by"):
        check_few(examples(30), None, 10)
    with pytest.raises(BadInput, match=r"dev\.jsonl: has no example of the label 'c'"):
        check_few(examples(30), examples(60, "dev", "ab"), 10)
