"""Do blanks that agree recover more of what stood there than blanks on their own? On held-out text, the same places.

    python benchmarks/joint.py run data

A place is drawn from each held-out document: 2, 3 or 4 tokens side by side, or the pieces of a word of several, are
hidden in a stretch of text around them. Recovered is a place when the completed text is the original, to the letter.
Both ways are asked of the same places, so their difference is paired; one place a document, so its 95 % interval is
that of independent draws. Then words of up to four tokens are hidden behind [MASK:word], whose length must be guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tyro

from unmask.inference.fill import fill_blanks
from unmask.inference.words import PIECES
from unmask.intervals import mean_figure
from unmask.models.load import LoadedModel, load_model
from unmask.records import Flags
from unmask.results import Figure, Filled
from unmask.tokens.example import BLANK
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.encode import EncodedText, encode

CHARACTERS = 100_000_000  # of held-out text that places are drawn from, at the most
BATCH = 32


class Place(NamedTuple):
    """A stretch of held-out text, and the characters of the tokens that are hidden in it."""

    text: str
    spans: tuple[tuple[int, int], ...]  # of each token, without the space before it

    def blanked(self, *, word: bool = False) -> str:
        """The text with a blank for each token, or one for the word that they are."""
        spans = ((self.spans[0][0], self.spans[-1][1]),) if word else self.spans
        text = self.text
        for begin, end in reversed(spans):
            text = f"{text[:begin]}{'[MASK:word]' if word else BLANK}{text[end:]}"
        return text


Stretches = Callable[[EncodedText], list[tuple[int, int]]]  # the tokens of a text that may be hidden: first, and after


def adjacent(count: int) -> Stretches:
    """So many tokens side by side."""
    return lambda row: [(begin, begin + count) for begin in range(len(row.ids) - count)]


def words(least: int, most: int) -> Stretches:
    """The tokens of a word of so many."""

    def stretches(row: EncodedText) -> list[tuple[int, int]]:
        starts = np.flatnonzero(row.word_starts).tolist()
        return [(begin, end) for begin, end in pairwise(starts) if least <= end - begin <= most]

    return stretches


def places(loaded: LoadedModel, texts: list[str], stretches: Stretches, tokens: int, seed: int) -> Iterator[Place]:
    """A place of each text, as long as its tokens are those that the text with blanks has around them."""
    draws = np.random.default_rng(seed)
    for text, row in zip(texts, encode(loaded.tokenizer, texts, offsets=True), strict=True):
        assert row.offsets is not None
        candidates = [each for each in stretches(row) if loaded.tokenizer.unk_token_id not in row.ids[slice(*each)]]
        if not candidates:
            continue
        begin, end = candidates[draws.integers(len(candidates))]
        first, last = max(0, begin - tokens // 2), min(len(row.ids), end + tokens // 2)
        offset = int(row.offsets[first, 0])
        stretch = text[offset : int(row.offsets[last - 1, 1])]
        spans = []
        for start, stop in row.offsets[begin:end].tolist():
            spaces = len(text[start:stop]) - len(text[start:stop].lstrip())
            spans.append((start + spaces - offset, stop - offset))
        place = Place(stretch, tuple(spans))
        letters = text[row.offsets[begin, 0] : row.offsets[end - 1, 1]]
        if all(start < stop for start, stop in spans) and letters.isprintable() and "[" not in stretch:
            yield place


def recovered(loaded: LoadedModel, asked: list[Place]) -> tuple[Flags, Flags]:
    """Which places the blanks agree on as they were, and which each on its own."""
    filled: list[Filled] = []
    for begin in range(0, len(asked), BATCH):
        filled += fill_blanks(loaded, [place.blanked() for place in asked[begin : begin + BATCH]], top=1)
    pairs = list(zip(filled, asked, strict=True))
    together = np.array([each.completed == place.text for each, place in pairs])
    return together, np.array([each.independent == place.text for each, place in pairs])


def percent(figure: Figure) -> str:
    """A share and its interval."""
    return f"{figure.value:6.1%} ({figure.low:+.1%} to {figure.high:+.1%})"


def main(run: Path, data: Path, /, count: int = 400, tokens: int = 60, seed: int = 0) -> None:
    """Recovery of hidden tokens.

    Args:
        run: A run or a masked-LM directory.
        data: A data directory, of which the held-out text is used.
        count: Places of each kind.
        tokens: Tokens of text around a place.
        seed: Which places.
    """
    loaded = load_model(run)
    texts = [re.sub(r"\s+", " ", text[:4_000]) for text in Dataset.open(data).sample("valid", CHARACTERS)]
    kinds = {f"{size} tokens side by side": adjacent(size) for size in (2, 3, 4)}
    kinds["the pieces of a word of 2 to 4"] = words(2, 4)
    print(f"{'hidden':32} places   together  on its own   difference (paired 95 %)")
    for name, stretches in kinds.items():
        asked = list(places(loaded, texts, stretches, tokens, seed))[:count]
        together, alone = recovered(loaded, asked)
        difference = mean_figure(together.astype(np.float64) - alone, np.arange(len(asked)))
        line = f"{name:32} {len(asked):6} {together.mean():10.1%} {alone.mean():11.1%}   {percent(difference)}"
        print(line, flush=True)
    print(f"\n{'behind [MASK:word]':32} places  recovered  right length  always one piece")
    for name, (least, most) in {"words of 1 to 4 pieces": PIECES, "words of 2 to 4 pieces": (2, PIECES[1])}.items():
        asked = list(places(loaded, texts, words(least, most), tokens, seed + 1))
        asked = [place for place in asked if place.text[slice(*place.spans[0])].isalnum()][:count]
        filled = fill_blanks(loaded, [place.blanked(word=True) for place in asked], top=1)
        right = np.array([each.completed == place.text for each, place in zip(filled, asked, strict=True)])
        lengths = np.array([len(place.spans) for place in asked])
        guessed = np.array([each.blanks[0][0].pieces for each in filled])
        shares = f"{right.mean():10.1%} {(guessed == lengths).mean():13.1%} {(lengths == 1).mean():17.1%}"
        print(f"{name:32} {len(asked):6} {shares}", flush=True)


if __name__ == "__main__":
    tyro.cli(main)
