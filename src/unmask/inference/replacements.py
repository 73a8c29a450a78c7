"""What could stand in the place of a word of a tuned model's text: the mask head of the model it started from says so.

In: the directory of a tuned model, and a text. Out: for each word the likeliest others with their probabilities. A run
keeps where its start is (`places.model` in `run.json`); where that was tuned itself, its own start is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path
from typing import NamedTuple

from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput, UnmaskError
from unmask.inference.blank_row import make_row
from unmask.inference.blanks import Blank, BlankText
from unmask.inference.explain import ContextWord
from unmask.inference.inquiry import Search, run_searches
from unmask.inference.label_words import is_word
from unmask.inference.propose import Proposal, Proposer
from unmask.inference.spelling import speller
from unmask.models.load import load_model
from unmask.models.locate import TASK, model_directory
from unmask.runs.claim import read_sealed
from unmask.tokens.tokenizer.boundaries import token_boundaries

DESCRIPTIONS = ("run.json", "few.json")  # beside the model, with the place of its start
SIGNS = 8  # times as many proposals are looked through where a sign is to be replaced: most are words
GENERATIONS = 8  # tunings of tunings that are followed


class WordReplacement(NamedTuple):
    """A word that could stand in the place of another."""

    spelt: str
    weight: float  # its probability there


@dataclass(frozen=True)
class Replacer:
    """The masked language model that a tuned one started from."""

    start: Path
    proposer: Proposer

    @classmethod
    def of(cls, directory: Path, tokenizer: PreTrainedTokenizerFast, device: str | None = None) -> Replacer:
        """Load the start of a tuned model; says why where that cannot be done."""
        start = start_of(directory)
        lm = load_model(start, device=device)
        if lm.tokenizer.get_vocab() != tokenizer.get_vocab():
            raise BadInput(f"{start}: its vocabulary is not that of the tuned model any more")
        return cls(start, Proposer(lm, speller(lm), token_boundaries(lm.tokenizer), None, range(1, 2)))

    def replacements(self, text: BlankText, words: Sequence[ContextWord], count: int) -> list[list[WordReplacement]]:
        """For each word the likeliest that could stand in its place, a sign for a sign, itself perhaps among them."""
        counts = [count if is_word(_spelling(text, word)) else SIGNS * count for word in words]
        searches = [self._search(text, word, many) for word, many in zip(words, counts, strict=True)]
        found = run_searches(self.proposer.lm, searches, title="Asking what could stand there")
        replacements = []
        for word, proposals in zip(words, found, strict=True):
            spelt = [
                WordReplacement(self.proposer.spell(*each.pieces).strip(), exp(each.log_probability))
                for each in proposals
            ]
            alike = [each for each in spelt if is_word(each.spelt) == is_word(_spelling(text, word))]
            replacements.append((alike or spelt)[:count])
        return replacements

    def _search(self, text: BlankText, word: ContextWord, count: int) -> Search[list[Proposal]]:
        blank = Blank(place=word.begin, before=None, after=None)  # a sign may stand anywhere
        if is_word(_spelling(text, word)):
            before, after = text.plain[: word.first][-2:], text.plain[word.last :][:1]
            blank = replace(blank, before=before, after=after, word=True)
        others: dict[int, tuple[int, ...]] = dict.fromkeys(range(word.begin + 1, word.end), ())
        row = make_row(self.proposer.lm, replace(text, blanks=(blank,)), (0,), shown=others)
        return self.proposer.propose(row, row.hidden, 0, count)


def _spelling(text: BlankText, word: ContextWord) -> str:
    return text.plain[word.first : word.last]


def start_of(directory: Path) -> Path:
    """The model directory that a tuned model started from, the first that is not tuned itself."""
    for _ in range(GENERATIONS):
        directory = _recorded_start(directory)
        if not (directory / TASK).is_file():
            return directory
    raise BadInput(f"{directory}: is tuned from one tuned model after another; none of them has a mask head")


def _recorded_start(directory: Path) -> Path:
    file = next((file for name in DESCRIPTIONS if (file := directory.parent / name).is_file()), None)
    if file is None or directory.name != "model":
        raise BadInput(f"{directory}: stands in no run, which would tell what it started from")
    try:
        start = Path(read_sealed(file)["places"]["model"])
    except (KeyError, TypeError) as error:
        raise BadInput(f"{file}: does not tell what it started from") from error
    if not start.exists():
        raise BadInput(f"the model it started from is no longer at {start}")
    return model_directory(start)


def find_replacer(
    directory: Path, tokenizer: PreTrainedTokenizerFast, device: str | None = None
) -> tuple[Replacer | None, str]:
    """What says which words could stand in a place; or none, and why."""
    try:
        return Replacer.of(directory, tokenizer, device), ""
    except UnmaskError as error:
        return None, str(error)
