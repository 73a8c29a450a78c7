"""Texts with the entities in them, as they are learnt from and judged on.

In: columns (CoNLL) or JSON lines, plain or packed (.gz). Out: `TaggedExamples`: texts with spans of characters.

    Angela  B-PER                                                                    a word and its tag a line
    {"tokens": ["Angela", "Merkel"], "tags": ["B-PER", "I-PER"]}                     words and their tags
    {"text": "Angela Merkel.", "entities": [{"start": 0, "end": 13, "label": "PER"}]}    a text and spans of it

Words are put together with a space between them, which byte-level vocabularies need. Which of the schemes (`schemes`)
tags are in is found out and said. What cannot be used is told in one line that names the file, the line and the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

from unmask.errors import BadInput, did_you_mean
from unmask.files import sha256_of
from unmask.tasks.examples import (
    IDS,
    SUFFIXES,
    Record,
    and_empty,
    check_id,
    count_examples,
    first_named,
    open_examples,
    present_value,
    quoted_names,
    read_records,
    suffix_of,
    text_in,
)
from unmask.tasks.tag.columns import FIRST, LAST, Sentence, read_sentences
from unmask.tasks.tag.schemes import Scheme, lenient_spans, recognise_scheme

WORDS = ("tokens", "words")
TEXTS = ("text", "sentence", "content")
TAGS = ("tags", "ner_tags", "ner", "labels", "label")
SPANS = ("entities", "spans", "labels", "label")
FEWEST = 10  # texts, below which nothing is learnt from them


class TagFields(NamedTuple):
    """Which fields, or columns, hold what."""

    text: str  # a text or, of JSON lines with tags and of columns, words
    label: str  # spans, or tags
    group: str | None = None


class LabelledSpan(NamedTuple):
    """A stretch of a text, in characters, and what it is."""

    start: int
    end: int
    label: str


class TaggedText(NamedTuple):
    """One text with the entities in it, and where it stands."""

    line: int
    text: str
    words: tuple[tuple[int, int], ...] | None  # where each begins and ends, if the file says what is a word
    spans: tuple[LabelledSpan, ...]
    group: str | None = None  # texts of one group stay together


@dataclass(frozen=True)
class TaggedExamples:
    """The texts of a file."""

    path: Path
    fields: TagFields
    examples: tuple[TaggedText, ...]
    scheme: Scheme | None  # of its tags; none where it has spans
    empty: int = 0  # texts without a word, which were left out

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def labels(self) -> tuple[str, ...]:
        """All kinds of entities, in the order of the alphabet."""
        return tuple(sorted({span.label for example in self.examples for span in example.spans}))

    @property
    def entities(self) -> int:
        """How many entities there are."""
        return sum(len(example.spans) for example in self.examples)

    @property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        return sha256_of(self.path)


def read_tagged(path: Path, **asked: str | None) -> TaggedExamples:
    """Read a file; `text`, `label` and `group` are the fields, or the columns, that are asked for."""
    if asked.get("pair"):
        raise BadInput(f"--pair-field {asked['pair']}: entities are found in single texts, not in pairs")
    if SUFFIXES.get(suffix_of(path)) == "json":
        return _read_json(path, asked)
    if asked.get("group"):
        raise BadInput(f"--group-field {asked['group']}: columns have no groups; give JSON lines")
    fields = TagFields(asked.get("text") or FIRST, asked.get("label") or LAST)
    return _of_words(path, fields, list(read_sentences(path, fields.text, fields.label)), 0)


def count_tagged(path: Path) -> int:
    """How many texts a file has: its JSON lines, or its sentences in columns."""
    if SUFFIXES.get(suffix_of(path)) == "json":
        return count_examples(path)
    with open_examples(path, "words with their tags") as file:
        return sum(not is_blank for is_blank, _ in groupby(file, key=lambda line: not line.strip()))


def _read_json(path: Path, asked: dict[str, str | None]) -> TaggedExamples:
    """Words with their tags, or texts with spans: whichever the first line has."""
    rows = read_records(path, "texts with their entities")
    first = next(rows, None)
    if first is None:
        raise BadInput(f"{path}: has no examples")
    fields, is_words = infer_tag_fields(path, first[1], asked)
    records = _checked_records(path, (first, *rows), fields)
    if is_words:
        tagged = [_words_in(path, line, record, fields) for line, record in records]
        full = [each for each in tagged if each.words]
        return _of_words(path, fields, full, len(tagged) - len(full))
    texts = [_spans_in(path, line, record, fields) for line, record in records]
    examples = tuple(example for example in texts if example.text.strip())
    return TaggedExamples(path, fields, examples, None, len(texts) - len(examples))


def _checked_records(path: Path, rows: Sequence[tuple[int, Record]], fields: TagFields) -> Iterator[tuple[int, Record]]:
    seen: dict[str, int] = {}
    id_field = next((name for name in IDS if name in rows[0][1] and name not in fields), None)
    for line, record in rows:
        check_id(path, line, record, id_field, seen)
        yield line, record


def infer_tag_fields(path: Path, record: Record, asked: dict[str, str | None]) -> tuple[TagFields, bool]:
    """Which fields hold what, as asked for or else by their names; and whether they hold words.

    >>> infer_tag_fields(Path("x"), {"id": 1, "tokens": ["a"], "ner_tags": ["O"]}, {})
    (TagFields(text='tokens', label='ner_tags', group=None), True)
    """
    spelt = {name.lower().strip(): name for name in record}
    group = asked.get("group")
    text = asked.get("text") or first_named((*WORDS, *TEXTS), spelt, without=(asked.get("label"), group))
    is_words = text is not None and isinstance(record.get(text), list)
    names = TAGS if is_words else SPANS
    label = asked.get("label") or first_named(names, spelt, without=(text, group))
    for name, flag in ((text, "--text-field"), (label, "--label-field")):
        if name is None:
            raise BadInput(f"{path}: which field? {flag} names it, one of {quoted_names(record)}")
    for name in (text, label, group):
        if name is not None and name not in record:
            near = did_you_mean(name, record)
            raise BadInput(f"{path}: has no field {name!r}; {near or 'it has ' + ', '.join(map(repr, record))}")
    return TagFields(cast(str, text), cast(str, label), group), is_words


def _group_in(path: Path, line: int, record: Record, fields: TagFields) -> str | None:
    return None if fields.group is None else str(present_value(path, line, record, fields.group))


def _words_in(path: Path, line: int, record: Record, fields: TagFields) -> Sentence:
    """Words and their tags, as many of the ones as of the others."""
    words, tags = (present_value(path, line, record, name) for name in (fields.text, fields.label))
    for values, name in ((words, fields.text), (tags, fields.label)):
        if not isinstance(values, list) or not all(isinstance(each, str) and each.strip() for each in values):
            numbers = isinstance(values, list) and any(isinstance(each, int) for each in values)
            remedy = "give the names of tags, not numbers" if numbers else "give words, none of them empty"
            raise BadInput(f"{path}:{line}: the field {name!r} is no list of strings; {remedy}")
    if len(words) != len(tags):
        raise BadInput(
            f"{path}:{line}: has {len(words)} words in {fields.text!r}, {len(tags)} tags in {fields.label!r}"
        )
    return Sentence(line, tuple(words), tuple(tags), _group_in(path, line, record, fields))


def _spans_in(path: Path, line: int, record: Record, fields: TagFields) -> TaggedText:
    """A text and spans of it."""
    text = text_in(path, line, record, fields.text)
    values = present_value(path, line, record, fields.label)
    if not isinstance(values, list):
        raise BadInput(f"{path}:{line}: the field {fields.label!r} is no list of spans")
    spans = sorted(_span_in(path, line, fields.label, each, text) for each in values)
    for one, other in pairwise(spans):
        if other.start < one.end:
            pair = " and ".join(f"{span.start}–{span.end} ({span.label})" for span in (one, other))
            raise BadInput(f"{path}:{line}: the spans {pair} overlap; keep one of them")
    return TaggedText(line, text, None, tuple(spans), _group_in(path, line, record, fields))


def _span_in(path: Path, line: int, field: str, value: Any, text: str) -> LabelledSpan:
    """One span, without the spaces around it."""
    if isinstance(value, dict):
        value = [value.get("start"), value.get("end"), next((value[n] for n in ("label", "type") if n in value), None)]
    if not isinstance(value, list) or [type(each) for each in value] != [int, int, str]:
        raise BadInput(f"{path}:{line}: {value!r} in {field!r} is no span; give start, end and label")
    start, end, label = value
    if not 0 <= start < end <= len(text):
        raise BadInput(f"{path}:{line}: the span {start}–{end} is not in its text, which has {len(text)} characters")
    inside = text[start:end]
    if not inside.strip() or not label.strip():
        raise BadInput(f"{path}:{line}: the span {start}–{end} has no {'label' if inside.strip() else 'word'}")
    return LabelledSpan(end - len(inside.lstrip()), start + len(inside.rstrip()), label)


def _of_words(path: Path, fields: TagFields, tagged: Sequence[Sentence], empty: int) -> TaggedExamples:
    """Texts of words that are tagged, in the scheme that their tags are in."""
    if not tagged:
        raise BadInput(f"{path}: has no examples")
    scheme = recognise_scheme([each.tags for each in tagged])
    if isinstance(scheme, str):
        first = next(each for each in tagged if scheme in each.tags)
        line = first.line + (
            first.tags.index(scheme) if SUFFIXES.get(suffix_of(path)) != "json" else 0
        )  # a word a line
        raise BadInput(
            f"{path}:{line}: the tag {scheme!r} is of no scheme that is known with the others; give IOB1, IOB2, IOBES "
            "or BILOU: O, or a letter, a dash and a label, such as B-PER"
        )
    examples = []
    for each in tagged:
        text, words = join_words(each.words)
        spans = tuple(LabelledSpan(words[s.first][0], words[s.last - 1][1], s.label) for s in lenient_spans(each.tags))
        examples.append(TaggedText(each.line, text, words, spans, each.group))
    return TaggedExamples(path, fields, tuple(examples), scheme, empty)


def join_words(words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Words as a text with a space between them, and where each is.

    >>> join_words(["Angela", "Merkel"])
    ('Angela Merkel', ((0, 6), (7, 13)))
    """
    places = []
    begin = 0
    for word in words:
        places.append((begin, begin + len(word)))
        begin += len(word) + 1
    return " ".join(words), tuple(places)


def check_taggable(train: TaggedExamples) -> None:
    """Refuse what nothing can be learnt from: a handful of texts, or no entity in them."""
    if len(train) < FEWEST:
        count = f"{len(train):,} text{'' if len(train) == 1 else 's'}"
        raise BadInput(f"{train.path}: {count}{and_empty(train.empty)}, too few to learn from; give at least {FEWEST}")
    if not train.entities:
        raise BadInput(f"{train.path}: every word is outside, there is no entity to learn; give texts with some")


def check_known_labels(examples: TaggedExamples, labels: Sequence[str]) -> None:
    """Refuse entities of a kind that was never learnt."""
    if not len(examples):
        raise BadInput(f"{examples.path}: has no examples")
    known = set(labels)
    strange = [(each.line, span.label) for each in examples.examples for span in each.spans if span.label not in known]
    if strange:
        line, label = strange[0]
        others = f" (and {len(strange) - 1:,} more like it)" if len(strange) > 1 else ""
        raise BadInput(
            f"{examples.path}:{line}: the label {label!r}{others} is none that was learnt from; "
            f"{did_you_mean(label, known) or 'add examples of it to train, or leave it out'}"
        )
