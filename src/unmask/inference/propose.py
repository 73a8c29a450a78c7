"""A blank to what may stand in it: single tokens, words of several, or words to choose among, with log-probabilities.

In: a row of blanks in some state. Out: searches for candidates, and the questions whose answers add up to the
probability of one. The pieces of a word are judged from left to right, those behind the judged one being hidden; so a
word of several pieces is not helped by seeing its own end. Where lengths compete, the share of words of that length in
the corpus is part of the score (`unmask.inference.words`): dividing by the length would favour long answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from unmask.inference.blank_row import BlankRow, Pieces, State, with_pieces
from unmask.inference.blanks import Blank
from unmask.inference.inquiry import Inquiry, Search
from unmask.inference.words import WordLengths
from unmask.models.load import LoadedModel
from unmask.records import Flags
from unmask.tokens.tokenizer.boundaries import Boundaries, goes_on

# Which tokens fit where, for each vocabulary that is in use: a question and the next one mostly ask the same.
FITTING: WeakKeyDictionary[Boundaries, dict[tuple[object, ...], Tensor]] = WeakKeyDictionary()


class Proposal(NamedTuple):
    """What may fill a blank."""

    pieces: Pieces
    log_probability: float  # of its pieces one after the other, and of its length where lengths compete


@dataclass(frozen=True)
class Proposer:
    """What is needed to say what may stand in a blank."""

    lm: LoadedModel
    spell: Callable[..., str]
    boundaries: Boundaries
    lengths: WordLengths | None  # None where no blank may have several pieces
    pieces: range  # how many a word may have

    @property
    def mask(self) -> int:
        """The token that hides a piece."""
        return self.lm.vocabulary.mask

    def propose(self, row: BlankRow, state: State, blank: int, top: int) -> Search[list[Proposal]]:
        """The likeliest candidates of a blank, the others being as the state has them; the likeliest first."""
        here = row.blanks[blank]
        if here.choices:
            found = yield from self._judge_choices(row, state, blank)
        elif here.word:
            found = yield from self._build_words(row, state, blank, top)
        else:
            found = yield from self._take_tokens(row, state, blank, top)
        readings: dict[str, Proposal] = {}  # of two that read the same, with and without a space, one
        for proposal in sorted(found, key=lambda each: -each.log_probability):
            readings.setdefault(self.spelt(here, proposal.pieces).strip(), proposal)
        return list(readings.values())[: len(readings) if here.choices else top]

    def spelt(self, blank: Blank, pieces: Pieces) -> str:
        """How pieces read in a blank: with a space before them where they start a word."""
        named = (choice.spelt for choice in blank.choices if choice.pieces == pieces)
        return next(named, None) or self.spell(*pieces)

    def log_prior(self, blank: Blank, pieces: int) -> float:
        """What the length of an answer weighs: nothing where all are of one token."""
        if self.lengths is None or not (blank.word or any(len(choice.pieces) > 1 for choice in blank.choices)):
            return 0.0
        return self.lengths.log_share(pieces)

    def chain(self, row: BlankRow, state: State, blank: int, pieces: Pieces) -> list[Inquiry]:
        """Questions whose answers, added, are the log-probability of pieces in a blank, from left to right."""
        inquiries = []
        for place, piece in enumerate(pieces):
            shown = (*pieces[:place], *(self.mask,) * (len(pieces) - place))
            question = row.question(with_pieces(state, blank, shown), (blank, place))
            inquiries.append(Inquiry(question, TokenReading((piece,))))
        return inquiries

    def fitting(self, blank: Blank, place: int, count: int) -> Tensor:
        """Which tokens can be the piece at a place of so many; V flags."""
        last = place == count - 1
        end = "" if blank.after is None else blank.after[:1]
        key = (None if blank.before is None else blank.before[-1:], end, blank.word, place == 0, last)
        fits = FITTING.setdefault(self.boundaries, {})
        if key not in fits:
            fits[key] = torch.from_numpy(self._fitting(blank, place == 0, last))
        return fits[key]

    def _fitting(self, blank: Blank, first: bool, last: bool) -> Flags:
        ordinary = ~self.lm.vocabulary.is_special
        after = blank.after if last else None
        if first:
            flags = self.boundaries.allowed(blank.before, after) & ordinary
            whole = flags & self.boundaries.wordlike if blank.word else flags
            return whole if whole.any() else flags
        flags = self.boundaries.continuing & ordinary
        return flags & self.boundaries.ending if after and goes_on(after) else flags

    def _take_tokens(self, row: BlankRow, state: State, blank: int, top: int) -> Search[list[Proposal]]:
        question = row.question(with_pieces(state, blank, (self.mask,)), (blank, 0))
        # twice as many, because a token with a space and one without may read the same
        (best,) = yield [Inquiry(question, _Best(self.fitting(row.blanks[blank], 0, 1), 2 * top))]
        return [Proposal((token,), log_probability) for token, log_probability in best]

    def _build_words(self, row: BlankRow, state: State, blank: int, top: int) -> Search[list[Proposal]]:
        """Words of every length, piece after piece, the best few of each length being gone on with."""
        here = row.blanks[blank]
        counts = [count for count in self.pieces if count == 1 or self.boundaries.continuing.any()]
        words = {count: [Proposal((self.mask,) * count, self.log_prior(here, count))] for count in counts}
        for place in range(max(counts)):
            partial = [(count, word) for count in counts if count > place for word in words[count]]
            answers = yield [
                Inquiry(
                    row.question(with_pieces(state, blank, word.pieces), (blank, place)),
                    _Best(self.fitting(here, place, count), top),
                )
                for count, word in partial
            ]
            longer: dict[int, list[Proposal]] = {count: [] for count in counts if count > place}
            for (count, word), best in zip(partial, answers, strict=True):
                longer[count] += [
                    Proposal((*word.pieces[:place], token, *word.pieces[place + 1 :]), word.log_probability + log)
                    for token, log in best
                ]
            for count, proposals in longer.items():
                words[count] = sorted(proposals, key=lambda each: -each.log_probability)[:top]
        return [word for proposals in words.values() for word in proposals]

    def _judge_choices(self, row: BlankRow, state: State, blank: int) -> Search[list[Proposal]]:
        here = row.blanks[blank]
        chains = [self.chain(row, state, blank, choice.pieces) for choice in here.choices]
        answers = iter((yield [inquiry for chain in chains for inquiry in chain]))
        return [
            Proposal(
                choice.pieces,
                self.log_prior(here, len(choice.pieces)) + sum(float(next(answers)[0]) for _ in chain),
            )
            for choice, chain in zip(here.choices, chains, strict=True)
        ]


@dataclass(frozen=True)
class _Best:
    """Keeps the likeliest tokens of those that fit."""

    fitting: Tensor
    top: int

    def __call__(self, log_probabilities: Tensor) -> list[tuple[int, float]]:
        best = _those(log_probabilities, self.fitting).topk(min(self.top, len(self.fitting)))
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [(token, value) for token, value in pairs if value > -inf]


@dataclass(frozen=True)
class TokenReading:
    """Keeps the log-probabilities of some tokens."""

    tokens: Sequence[int]

    def __call__(self, log_probabilities: Tensor) -> list[float]:
        """Read an answer."""
        said: list[float] = log_probabilities[0, list(self.tokens)].tolist()
        return said


@dataclass(frozen=True)
class SurestReading:
    """Keeps how sure the model is of the likeliest token of those that fit."""

    fitting: Tensor

    def __call__(self, log_probabilities: Tensor) -> float:
        """Read an answer."""
        return float(_those(log_probabilities, self.fitting).max())


def _those(log_probabilities: Tensor, fitting: Tensor) -> Tensor:
    """V: the log-probabilities of those that fit, −∞ for the others."""
    return torch.where(fitting.to(log_probabilities.device), log_probabilities[0], -inf)
