"""Texts as sentences with a blank, and words that stand for labels (PET, Schick & Schütze 2021).

    pattern        {text} It was [MASK].
    verbalisers    positive → great, negative → terrible

In: the labels, or a file of patterns and verbalisers. Out: `LabelPrompt`. Where no file is given the patterns are
general ones, and each label is said by its own name, so that must be of words.

    {"pattern": "{text} It was [MASK]."}
    {"pattern": "[MASK] news: {text}"}
    {"verbalisers": {"positive": ["great", "good"], "negative": "terrible"}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.tasks.examples import read_records
from unmask.tokens.tokenizer.encode import encode

TEXT, PAIR, BLANK = "{text}", "{pair}", "[MASK]"
SLOTS = re.compile("|".join(map(re.escape, (TEXT, PAIR, BLANK))))
GENERAL = ("{text} It was [MASK].", "{text} This is about [MASK].", "{text} In one word: [MASK].")
GENERAL_PAIRS = ("{text} {pair} The answer is [MASK].", "{text} [MASK]: {pair}", "{text} {pair} In one word: [MASK].")
WORD = re.compile(r"[^\W\d_]{2,}")  # two letters at least
PARTS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")  # what parts the words of a label's name
GENERIC = {"label", "class", "category"}  # names that say nothing
MOST_PIECES = 6  # tokens of a verbaliser
SHOWN = 5  # labels that are named


@dataclass(frozen=True)
class LabelPrompt:
    """Patterns, and for each label the words that stand for it."""

    patterns: tuple[str, ...]
    verbalisers: Mapping[str, tuple[str, ...]]

    def pieces(self, tokenizer: PreTrainedTokenizerFast) -> list[tuple[int, tuple[int, ...]]]:
        """The tokens of each verbaliser, with the number of its label; what no vocabulary can tell apart is refused."""
        found: list[tuple[int, tuple[int, ...]]] = []
        owners: dict[tuple[int, ...], str] = {}
        for number, (label, words) in enumerate(self.verbalisers.items()):
            rows = encode(tokenizer, [f" {word.strip()}" for word in words])
            for word, row in zip(words, rows, strict=True):
                ids = tuple(row.ids.tolist())
                if not ids or tokenizer.unk_token_id in ids or len(ids) > MOST_PIECES:
                    reason = f"has {len(ids)} tokens" if len(ids) > MOST_PIECES else "is not in the vocabulary"
                    raise BadInput(f"{word!r}, which stands for the label {label!r}, {reason}; {_ask(label)}")
                if owners.setdefault(ids, label) != label:
                    raise BadInput(f"{word!r} stands for the labels {owners[ids]!r} and {label!r}; {_ask(label)}")
                found.append((number, ids))
        return found


def general_prompt(labels: Sequence[str], *, pair: bool) -> LabelPrompt:
    """General patterns, each label being said by its own name."""
    wordless = [label for label in labels if not name_words(label)]
    if wordless:
        names = ", ".join(map(repr, wordless[:SHOWN])) + (", …" if len(wordless) > SHOWN else "")
        raise BadInput(f"--few: the labels {names} are no words that could fill a blank; {_ask(wordless[0])}")
    return LabelPrompt(GENERAL_PAIRS if pair else GENERAL, {label: (name_words(label),) for label in labels})


def name_words(label: str) -> str:
    """The words of a label's name, or nothing where it is not of words.

    >>> name_words("card_arrival"), name_words("VeryGood"), name_words("LABEL_1"), name_words("0"), name_words("label")
    ('card arrival', 'very good', '', '', '')
    """
    parts = [part.lower() for part in PARTS.split(label) if part]
    wordy = parts and all(part.isalpha() for part in parts) and any(map(WORD.fullmatch, parts))
    return " ".join(parts) if wordy and not set(parts) <= GENERIC else ""


def read_prompt(path: Path, labels: Sequence[str], *, pair: bool) -> LabelPrompt:
    """The patterns and verbalisers of a file; labels it has no word for are said by their names."""
    patterns: list[str] = []
    verbalisers: dict[str, tuple[str, ...]] = {}
    for line, record in read_records(path, "a pattern, or verbalisers, a line"):
        place = f"{path}:{line}"
        if not {"pattern", "verbalisers"} & record.keys():
            raise BadInput(f"{place}: has neither the field 'pattern' nor the field 'verbalisers'")
        if "pattern" in record:
            patterns.append(_checked_pattern(place, record["pattern"], pair=pair))
        verbalisers |= _checked_verbalisers(place, record.get("verbalisers", {}), labels)
    unsaid = [label for label in labels if label not in verbalisers]
    general = general_prompt(unsaid, pair=pair)
    words = {**verbalisers, **general.verbalisers}
    return LabelPrompt(tuple(patterns) or general.patterns, {label: words[label] for label in labels})


def _checked_pattern(place: str, pattern: Any, *, pair: bool) -> str:
    if not isinstance(pattern, str):
        raise BadInput(f"{place}: the field 'pattern' is no text")
    wanted = [TEXT, BLANK, *([PAIR] if pair else [])]
    for slot in wanted:
        if pattern.count(slot) != 1:
            raise BadInput(f"{place}: the pattern {pattern!r} needs {slot} once; such as {GENERAL[0]!r}")
    if not pair and PAIR in pattern:
        raise BadInput(f"{place}: the pattern {pattern!r} has {PAIR}, and these examples are single texts")
    return pattern


def _checked_verbalisers(place: str, given: Any, labels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    if not isinstance(given, dict):
        raise BadInput(f"{place}: the field 'verbalisers' is no object with a word, or a list of words, for each label")
    found: dict[str, tuple[str, ...]] = {}
    for label, words in given.items():
        if label not in labels:
            raise BadInput(f"{place}: the examples have no label {label!r}; they have {', '.join(labels[:SHOWN])}")
        listed = [words] if isinstance(words, str) else words
        if not isinstance(listed, list) or not listed or not all(isinstance(w, str) and w.strip() for w in listed):
            raise BadInput(f"{place}: the verbalisers of {label!r} are neither a word nor a list of words")
        found[label] = tuple(dict.fromkeys(listed))
    return found


def _ask(label: str) -> str:
    example = f'{{"verbalisers": {{"{label}": ["word"]}}}}'
    return f"--patterns FILE says which words stand for labels, in lines as {example}"
