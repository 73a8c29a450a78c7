"""Labelled examples: a file of texts, or of pairs of texts, with one label or several each.

In: JSONL, CSV or TSV, plain or packed (.gz). Out: `LabelledExamples`. Which fields hold text and label is found by
their names and said; `--text-field`, `--pair-field` and `--label-field` decide otherwise. What cannot be used is told
in one line that names the file, the line and the field.

    {"text": "Where is my card?", "label": "card_arrival"}
    {"premise": "A man sleeps.", "hypothesis": "He is awake.", "label": "contradiction"}
    {"text": "Great, and cheap!", "labels": ["quality", "price"]}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import NamedTuple, cast

from unmask.errors import BadInput, did_you_mean
from unmask.files import sha256_of
from unmask.tasks.examples import (
    IDS,
    Record,
    and_empty,
    check_id,
    first_named,
    present_value,
    quoted_names,
    read_records,
    text_in,
)

PAIRS = (
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("question", "passage"),
    ("question", "context"),
    ("query", "passage"),
    ("text1", "text2"),
    ("text_a", "text_b"),
)
TEXTS = (
    *("text", "sentence", "utterance", "content", "review", "message", "document", "body", "comment", "tweet"),
    *("abstract", "title", "query", "question"),
)
LABELS = (
    *("label", "labels", "intent", "class", "category", "categories", "topic", "sentiment", "target", "tags"),
    *("gold_label",),
)
FEWEST = 10  # examples, below which nothing is learnt from them


class FieldNames(NamedTuple):
    """Which fields hold what."""

    text: str
    pair: str | None  # the second text, where there are two
    label: str
    group: str | None = None


class LabelledText(NamedTuple):
    """One example, and where it stands."""

    line: int
    text: str
    pair: str | None  # the second text, where there are two
    labels: tuple[str, ...]
    group: str | None = None  # examples of one group stay together


@dataclass(frozen=True)
class LabelledExamples:
    """The examples of a file."""

    path: Path
    fields: FieldNames
    examples: tuple[LabelledText, ...]
    several: bool  # whether an example may have any number of labels
    empty: int = 0  # lines without text, which were left out

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order of the alphabet; of numbers, in theirs."""
        names = {label for example in self.examples for label in example.labels}
        return tuple(sorted(names, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name)))

    @property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        return sha256_of(self.path)


def read_labelled(path: Path, fields: FieldNames | None = None, **asked: str | None) -> LabelledExamples:
    """Read a file; its fields are those of another file, or `text`, `pair`, `label` and `group` as they are asked for.

    Where neither says which they are, their names tell.
    """
    rows = read_records(path)
    first = next(rows, None)
    if first is None:
        raise BadInput(f"{path}: has no examples")
    names = infer_fields(path, first[1], **asked) if fields is None else fields
    if fields is not None and fields.group not in first[1]:  # groups are for holding out, which is done already
        names = names._replace(group=None)
    examples: list[LabelledText] = []
    seen: dict[str, int] = {}
    kinds: dict[bool, int] = {}  # a list of labels or not, and the first line of each
    empty = 0
    id_field = next((name for name in IDS if name in first[1] and name not in names), None)
    for line, record in (first, *rows):
        check_id(path, line, record, id_field, seen)
        texts = [text_in(path, line, record, name) for name in (names.text, names.pair) if name is not None]
        if not all(text.strip() for text in texts):
            empty += 1
            continue
        labels, several = _labels_in(path, line, record, names.label)
        kinds.setdefault(several, line)
        group = None if names.group is None else str(present_value(path, line, record, names.group))
        examples.append(LabelledText(line, texts[0], texts[1] if names.pair else None, labels, group))
    if len(kinds) > 1:
        raise BadInput(
            f"{path}:{max(kinds.values())}: the field {names.label!r} is a list here and one label in line "
            f"{min(kinds.values())}; give lists everywhere, or nowhere"
        )
    _check_no_scores(path, names.label, examples)
    return LabelledExamples(path, names, tuple(examples), several=True in kinds, empty=empty)


def check_trainable(train: LabelledExamples) -> None:
    """Refuse what nothing can be learnt from: a handful of examples, or nothing to tell apart."""
    if len(train) < FEWEST:
        count = _count_examples(len(train)) + and_empty(train.empty)
        raise BadInput(f"{train.path}: {count}, too few to learn from; give at least {FEWEST}")
    if len(train.labels) < 2:
        only = f"the label {train.labels[0]!r}" if train.labels else "no label"
        raise BadInput(
            f"{train.path}: every example has {only}, there is nothing to tell apart; give two labels or more"
        )


def check_labels(examples: LabelledExamples, labels: Sequence[str], several: bool) -> None:
    """Refuse labels that were never learnt, and lists of labels beside single ones."""
    if not len(examples):
        raise BadInput(f"{examples.path}: has no examples")
    if examples.several != several:
        wanted = "a list of labels, as in training" if several else "one label, as in training"
        raise BadInput(
            f"{examples.path}:{examples.examples[0].line}: the field {examples.fields.label!r} is not {wanted}"
        )
    known = set(labels)
    strange = [(example.line, label) for example in examples.examples for label in example.labels if label not in known]
    if strange:
        line, label = strange[0]
        others = f" (and {len(strange) - 1:,} more like it)" if len(strange) > 1 else ""
        raise BadInput(
            f"{examples.path}:{line}: the label {label!r}{others} is none that was learnt from; "
            f"{did_you_mean(label, known) or 'add examples of it to train, or leave it out'}"
        )


def infer_fields(
    path: Path,
    record: Record,
    *,
    text: str | None = None,
    pair: str | None = None,
    label: str | None = None,
    group: str | None = None,
) -> FieldNames:
    """Which fields hold what: as asked for, else by their names.

    >>> infer_fields(Path("x"), {"idx": 1, "Premise": "", "Hypothesis": "", "Label": ""})
    FieldNames(text='Premise', pair='Hypothesis', label='Label', group=None)
    """
    spelt = {name.lower().strip(): name for name in record}
    if text is None and pair is None:
        found = next((both for both in PAIRS if all(name in spelt for name in both)), None)
        if found is not None:
            text, pair = (spelt[name] for name in found)
    text = text or first_named(TEXTS, spelt, without=(pair, label, group)) or _only_text(record, (pair, label, group))
    label = label or first_named(LABELS, spelt, without=(text, pair, group))
    for name, flag in ((text, "--text-field"), (label, "--label-field")):
        if name is None:
            raise BadInput(f"{path}: which field? {flag} names it, one of {quoted_names(record)}")
    for name in (text, pair, label, group):
        if name is not None and name not in record:
            near = did_you_mean(name, record)
            raise BadInput(f"{path}: has no field {name!r}; {near or 'it has ' + ', '.join(map(repr, record))}")
    return FieldNames(cast(str, text), pair, cast(str, label), group)


def _only_text(record: Record, without: tuple[str | None, ...]) -> str | None:
    """The one field that holds words, where only one does."""
    wordy = [name for name, value in record.items() if isinstance(value, str) and " " in value and name not in without]
    return wordy[0] if len(wordy) == 1 else None


def _labels_in(path: Path, line: int, record: Record, name: str) -> tuple[tuple[str, ...], bool]:
    """The labels of a record, and whether they are a list."""
    value = present_value(path, line, record, name)
    several = isinstance(value, list)
    values = value if several else [value]
    if any(isinstance(each, dict | list | None) for each in values) or "" in values:
        raise BadInput(f"{path}:{line}: the field {name!r} is no label; give a name, or a list of names")
    return tuple(dict.fromkeys(str(each) for each in values)), several


def _check_no_scores(path: Path, field: str, examples: Sequence[LabelledText]) -> None:
    """Numbers with a fraction are scores, and how near one is to another counts."""
    for example in examples:
        for label in example.labels:
            if not _is_fraction(label):
                continue
            raise BadInput(
                f"{path}:{example.line}: the field {field!r} is {label}, a score and no label: similarity is learnt "
                "from scores, classify from names; give names, or another --label-field"
            )


def _is_fraction(label: str) -> bool:
    try:
        number = float(label)
    except ValueError:
        return False
    return isfinite(number) and not number.is_integer()


def _count_examples(count: int) -> str:
    return f"{count:,} example{'' if count == 1 else 's'}"
