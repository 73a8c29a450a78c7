"""Three and more blanks that agree, or words of several pieces: a search, and a ranking that knows its own doubt.

In: a row of blanks and what each says on its own. Out: the likeliest answers for all of them together. A beam fills the
blanks one after the other, from left to right and again the surest first; the best of both are refined, the least
probable blank being filled anew until nothing changes. What was found, and what each blank says on its own, is ranked
by the mean log-probability of the chain over five orders of revealing: the conditionals of a masked model belong to no
single joint distribution, so the order matters, and the spread between orders is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, permutations
from math import factorial

import numpy as np

from unmask.inference.blank_row import BlankRow, Pieces, State, with_pieces
from unmask.inference.inquiry import Inquiry, Search, side_by_side
from unmask.inference.joint import Agreed, JointAnswer
from unmask.inference.propose import Proposal, Proposer, SurestReading

ORDERS = 5  # of revealing, over which a chain's log-probability is averaged

Scored = tuple[State, float]  # an answer on its way, and the log-probability so far


def fill_many(
    proposer: Proposer, row: BlankRow, alone: Sequence[Sequence[Proposal]], width: int, rounds: int, top: int
) -> Search[Agreed]:
    """The likeliest answers for the blanks of a row, found by beams of a width and so many rounds of refining."""
    independent: State = tuple(proposals[0].pieces for proposals in alone)
    in_order, by_surety = yield from side_by_side(
        [_beam(proposer, row, width, by_surety=False), _beam(proposer, row, width, by_surety=True)]
    )
    refined = yield from side_by_side([_refine(proposer, row, beam[0][0], rounds) for beam in (in_order, by_surety)])
    ranked = sorted([*in_order, *by_surety], key=lambda each: -each[1])
    pool = dict.fromkeys([independent, *refined, *(state for state, _ in ranked)])
    judged = yield from judge_states(proposer, row, list(islice(pool, width + 3)))
    best = sorted(judged, key=lambda each: -each.log_probability)
    return Agreed("beam", tuple(best[:top]), judged[0], len(reveal_orders(len(row.blanks))))


def reveal_orders(blanks: int) -> list[tuple[int, ...]]:
    """Up to five orders: forwards, backwards, and others that are the same each time.

    >>> reveal_orders(2)
    [(0, 1), (1, 0)]
    >>> len(set(reveal_orders(3))), len(set(reveal_orders(8)))
    (5, 5)
    """
    if factorial(blanks) <= ORDERS:
        return list(permutations(range(blanks)))
    forwards = tuple(range(blanks))
    orders = dict.fromkeys([forwards, forwards[::-1]])
    draws = np.random.default_rng(blanks)
    while len(orders) < ORDERS:
        orders.setdefault(tuple(draws.permutation(blanks).tolist()))
    return list(orders)


def judge_states(proposer: Proposer, row: BlankRow, states: Sequence[State]) -> Search[list[JointAnswer]]:
    """How likely answers are, one blank after the other, in several orders."""
    orders = reveal_orders(len(row.blanks))
    chains = [chain_of_order(proposer, row, state, order) for state in states for order in orders]
    answers = iter((yield [inquiry for chain in chains for inquiry in chain]))
    sums = np.array([sum(float(next(answers)[0]) for _ in chain) for chain in chains]).reshape(len(states), -1)
    judged = []
    for state, logs in zip(states, sums, strict=True):
        prior = sum(proposer.log_prior(blank, len(pieces)) for blank, pieces in zip(row.blanks, state, strict=True))
        judged.append(JointAnswer(state, float(logs.mean()) + prior, float(np.ptp(logs))))
    return judged


def chain_of_order(
    proposer: Proposer, row: BlankRow, state: State, order: Sequence[int], *, shown_from_the_start: Sequence[int] = ()
) -> list[Inquiry]:
    """Questions whose answers add up to the log-probability of a state when its blanks are revealed in an order."""
    shown: State = tuple(
        pieces if blank in shown_from_the_start else (proposer.mask,) * len(pieces)
        for blank, pieces in enumerate(state)
    )
    inquiries = []
    for blank in order:
        inquiries += proposer.chain(row, shown, blank, state[blank])
        shown = with_pieces(shown, blank, state[blank])
    return inquiries


def _beam(proposer: Proposer, row: BlankRow, width: int, *, by_surety: bool) -> Search[list[Scored]]:
    """The best few ways to fill all blanks, one after the other."""
    beam: list[Scored] = [(row.hidden, 0.0)]
    left = list(range(len(row.blanks)))
    while left:
        blank = left[0]
        if by_surety and len(left) > 1:
            blank = yield from _surest(proposer, row, beam[0][0], left)
        left.remove(blank)
        proposed = yield from side_by_side([proposer.propose(row, state, blank, width) for state, _ in beam])
        longer = [
            (with_pieces(state, blank, proposal.pieces), score + proposal.log_probability)
            for (state, score), proposals in zip(beam, proposed, strict=True)
            for proposal in proposals
        ]
        beam = sorted(longer, key=lambda each: -each[1])[:width]
    return beam


def _surest(proposer: Proposer, row: BlankRow, state: State, left: Sequence[int]) -> Search[int]:
    """The blank of those left of which the model is surest; one for a word is asked as if it held one token."""
    answers = yield [
        Inquiry(row.question(state, (blank, 0)), SurestReading(proposer.fitting(row.blanks[blank], 0, 1)))
        for blank in left
    ]
    return left[int(np.argmax(answers))]


def _refine(proposer: Proposer, row: BlankRow, state: State, rounds: int) -> Search[State]:
    """Fill the least probable blank anew, until nothing changes, or twice for each blank at the most."""
    for _ in range(min(rounds, 2 * len(row.blanks))):
        chances = yield from _log_probabilities(proposer, row, state)
        least = int(np.argmin(chances))
        (best, *_) = yield from proposer.propose(row, state, least, 1)
        if best.pieces == state[least] or best.log_probability <= chances[least]:
            break
        state = with_pieces(state, least, best.pieces)
    return state


def _log_probabilities(proposer: Proposer, row: BlankRow, state: State) -> Search[list[float]]:
    """The log-probability of each blank's answer, all others being shown."""
    pieces: Sequence[Pieces] = state
    chains = [proposer.chain(row, state, blank, each) for blank, each in enumerate(pieces)]
    answers = iter((yield [inquiry for chain in chains for inquiry in chain]))
    return [
        proposer.log_prior(blank, len(each)) + sum(float(next(answers)[0]) for _ in chain)
        for blank, each, chain in zip(row.blanks, pieces, chains, strict=True)
    ]
