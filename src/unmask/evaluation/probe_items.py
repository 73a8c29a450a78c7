"""Items that a model is probed with: minimal pairs, and blanks with an answer.

    {"sentence_good": "The dogs bark.", "sentence_bad": "The dogs barks.", "UID": "agreement"}     BLiMP
    The dogs bark.⇥The dogs barks.⇥agreement                                                       two columns, or three
    {"masked_sentences": ["Paris is in [MASK]."], "obj_label": "France", "predicate_id": "P17"}    LAMA
    {"text": "Paris is in [MASK].", "answer": "France", "candidates": ["France", "Spain"]}         a blank, its answers
    {"text": "The dogs [MASK].", "good": "bark", "bad": "barks"}                                   two fillers

In: a file, a line an item, plain or `.gz`. Out: `ProbeItem`s, or one error that names the lines that are none.
`BUILT_IN` is a set written for this project: 271 items, twelve phenomena of English.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.errors import BadInput, BadLines
from unmask.files import missing_path
from unmask.tokens.example import BLANK

BUILT_IN = Path(__file__).with_name("probe_items.jsonl")
# fields that say what an item is about, the first that it has; `--by` names another
ABOUT = ("phenomenon", "linguistics_term", "UID", "template", "predicate_id")
NAMED = 20  # lines that are named, of those that are no items
PAIRS = (("sentence_good", "sentence_bad"), ("good", "bad"))


@dataclass(frozen=True)
class ProbeItem:
    """What a model chooses among: whole sentences, or what fills a blank. The first choice is right."""

    phenomenon: str
    before: str  # the blank; empty where sentences are chosen among, as is `after`
    after: str
    choices: tuple[str, ...]  # one alone: any token of the vocabulary may be better

    @property
    def sentences(self) -> bool:
        """Whether it is a minimal pair."""
        return not self.before and not self.after


def read_item(line: str, by: str | None = None) -> ProbeItem:
    """The item of a line; `by` is the field that says what it is about."""
    if not line.lstrip().startswith("{"):
        return _from_columns(line)
    try:
        record = json.loads(line)
    except ValueError as error:
        raise BadInput("not JSON") from error
    if by is not None and not isinstance(record.get(by), str | int):
        raise BadInput(f"no field {by!r}, which --by names")
    about = next((str(record[name]) for name in ((by,) if by else ABOUT) if name in record), "all")
    if "masked_sentences" in record or "text" in record:
        return _blank(record, about)
    for good, bad in PAIRS:
        if good in record and bad in record:
            return ProbeItem(about, "", "", _two(record, good, bad))
    raise BadInput("no item: give sentence_good and sentence_bad, or a text with [MASK] and its answer")


def _from_columns(line: str) -> ProbeItem:
    columns = [column.strip() for column in line.split("\t")]
    if len(columns) not in (2, 3) or not all(columns):
        raise BadInput("no item: neither JSON nor two columns, the good sentence and the bad one, with a tab between")
    _differ(columns[0], columns[1])
    return ProbeItem(columns[2] if len(columns) == 3 else "all", "", "", (columns[0], columns[1]))


def _blank(record: Mapping[str, Any], about: str) -> ProbeItem:
    text = record.get("text")
    if "masked_sentences" in record:
        several = record["masked_sentences"]
        text = several[0] if isinstance(several, list) and several else None
    if not isinstance(text, str) or text.count(BLANK) != 1:
        raise BadInput(f"no text with one {BLANK}")
    before, after = text.split(BLANK)
    if not (before + after).strip():
        raise BadInput(f"nothing but {BLANK}: give the words around it")
    if "good" in record and "bad" in record:
        return ProbeItem(about, before, after, _two(record, "good", "bad"))
    answer, others = record.get("answer", record.get("obj_label")), record.get("candidates", [])
    if not isinstance(answer, str) or not answer.strip():
        raise BadInput("no 'answer' (or obj_label) that is a word")
    if not isinstance(others, list) or not all(isinstance(other, str) and other.strip() for other in others):
        raise BadInput("'candidates' is no list of words")
    return ProbeItem(about, before, after, tuple(dict.fromkeys((answer, *others))))


def _two(record: Mapping[str, Any], good: str, bad: str) -> tuple[str, str]:
    one, other = record[good], record[bad]
    if not isinstance(one, str) or not isinstance(other, str) or not one.strip() or not other.strip():
        raise BadInput(f"{good!r} and {bad!r} are no texts")
    _differ(one, other)
    return one, other


def _differ(one: str, other: str) -> None:
    if one == other:
        raise BadInput("the good one and the bad one are the same")


def check_items(path: Path, by: str | None = None) -> int:
    """How many items a file has; one error that names the lines that are none, before a model is asked."""
    if not path.is_file():
        raise missing_path(path, "give a file with an item a line, or none for the built-in ones")
    problems: list[str] = []
    items = 0
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            items += 1
            try:
                read_item(line.strip(), by)
            except BadInput as error:
                problems.append(f"{path}:{number}: {error}")
    if problems:
        raise BadLines([*problems[:NAMED], f"{len(problems):,} of {items:,} lines of {path} are no items"])
    if not items:
        raise BadInput(f"{path}: is empty; give a file with an item a line")
    return items
