"""The language of each document, told by where it comes from.

In: the parquet files of a split. Out: a number for each document beside the split's tokens, and texts to learn a
tokenizer from in which no language drowns the others.

    train/languages.npy    int64, the language of each document: its place in the manifest's list of languages
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from unmask.errors import BadInput, Damaged
from unmask.records import Integers
from unmask.tokens.sample import smoothed_shares
from unmask.tokens.store.documents import read_sources
from unmask.tokens.store.shards import write_array

FILE = "languages.npy"
LANGUAGE_BY: dict[str, Callable[[PurePath], str]] = {
    "file": lambda path: path.name.split(".")[0],
    "folder": lambda path: path.parent.name,
}


def check_languages(by: str | None) -> None:
    """Whether languages can be told this way."""
    if by is not None and by not in LANGUAGE_BY:
        raise BadInput(
            f"--languages {by}: a document's language is the name of its {' or '.join(LANGUAGE_BY)}; give one of these"
        )


def language_of(source: str, by: str) -> str:
    """The language of what comes from a source.

    >>> language_of("texts/de/news.jsonl.gz", "folder"), language_of("texts/de.txt.gz", "file")
    ('de', 'de')
    """
    return LANGUAGE_BY[by](PurePath(source))


def documents_by_language(documents: Path, by: str) -> Iterator[tuple[str, str]]:
    """The language and the text of each document of a split, in order."""
    return ((language_of(source, by), text) for source, text in read_sources(documents))


def balanced_texts(documents: Path, by: str, limit: int) -> Iterator[str]:
    """Texts of at most `limit` characters or so, each language with its smoothed share: left out or said again."""
    sizes: Counter[str] = Counter()
    for name, text in documents_by_language(documents, by):
        sizes[name] += len(text)
    names = sorted(sizes)
    shares = smoothed_shares(np.array([sizes[name] for name in names]))
    total = min(limit - limit // 16, sum(sizes.values()))  # whole documents go a little beyond it
    rates = {name: float(share) * total / max(1, sizes[name]) for name, share in zip(names, shares, strict=True)}
    due = dict.fromkeys(names, 0.5)
    for name, text in documents_by_language(documents, by):
        due[name] += rates[name]
        for _ in range(int(due[name])):
            yield text
        due[name] %= 1


def write_languages(documents: Path, folders: list[Path], by: str) -> list[str]:
    """Write the languages of the documents of some splits; their names, in order."""
    by_split = [[name for name, _ in documents_by_language(documents / folder.name, by)] for folder in folders]
    names = sorted({name for split in by_split for name in split})
    if not all(names):
        raise BadInput(f"--languages {by}: some documents come from no {by}, so that they have no language")
    places = {name: place for place, name in enumerate(names)}
    for folder, split in zip(folders, by_split, strict=True):
        write_array(folder / FILE, np.array([places[name] for name in split], dtype=np.int64))
    return names


def read_languages(path: Path, manifest: dict[str, Any], split: str) -> Integers:
    """The language of each document of a split of a data directory."""
    if "languages" not in manifest:
        raise BadInput(
            f"{path}: does not say which language each document is in, by which xlm-r samples them: make it with "
            "unmask prepare … --languages file (en.txt, de.txt, …) or --languages folder"
        )
    try:
        numbers: Integers = np.load(path / split / FILE, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise Damaged(f"{path / split / FILE}: cannot be read: {error}") from error
    return numbers
