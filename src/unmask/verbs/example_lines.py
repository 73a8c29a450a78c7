"""Files that a tuned model is asked about: those that it could have been tuned on, labelled or not.

In: what was given to the command, and the model. Out: where its texts are read from: JSON lines with the fields that it
was tuned on, tables (CSV, TSV), or for entities words in columns (CoNLL). None stands for texts that were given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from unmask.errors import BadInput
from unmask.verbs.lines import LineSource, source_of

if TYPE_CHECKING:  # what is heavy is loaded when it is needed
    from unmask.tasks.tuned_model import TunedModel

TABLES = (".csv", ".tsv")
COLUMNS = (".conll", ".iob", ".iob2", ".bio")
WORDS = "words"  # the field that those of a sentence are given in
TOGETHER = 512  # rows of a table, or sentences, that are answered together


class TableSource(LineSource):
    """A table of CSV or TSV, whose rows are answered as JSON lines are."""

    def chunks(self) -> Iterator[list[tuple[int, bytes]]]:
        """Rows with the numbers of their lines, some at a time."""
        from unmask.tasks.examples import read_records

        assert self.path is not None
        yield from _chunks_of(read_records(self.path, "a text a line"))


@dataclass(frozen=True)
class ColumnSource(LineSource):
    """A word a line in columns, whose sentences are answered as lists of words are."""

    column: str | None = None  # of the words, from 1

    def chunks(self) -> Iterator[list[tuple[int, bytes]]]:
        """Sentences with the numbers of their first lines, some at a time."""
        from unmask.tasks.tag.columns import read_words

        assert self.path is not None
        yield from _chunks_of((line, {WORDS: words}) for line, words in read_words(self.path, self.column))


def _chunks_of(records: Iterable[tuple[int, Any]]) -> Iterator[list[tuple[int, bytes]]]:
    """Records as lines of JSON, so many as are worth answering together."""
    lines = ((line, json.dumps(record).encode()) for line, record in records)
    while group := list(islice(lines, TOGETHER)):
        yield group


def example_source(tuned: TunedModel, texts: Sequence[str], field: str | None, verb: str) -> LineSource | None:
    """The file or the standard input that stands for texts; None where they are the texts themselves."""
    from unmask.tasks.examples import suffix_of

    card, source = tuned.card, source_of(texts)
    if source is None:
        return None
    suffix = "" if source.path is None else suffix_of(source.path)
    if suffix in COLUMNS:
        if not tuned.takes_words:
            raise BadInput(f"{texts[0]}: {verb} reads JSON lines, or a text a line; columns are for entities")
        return ColumnSource(source.path, WORDS, words=True, column=field)
    if suffix == ".json" and card.task == "answer":
        fields = f"{card.text_field!r} and {card.pair_field!r}"
        raise BadInput(f"{texts[0]}: {verb} reads JSON lines with {fields}; save them in .jsonl")
    if suffix in TABLES:
        return TableSource(source.path, field or card.text_field, card.pair_field)
    as_json = source.field is not None or card.pair_field is not None
    chosen = field or (card.text_field if as_json else None)
    return replace(source, field=chosen, pair=card.pair_field, words=tuned.takes_words)
