"""What a probe is asked: labelled texts, made of held-out text or read from a file.

In: documents, or a file of the user's. Out: a `ProbeTask`: items, their labels, and the document each item is of, so
that no document is both learnt from and tested on.

Two need no labels of anybody's:

    order          are two neighbouring words of the sentence exchanged? (bigram shift, Conneau et al. 2018)
    punctuation    after which words did a comma or a full stop stand that was taken away?
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unmask.errors import BadInput
from unmask.records import Flags, Integers

NONE = "O"  # the label of a word that has none, as CoNLL writes it
SENTENCE = re.compile(r"(?<=[.!?])\s+")
WORDS = (5, 30)  # in a sentence whose order is asked for
WINDOW, MIN_WINDOW = 40, 10  # words in a stretch of text whose punctuation is asked for
MARKS = {",": "COMMA", ".": "STOP"}
MAX_ITEMS = {"classification": 4000, "tagging": 1500}  # items, an even sample of all there are
FEWEST = 20  # items on either side, below which nothing is asked


@dataclass(frozen=True)
class ProbeTask:
    """Items with their labels: texts with one each, or sentences of words with as many."""

    name: str
    kind: str  # classification or tagging
    items: tuple[str, ...] | tuple[tuple[str, ...], ...]
    labels: tuple[str, ...] | tuple[tuple[str, ...], ...]
    documents: Integers  # N: which document each item is of

    @property
    def is_test(self) -> Flags:
        """N: the items of two documents in five are tested on; the others are learnt from."""
        flags: Flags = self.documents % 5 < 2
        return flags

    @property
    def is_enough(self) -> bool:
        """Whether there are items on both sides, and something to tell apart."""
        test_count = int(self.is_test.sum())
        train_labels = {
            label
            for labels, is_train in zip(self.labels, ~self.is_test, strict=True)
            if is_train
            for label in ((labels,) if isinstance(labels, str) else labels)
        }
        return min(test_count, len(self.items) - test_count) >= FEWEST and len(train_labels) > 1


def probe_task(name: str, kind: str, rows: Iterable[tuple[int, Sequence[str] | str, Sequence[str] | str]]) -> ProbeTask:
    """A question of (document, item, labels), an even sample if there are very many."""
    sample = list(rows)
    sample = sample[:: -(-len(sample) // MAX_ITEMS[kind]) or 1]
    documents = np.array([document for document, _, _ in sample], dtype=np.int64)
    items, labels = ([row[place] for row in sample] for place in (1, 2))
    return ProbeTask(name, kind, tuple(items), tuple(labels), documents)  # type: ignore[arg-type]


def order_task(texts: Iterable[str], seed: int = 0) -> ProbeTask:
    """Sentences, of every second of which, at random, two neighbouring words inside are exchanged."""
    rng = np.random.default_rng(seed)

    def rows() -> Iterator[tuple[int, str, str]]:
        for document, text in enumerate(texts):
            for sentence in _sentences(text):
                words = sentence.split()
                if pairs := _exchangeable(words):
                    place, exchange = pairs[int(rng.integers(len(pairs)))], bool(rng.random() < 0.5)
                    if exchange:
                        words[place], words[place + 1] = words[place + 1], words[place]
                    yield document, " ".join(words), "exchanged" if exchange else "as written"

    return probe_task("order", "classification", rows())


def _sentences(text: str) -> Iterator[str]:
    minimum, maximum = WORDS
    for paragraph in text.splitlines():
        for sentence in SENTENCE.split(paragraph.strip()):
            if minimum <= len(sentence.split()) <= maximum and sentence.endswith((".", "!", "?")):
                yield sentence


def _exchangeable(words: Sequence[str]) -> list[int]:
    """The places of two neighbours whose exchange no capital and no punctuation gives away.

    >>> _exchangeable("The cat sat on the old, grey mat.".split())
    [1, 2, 3]
    """
    plain = [word == word.lower() and all(unicodedata.category(sign)[0] in "LM" for sign in word) for word in words]
    inside = range(1, len(words) - 2)
    return [n for n in inside if plain[n] and plain[n + 1] and words[n] != words[n + 1]]


def punctuation_task(texts: Iterable[str]) -> ProbeTask:
    """Stretches of 40 words without their commas and full stops, each word labelled by what stood after it."""

    def rows() -> Iterator[tuple[int, tuple[str, ...], tuple[str, ...]]]:
        for document, text in enumerate(texts):
            pairs = list(_label_words(text.split()))
            for begin in range(0, len(pairs) - MIN_WINDOW + 1, WINDOW):
                words, labels = zip(*pairs[begin : begin + WINDOW], strict=True)
                yield document, words, labels

    return probe_task("punctuation", "tagging", rows())


def _label_words(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Words with what stood after them; a mark that stands alone belongs to the word before it.

    >>> list(_label_words("Yes , the U.S. won, it seems.".split()))
    [('Yes', 'COMMA'), ('the', 'O'), ('U.S', 'STOP'), ('won', 'COMMA'), ('it', 'O'), ('seems', 'STOP')]
    """
    pending: tuple[str, str] | None = None
    for word in words:
        bare = word.rstrip(",.")
        label = MARKS[word[len(bare)]] if len(bare) < len(word) else NONE
        if not bare:
            pending = (pending[0], label) if pending else None
            continue
        if pending:
            yield pending
        pending = bare, label
    if pending:
        yield pending


def labelled_texts(path: Path) -> ProbeTask:
    """JSONL with a text and its label on each line."""
    rows = []
    for number, line in _lines(path):
        try:
            record = json.loads(line)
            text, label = record["text"], record["label"]
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f'{path}:{number}: not {{"text": …, "label": …}} in JSON ({error})') from error
        if not isinstance(text, str) or isinstance(label, dict | list | None):
            raise BadInput(f"{path}:{number}: text must be a string, and label a string or a number")
        rows.append((number, text, str(label)))
    return _usable(path, probe_task(path.name, "classification", rows))


def tagged_words(path: Path) -> ProbeTask:
    """A token, a tab and its tag on each line, a blank line between sentences."""
    rows: list[tuple[int, tuple[str, ...], tuple[str, ...]]] = []
    words: list[tuple[str, str]] = []
    for number, line in [*_lines(path, blank=True), (0, "")]:
        token, tab, tag = line.partition("\t")
        if tab and token.strip() and tag.strip():
            words.append(("_".join(token.split()), tag.split("\t")[-1].strip()))
        elif line.strip():
            raise BadInput(f"{path}:{number}: not a token, a tab and its tag")
        elif words:
            tokens, tags = zip(*words, strict=True)
            rows.append((len(rows), tokens, tags))
            words = []
    return _usable(path, probe_task(path.name, "tagging", rows))


def _lines(path: Path, *, blank: bool = False) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            yield from ((n, line.rstrip("\r\n")) for n, line in enumerate(file, start=1) if blank or line.strip())
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8 ({error.reason})") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error


def _usable(path: Path, task: ProbeTask) -> ProbeTask:
    if not task.is_enough:
        raise BadInput(
            f"{path}: has {len(task.items)} items: give {5 * FEWEST // 2} or more, with two labels or more among them"
        )
    return task
