"""The smallest change of a text that makes a classifier say something else of it.

In: what may stand in the place of each word, and how much each matters. Out: `Flip`, or none. Words that matter most
are tried, and no signs: first each alone, and of the changes that flip the answer the likeliest is taken; then one more
at a time, the change that does most staying. What the flip does not need is taken back; the answer is that of the
changed text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unmask.inference.label_words import AskedLabel, LabelledSides, SideWord, is_word
from unmask.records import Reals
from unmask.results import Flip, WordChange

Candidates = Mapping[
    SideWord, Sequence[str]
]  # what may stand in the place of each word, likeliest first; "" is nothing
Changes = dict[SideWord, str]

TRIED = 12  # words that matter most, among which the changes are looked for


def find_flip(
    asked: AskedLabel, sides: LabelledSides, candidates: Candidates, relevance: Reals, most: int
) -> Flip | None:
    """A change of at most so many words after which the label is said no more or, where it was not said, is said."""
    said = bool(asked.of_texts([sides.sides]).said[0])
    way = 1.0 if said else -1.0  # which way log-odds are to fall
    every = list(candidates)
    order = [every[number] for number in np.argsort(-way * relevance, kind="stable").tolist()]
    words = [word for word in order if is_word(sides.spelling(word))][:TRIED]
    changes: Changes = {}
    for _ in range(most):
        steps = [(word, by) for word in words if word not in changes for by in candidates[word]]
        variants = [sides.rewritten({**changes, word: by}) for word, by in steps]
        kept = [number for number, variant in enumerate(variants) if all(text.strip() for text in variant)]
        if not kept:
            return None
        answers = asked.of_texts([variants[number] for number in kept])
        flipped = np.flatnonzero(answers.said != said).tolist()
        if flipped:  # of those that do, the word most likely to stand there
            ranks = [candidates[steps[kept[each]][0]].index(steps[kept[each]][1]) for each in flipped]
            best = flipped[int(np.argmin(ranks))]
        else:
            best = int(np.argmin(way * answers.log_odds))
        word, by = steps[kept[best]]
        changes = {**changes, word: by}
        if flipped:
            return _verified_flip(asked, sides, _needed(asked, sides, changes, said))
    return None


def _needed(asked: AskedLabel, sides: LabelledSides, changes: Changes, said: bool) -> Changes:
    """The changes without those that the flip can do without."""
    for word in list(changes):
        fewer = {each: by for each, by in changes.items() if each != word}
        if fewer and bool(asked.of_texts([sides.rewritten(fewer)]).said[0]) != said:
            changes = fewer
    return changes


def _verified_flip(asked: AskedLabel, sides: LabelledSides, changes: Changes) -> Flip:
    """What is said of the changed text, as `predict` says it."""
    texts = sides.rewritten(changes)
    (predicted,) = asked.classifier.predict([texts[0]], list(texts[1:]) or None)
    return Flip(
        changes=tuple(
            WordChange(
                word=sides.spelling(each), by=by, start=each.word.first, end=each.word.last, second=each.side == 1
            )
            for each, by in sorted(changes.items(), key=lambda item: (item[0].side, item[0].word.first))
        ),
        text=texts[0],
        pair=texts[1] if len(texts) > 1 else None,
        labels=predicted.labels,
        probability=predicted.probabilities[asked.classifier.card.labels[asked.label]],
    )
