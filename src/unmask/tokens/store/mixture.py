"""Sources in the proportions that are asked for, whatever their sizes: `--mix wiki=2,law=1`.

In: the parquet files of the training split, and weights by name. Out: a number for each document beside the split's
tokens. A document belongs to the first of the names that its file or one of the folders it lies in has; of the tokens
of an epoch, each name gets its share of the weights: a small source is repeated, and of a large one other parts are
left out each time.

    train/mix.npy            int64, of each document the place of its name in the manifest's `mix`
    train/mix_weights.npy    float64, the weight of each name
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from unmask.errors import BadInput, Damaged
from unmask.records import Integers, Reals
from unmask.tokens.store.documents import read_origins, read_sources
from unmask.tokens.store.shards import write_array

MOST_FILES = 50  # that are told apart
GROUPS, WEIGHTS = "mix.npy", "mix_weights.npy"


def parse_mix(text: str) -> dict[str, float]:
    """Names with their weights, in the order in which they are given.

    >>> parse_mix("wiki=2, law=0.5")
    {'wiki': 2.0, 'law': 0.5}
    """
    mix: dict[str, float] = {}
    for part in text.split(","):
        name, _, weight = (word.strip() for word in part.partition("="))
        try:
            mix[name] = float(weight)
        except ValueError:
            raise BadInput(f"--mix {text}: give names with their weights, such as wiki=2,law=1") from None
        if not name or not 0 < mix[name] < float("inf"):
            raise BadInput(f"--mix {text}: the weight of {name!r} is {weight}; give a number above 0")
    return mix


def name_in_mix(source: str, names: Iterable[str]) -> str | None:
    """The first of the names that a source has, as its file's or a folder's.

    >>> name_in_mix("texts/law/2024.jsonl.gz", ["wiki", "law"]), name_in_mix("wiki.txt", ["wiki"])
    ('law', 'wiki')
    """
    parts = {part.split(".")[0] for part in PurePath(source).parts} | {*PurePath(source).parts}
    return next((name for name in names if name in parts), None)


def check_mix(mix: Mapping[str, float], sources: Iterable[str]) -> None:
    """Whether every source has a name of the mixture, and every name a source."""
    missing = set(mix)
    for source in sources:
        name = name_in_mix(source, mix)
        if name is None:
            raise BadInput(
                f"--mix: {source} is none of {', '.join(mix)}; give its file's or its folder's name a weight"
            )
        missing.discard(name)
    if missing:
        raise BadInput(f"--mix: no file or folder of the sources is called {min(missing)}")


def write_mix(documents: Path, folder: Path, mix: Mapping[str, float]) -> None:
    """Write the names of a split's documents, as numbers, and the weights."""
    places = {name: place for place, name in enumerate(mix)}
    names = (name_in_mix(source, mix) for source, _ in read_sources(documents))
    write_array(folder / GROUPS, np.array([places[name] for name in names if name is not None], dtype=np.int64))
    write_array(folder / WEIGHTS, np.array([*mix.values()], dtype=np.float64))


def read_mix(path: Path, manifest: Mapping[str, Any]) -> tuple[Integers, Reals] | None:
    """Of each training document its group, and the weight of each group; none where no mixture was asked for."""
    if "mix" not in manifest:
        return None
    try:
        groups: Integers = np.load(path / "train" / GROUPS, allow_pickle=False)
        weights: Reals = np.load(path / "train" / WEIGHTS, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise Damaged(f"{path / 'train' / GROUPS}: cannot be read: {error}") from error
    return groups, weights


def read_groups(documents: Path, names: Collection[str] = ()) -> dict[str, list[str | None]]:
    """The source of each document of a split, by its name in the mixture or else its file, and its language.

    Where there are more than fifty files, their folders are told apart instead.
    """
    sources: list[str | None] = []
    languages: list[str | None] = []
    for source, language in read_origins(documents):
        sources.append(name_in_mix(source, names) if names else source)
        languages.append(language)
    if len(set(sources)) > MOST_FILES:
        sources = [None if source is None else str(PurePath(source).parent) for source in sources]
    return {"source": sources, "language": languages}
