"""Which words of the context mattered for an answer: each is replaced by others that could stand there.

In: a text whose blanks have been filled. Out: `Explained`, a figure for each word. It is occlusion with a language
model (OLM, Harbecke & Alt 2020): the relevance of word i to the log-probability f of the answer is

    f(text) − Σ_w p(w | text without i) f(text with w in the place of i)

over the likeliest replacements w, whose probabilities are divided anew among them. A word that any other could stand
for has none, and a hole, which no training text has, is never shown to be judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from unmask.inference.beam import chain_of_order
from unmask.inference.blank_row import BlankRow, Pieces, make_row
from unmask.inference.blanks import Blank, BlankText
from unmask.inference.completion import Completed
from unmask.inference.inquiry import Search, side_by_side
from unmask.inference.propose import Proposer
from unmask.results import Explained, WordRelevance

REPLACEMENTS = 10  # tried in the place of a word
FEWEST = 3
WORDS = 48  # nearest to the blanks, of which it is told
WORK = 1 << 18  # tokens that the model is shown for one explanation, about


@dataclass(frozen=True)
class ContextWord:
    """A word of a text, as tokens and as characters."""

    begin: int  # its first token
    end: int  # the one after its last
    first: int  # its first character in the encoded text
    last: int  # the one after its last


class _Judgement(NamedTuple):
    """An answer as it is, and as it would be with other words in the place of one."""

    whole: float  # its log-probability
    replaced: float  # the mean over the replacements
    covered: float  # the probability of the replacements


def explain_row(
    proposer: Proposer, text: BlankText, row: BlankRow, answers: Sequence[Pieces], completed: Completed
) -> Search[Explained]:
    """What the words around the blanks of a row did for their answers."""
    words = context_words(text, *row.window)
    places = np.array([blank.place for blank in row.blanks])
    near = sorted(words, key=lambda word: int(np.abs(places - word.begin).min()))[:WORDS]
    near.sort(key=lambda word: word.begin)
    pieces = sum(len(answers[number]) for number in row.numbers)
    count = max(FEWEST, min(REPLACEMENTS, WORK // (pieces * max(1, len(near)) * (row.window[1] - row.window[0]))))
    judged = yield from side_by_side([_replace(proposer, text, row, word, answers, count) for word in near])
    told = []
    for word, judgement in zip(near, judged, strict=True):
        start, end = _place_in(completed, text, word)
        relevance = judgement.whole - judgement.replaced
        told.append(WordRelevance(completed.text[start:end], start, end, relevance))
    return Explained(
        blanks=row.numbers,
        answer=tuple(completed.text[slice(*completed.places[number])] for number in row.numbers),
        log_probability=judged[0].whole if judged else float("nan"),
        words=tuple(told),
        replacements=count,
        covered=float(np.mean([judgement.covered for judgement in judged])) if judged else 0.0,
        left_out=len(words) - len(near),
    )


def context_words(text: BlankText, begin: int, end: int) -> list[ContextWord]:
    """The words of a stretch of a text; what a blank cuts in two is two, and the blanks are none."""
    assert text.word_starts is not None and text.offsets is not None
    blanks = {blank.place for blank in text.blanks}
    starts = [
        place
        for place in range(begin, end)
        if place == begin or text.word_starts[place] or place in blanks or place - 1 in blanks
    ]
    words = []
    for first, last in zip(starts, [*starts[1:], end], strict=True):
        characters = int(text.offsets[first, 0]), int(text.offsets[last - 1, 1])
        spelt = text.plain[slice(*characters)]
        if first not in blanks and spelt.strip():
            words.append(ContextWord(first, last, characters[1] - len(spelt.lstrip()), characters[1]))
    return words


def _replace(
    proposer: Proposer, text: BlankText, row: BlankRow, word: ContextWord, answers: Sequence[Pieces], count: int
) -> Search[_Judgement]:
    """The log-probability of the answers with a word, and with others in its place."""
    before, after = text.plain[: word.first], text.plain[word.last :]
    mask = proposer.lm.tokenizer.mask_token
    blank = Blank(
        place=word.begin,
        before=None if before.endswith(mask) else before[-2:],
        after=None if after.startswith(mask) else after[:1],
    )
    blanks = sorted([*(text.blanks[number] for number in row.numbers), blank], key=lambda each: each.place)
    place, numbers = blanks.index(blank), list(row.numbers)
    shown: dict[int, Pieces] = {  # blanks of other groups are filled
        each.place: answers[number] for number, each in enumerate(text.blanks) if number not in row.numbers
    }
    shown |= dict.fromkeys(range(word.begin + 1, word.end), ())  # the word is in the place of its first token
    asked = make_row(
        proposer.lm, replace(text, blanks=tuple(blanks)), range(len(blanks)), shown=shown, window=row.window
    )
    found = yield from proposer.propose(asked, asked.hidden, place, count)
    original = tuple(text.ids[word.begin : word.end].tolist())
    filled = [answers[number] for number in numbers]
    sums = yield from side_by_side(
        [
            _log_probability(proposer, asked, place, pieces, filled)
            for pieces in (original, *(proposal.pieces for proposal in found))
        ]
    )
    weights = np.exp([proposal.log_probability for proposal in found])
    return _Judgement(sums[0], float(np.dot(weights, sums[1:]) / weights.sum()), float(weights.sum()))


def _log_probability(
    proposer: Proposer, row: BlankRow, place: int, word: Pieces, answers: Sequence[Pieces]
) -> Search[float]:
    """Of the answers, one after the other from left to right, with a word in its place."""
    state = (*answers[:place], word, *answers[place:])
    order = [blank for blank in range(len(state)) if blank != place]
    chain = chain_of_order(proposer, row, state, order, shown_from_the_start=(place,))
    said = yield chain
    return sum(float(each[0]) for each in said)


def _place_in(completed: Completed, text: BlankText, word: ContextWord) -> tuple[int, int]:
    """Where a word of the encoded text stands in the completed one."""
    begin, mask = 0, (len(text.plain) - sum(map(len, text.between))) // len(text.blanks)
    for part, start in zip(text.between, completed.starts, strict=True):
        if word.first < begin + len(part):
            return start + word.first - begin, start + word.last - begin
        begin += len(part) + mask
    raise AssertionError("a word stands in the text")
