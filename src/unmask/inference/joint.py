"""Two blanks that agree: the joint distribution whose conditionals are nearest to what the model says of each.

In: a row with two blanks of a token each, and the likeliest tokens of each on its own. Out: the pairs, the likeliest
first. A masked model gives q(a | b) and q(b | a), which come from no single joint distribution (Young & You 2022); the
nearest one, by Kullback–Leibler, is found as Arnold & Gokhale (1998) do; where they do come from one, it is that
one. Multiplying what is said of each blank alone would answer "New York York".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.inference.blank_row import BlankRow, State
from unmask.inference.inquiry import Inquiry, Search
from unmask.inference.propose import Proposal, Proposer, TokenReading
from unmask.records import Reals

ROUNDS = 1_000
TOLERANCE = 1e-9  # of all changes of a round together


@dataclass(frozen=True)
class JointAnswer:
    """Answers for all blanks of a row, and how likely they are together."""

    state: State
    log_probability: float  # one after the other, the mean over orders of revealing them
    spread: float  # between the likeliest order and the least likely
    probability: float | None = None  # in the table of two blanks


@dataclass(frozen=True)
class Agreed:
    """What the blanks of a row agree on, the likeliest first, and what each says on its own."""

    method: str  # table or beam
    judged: tuple[JointAnswer, ...]
    independent: JointAnswer
    orders: int
    outside: tuple[float, ...] = ()  # of each blank, the probability of what the table leaves out


def nearest_joint(first: Reals, second: Reals) -> Reals:
    """The table whose conditionals are nearest to q(a | b), whose columns add up to 1, and q(b | a), whose rows do.

    >>> table = np.array([[0.4, 0.1], [0.2, 0.3]])
    >>> nearest_joint(table / table.sum(0), table / table.sum(1, keepdims=True)).round(6).tolist()
    [[0.4, 0.1], [0.2, 0.3]]
    """
    both = first + second
    table: Reals = np.full(both.shape, 1 / both.size)
    for _ in range(ROUNDS):
        rows, columns = table.sum(1, keepdims=True), table.sum(0, keepdims=True)
        better = both * (rows * columns) / (rows + columns)  # both / (1/rows + 1/columns), also where one is nothing
        better /= better.sum()
        change = np.abs(better - table).sum()
        table = better
        if change < TOLERANCE:
            break
    return table


def fill_pair(
    proposer: Proposer, row: BlankRow, alone: Sequence[Sequence[Proposal]], size: int, top: int
) -> Search[Agreed]:
    """The likeliest pairs of so many candidates of each blank."""
    firsts, seconds = (list(proposals[:size]) for proposals in alone)
    given_second, given_first = yield from _conditionals(proposer, row, firsts, seconds)
    table = nearest_joint(_normalised(given_second, 0), _normalised(given_first, 1))
    chances = [np.array([proposal.log_probability for proposal in each]) for each in (firsts, seconds)]
    chains = np.stack([chances[0][:, None] + given_first, chances[1][None, :] + given_second])

    def judged(a: int, b: int) -> JointAnswer:
        logs = chains[:, a, b]
        state = (firsts[a].pieces, seconds[b].pieces)
        return JointAnswer(state, float(logs.mean()), float(np.ptp(logs)), float(table[a, b]))

    best = np.argsort(-table, axis=None, kind="stable")[:top].tolist()
    return Agreed(
        method="table",
        judged=tuple(judged(*divmod(place, len(seconds))) for place in best),
        independent=judged(0, 0),
        orders=2,
        outside=tuple(float(max(0.0, 1 - np.exp(each).sum())) for each in chances),
    )


def _conditionals(
    proposer: Proposer, row: BlankRow, firsts: Sequence[Proposal], seconds: Sequence[Proposal]
) -> Search[tuple[Reals, Reals]]:
    """The logarithms of q(a | b) and of q(b | a), A×B each, over the whole vocabulary."""
    mask = (proposer.mask,)
    first_tokens, second_tokens = ([proposal.pieces[0] for proposal in each] for each in (firsts, seconds))
    answers = yield [
        *(
            Inquiry(row.question((mask, proposal.pieces), (0, 0)), TokenReading(tuple(first_tokens)))
            for proposal in seconds
        ),
        *(
            Inquiry(row.question((proposal.pieces, mask), (1, 0)), TokenReading(tuple(second_tokens)))
            for proposal in firsts
        ),
    ]
    given_second, given_first = np.array(answers[: len(seconds)]).T, np.array(answers[len(seconds) :])
    return given_second, given_first


def _normalised(logs: Reals, axis: int) -> Reals:
    weights = np.exp(logs - logs.max(axis=axis, keepdims=True))
    return np.asarray(weights / weights.sum(axis=axis, keepdims=True), np.float64)
