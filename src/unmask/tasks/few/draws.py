"""A few examples of each label, drawn several times: what a handful of labels is worth hangs on which they are.

In: labelled examples, and how many of each label are taken. Out: for each draw those to learn from and as many that
choose the moment; a function of the file, the seed and the draw's number. Draws are made apart from each other, and
may share examples.
"""

from __future__ import annotations

from dataclasses import replace

from unmask.errors import BadInput
from unmask.tasks.classify.labelled import LabelledExamples, LabelledText
from unmask.tokens.pack import random_order

PURPOSE = 11  # of the order, among all that are drawn from a seed


def draw_few(
    train: LabelledExamples, dev: LabelledExamples | None, few: int, seed: int, draw: int
) -> tuple[LabelledExamples, LabelledExamples]:
    """So many examples of each label to learn from, and as many of each held out: of dev or, without one, of train."""
    learnt, held_out = list[LabelledText](), list[LabelledText]()
    for number, label in enumerate(train.labels):
        drawn = _shuffled(train, label, seed, draw, number)
        learnt += drawn[:few]
        held_out += drawn[few : 2 * few] if dev is None else _shuffled(dev, label, seed, draw, number)[:few]
    return replace(train, examples=tuple(learnt)), replace(dev or train, examples=tuple(held_out))


def check_few(train: LabelledExamples, dev: LabelledExamples | None, few: int) -> None:
    """Refuse what cannot be drawn."""
    if few < 1:
        raise BadInput(f"--few {few}: give 1 or more, the examples of each label")
    if train.several:
        raise BadInput(f"--few: {train.path} has lists of labels; few examples are learnt with one label a text")
    if train.fields.group is not None:
        raise BadInput("--few: single examples are drawn, and groups would be torn apart; leave --group-field out")
    needed = 2 * few if dev is None else few
    for label in train.labels:
        count = sum(label in example.labels for example in train.examples)
        if count < needed:
            also = " to learn from and as many to choose by" if dev is None else ""
            remedy = f"give --few {count // 2 if dev is None else count} or less"
            remedy += ", or --dev" if dev is None else ""
            raise BadInput(
                f"{train.path}: the label {label!r} has {count:,} examples, and --few {few} takes {few}{also}; {remedy}"
            )
    if dev is not None and (lacking := sorted(set(train.labels) - set(dev.labels))):
        raise BadInput(f"{dev.path}: has no example of the label {lacking[0]!r}")


def _shuffled(examples: LabelledExamples, label: str, seed: int, draw: int, number: int) -> list[LabelledText]:
    """The examples of a label in an order of the draw's own."""
    own = [example for example in examples.examples if example.labels == (label,)]
    return [own[place] for place in random_order(len(own), seed, draw, PURPOSE + number).tolist()]
