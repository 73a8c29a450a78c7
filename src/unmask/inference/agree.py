"""How the blanks of a text come to agree, with bounded work.

In: rows of blanks and what each blank says on its own. Out: their answers. Two blanks of a token each: a table
(`unmask.inference.joint`); more, or words of several: beams (`unmask.inference.beam`). A text may have any number of
blanks: they are filled in groups, and the more there are, the less each group tries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from unmask.inference.beam import fill_many
from unmask.inference.blank_row import MOST_BLANKS, BlankRow, State
from unmask.inference.blanks import BlankText
from unmask.inference.inquiry import Search, side_by_side
from unmask.inference.joint import Agreed, fill_pair
from unmask.inference.propose import Proposal, Proposer

WORK = 1 << 21  # tokens that the model is shown for the blanks of one text to agree, about
WIDEST = 8  # hypotheses of a beam
LARGEST = 100  # candidates of each blank in the table of two
FEWEST = 32  # rows for a blank, below which blanks are left on their own
WORD_WORK = 8  # blanks that a blank for a whole word counts for


class Effort(NamedTuple):
    """How hard blanks try to agree."""

    width: int  # of a beam
    rounds: int  # of refining what it found
    size: int  # of a table


def effort_for(text: BlankText, rows: Sequence[BlankRow]) -> Effort | None:
    """As much as keeps the work of a text bounded; None is too little to be worth it."""
    blanks = sum(WORD_WORK if blank.word else 1 for blank in text.blanks)
    longest = max(sum(map(len, row.parts)) + len(row.blanks) for row in rows)
    each = WORK // (blanks * longest)
    if each < FEWEST:
        return None
    return Effort(
        width=min(WIDEST, each // 12),
        rounds=2 * MOST_BLANKS if each >= LARGEST else 4,
        size=min(LARGEST, each),
    )


def agree(
    proposer: Proposer,
    row: BlankRow,
    alone: Sequence[Sequence[Proposal]],
    effort: Effort,
    top: int,
    *,
    asked_again: bool,
) -> Search[tuple[State, Agreed | None]]:
    """What the blanks of a row are filled with, and what they agree on where there are several.

    They are asked again what each says on its own where blanks around them were filled since.
    """
    if asked_again:
        count = max(map(len, alone))
        alone = yield from side_by_side(
            [proposer.propose(row, row.hidden, blank, count) for blank in range(len(row.blanks))]
        )
    if len(row.blanks) == 1:
        return (alone[0][0].pieces,), None
    if len(row.blanks) == 2 and all(len(each.pieces) == 1 for proposals in alone for each in proposals):
        agreed = yield from fill_pair(proposer, row, alone, effort.size, top)
    else:
        agreed = yield from fill_many(proposer, row, alone, effort.width, effort.rounds, top)
    return agreed.judged[0].state, agreed
