"""How masked tokens are revealed, step by step: in random order, the surest first, or all that are sure enough.

In: a `Draft`, a row with masks where something is to be written. Out: questions to a masked language model, whoever
answers them; the tokens are drawn from the answers and written into the draft.

    step 0    The river · · · ·             every token that is to be written is masked
    step 1    The river · · slowly ·        some are revealed, the others wait
    step 2    The river runs · slowly .     what is shown stays as it is, unless it may be masked again
    step 3    The river runs on slowly .    after the last step none is masked

At time t a token is masked with probability t. From t to s < t a masked one is revealed with probability (t−s)/t (MDLM,
Sahoo et al. 2024). With masking again (ReMDM, Wang et al. 2025) a written token is masked with probability
σ = min(0.008, s/(1−t)) and a masked one revealed with (t−s+σ(1−t))/t, so that as many are masked at s as without it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from unmask.inference.ask import Question
from unmask.records import Flags, Ids, Integers, Reals

Order = Literal["random", "confidence", "threshold"]
Steps = Generator[Question, Reals, None]  # asks for P×V log-probabilities, and writes what it draws from them

SIGMA = 0.008  # the most that a written token is masked again with, at each step (ReMDM, capped)


@dataclass(frozen=True)
class TokenChoice:
    """How one token is drawn from a distribution over the vocabulary."""

    temperature: float = 1.0  # 0 takes the likeliest
    top_p: float = 1.0  # of the likeliest tokens, as many as have this much of the probability


@dataclass(frozen=True)
class RevealPlan:
    """In which order tokens are revealed, and in how many steps."""

    order: Order = "random"
    steps: int | None = None  # over all blocks; as many as there are tokens where none are given
    threshold: float = 0.9
    remask: bool = False
    choice: TokenChoice = TokenChoice()


class Event(NamedTuple):
    """A token that was revealed, or masked again."""

    step: int  # counted from 1
    position: int  # in the row
    token: int | None  # None: it was masked again
    confidence: float | None  # what the model gave it, of all that may stand there


@dataclass
class Draft:
    """A row that is being written, and how it came about."""

    ids: Ids  # L, the mask where something is to be written
    mask: int
    blocks: list[Integers]  # the positions to write, one block after the other
    allowed: Callable[[Integers], Flags]  # positions P to P×V: what may be written there
    rng: np.random.Generator
    events: list[Event] = field(default_factory=list)
    step: int = 0
    passes: int = 0  # how often the model was asked

    def __post_init__(self) -> None:
        self.hidden = np.zeros(len(self.ids), dtype=np.bool_)
        self.hidden[np.concatenate([np.zeros(0, np.int64), *self.blocks])] = True

    def ask(self, positions: Integers) -> Question:
        """What stands at these positions?"""
        self.passes += 1
        return Question(self.ids.copy(), positions)

    def draw(self, positions: Integers, answer: Reals, choice: TokenChoice) -> tuple[Integers, Reals]:
        """A token for each position, P, and its confidence, P."""
        return draw_tokens(answer, self.allowed(positions), choice, self.rng)

    def write(self, positions: Integers, tokens: Integers, confidences: Reals) -> None:
        """Reveal tokens."""
        self.ids[positions], self.hidden[positions] = tokens, False
        for revealed in zip(positions.tolist(), tokens.tolist(), confidences.tolist(), strict=True):
            self.events.append(Event(self.step, *revealed))

    def mask_again(self, positions: Integers) -> None:
        """Take back what was written."""
        self.ids[positions], self.hidden[positions] = self.mask, True
        self.events += [Event(self.step, position, None, None) for position in positions.tolist()]


def draw_tokens(
    log_probabilities: Reals, allowed: Flags, choice: TokenChoice, rng: np.random.Generator
) -> tuple[Integers, Reals]:
    """A token for each row of P×V, and its probability among those allowed, before temperature and top-p.

    The largest of log-probability plus Gumbel noise is a draw from the distribution. The noise is of 64 bits: in 32
    its tails are cut and rare tokens are never drawn, which lowers perplexity unnoticed (Zheng et al. 2024).
    """
    scores = np.where(allowed, log_probabilities, -np.inf).astype(np.float64)
    scores -= np.logaddexp.reduce(scores, axis=1, keepdims=True)
    if choice.temperature == 0:
        tokens = scores.argmax(axis=1)
    else:
        kept = _nucleus(scores / choice.temperature, choice.top_p)
        uniform = rng.random(scores.shape)
        with np.errstate(divide="ignore"):  # a 0 is never the largest
            tokens = (kept - np.log(-np.log(uniform))).argmax(axis=1)
    return tokens, np.exp(np.take_along_axis(scores, tokens[:, None], axis=1)[:, 0])


def _nucleus(scores: Reals, top_p: float) -> Reals:
    """Scores, without those that the likeliest tokens of so much probability do not need (Holtzman et al. 2020)."""
    if top_p >= 1:
        return scores
    order = np.argsort(-scores, axis=1, kind="stable")
    in_order = np.take_along_axis(scores, order, axis=1)
    in_order -= np.logaddexp.reduce(in_order, axis=1, keepdims=True)
    mass = np.exp(in_order)
    in_order[mass.cumsum(axis=1) - mass >= top_p] = -np.inf  # the likeliest always stays
    kept = np.empty_like(scores)
    np.put_along_axis(kept, order, in_order, axis=1)
    return kept


def write_draft(draft: Draft, plan: RevealPlan) -> Steps:
    """Reveal every masked token, block after block."""
    sizes = [len(block) for block in draft.blocks]
    for block, steps in zip(draft.blocks, share_steps(plan.steps or sum(sizes), sizes), strict=True):
        yield from WAYS[plan.order](draft, block, steps, plan)


def share_steps(steps: int, sizes: list[int]) -> list[int]:
    """Steps for blocks, by their sizes, at least one each and exactly so many where there are as many as blocks.

    >>> share_steps(10, [4, 4, 3]), share_steps(3, [5, 5])
    ([4, 3, 3], [2, 1])
    """
    weights = np.array(sizes, dtype=np.float64) / max(1, sum(sizes))
    spare = max(0, steps - len(sizes))
    shares = np.floor(weights * spare).astype(int)
    shares[np.argsort(shares - weights * spare, kind="stable")[: spare - int(shares.sum())]] += 1
    return [int(share) + 1 for share in shares]


def _in_random_order(draft: Draft, block: Integers, steps: int, plan: RevealPlan) -> Steps:
    """Each masked token by itself, with the probability that the time asks for."""
    for number in range(steps):
        draft.step += 1
        t, s = (steps - number) / steps, (steps - number - 1) / steps
        sigma = remask_probability(t, s) if plan.remask else 0.0
        hidden, fate = draft.hidden[block], draft.rng.random(len(block))
        revealed = block[hidden & (fate < reveal_probability(t, s, sigma))]
        again = block[~hidden & (fate < sigma)]
        if len(revealed):  # a pass is for those alone; where none is revealed there is nothing to ask
            answer = yield draft.ask(revealed)
            draft.write(revealed, *draft.draw(revealed, answer, plan.choice))
        draft.mask_again(again)


def reveal_probability(t: float, s: float, sigma: float = 0.0) -> float:
    """Of a masked token from time t to s.

    >>> reveal_probability(1.0, 0.75), reveal_probability(0.5, 0.0)
    (0.25, 1.0)
    """
    return (t - s + sigma * (1 - t)) / t


def remask_probability(t: float, s: float) -> float:
    """Of a written token from time t to s: as much as leaves a share s masked, and at most SIGMA.

    >>> remask_probability(0.5, 0.25), remask_probability(0.5, 0.0)
    (0.008, 0.0)
    """
    return min(SIGMA, s / (1 - t)) if t < 1 else SIGMA


def _surest_first(draft: Draft, block: Integers, steps: int, plan: RevealPlan) -> Steps:
    """As many of the surest in each step as the plan says."""
    for count in reveal_counts(len(block), steps):
        draft.step += 1
        hidden = block[draft.hidden[block]]
        answer = yield draft.ask(hidden)
        tokens, confidences = draft.draw(hidden, answer, plan.choice)
        surest = np.argsort(-confidences, kind="stable")[:count]
        draft.write(hidden[surest], tokens[surest], confidences[surest])


def reveal_counts(tokens: int, steps: int) -> list[int]:
    """How many tokens each step reveals: equally many, the first steps one more; never none.

    >>> reveal_counts(7, 3), reveal_counts(2, 5)
    ([3, 2, 2], [1, 1])
    """
    steps = min(steps, tokens)
    return [tokens // steps + (number < tokens % steps) for number in range(steps)]


def _all_sure_enough(draft: Draft, block: Integers, _steps: int, plan: RevealPlan) -> Steps:
    """All that are sure enough, and always the surest (Fast-dLLM, Wu et al. 2025): as many steps as it takes."""
    while (hidden := block[draft.hidden[block]]).size:
        draft.step += 1
        answer = yield draft.ask(hidden)
        tokens, confidences = draft.draw(hidden, answer, plan.choice)
        sure = (confidences >= plan.threshold) | (np.arange(len(hidden)) == confidences.argmax())
        draft.write(hidden[sure], tokens[sure], confidences[sure])


WAYS: dict[Order, Callable[[Draft, Integers, int, RevealPlan], Steps]] = {
    "random": _in_random_order,
    "confidence": _surest_first,
    "threshold": _all_sure_enough,
}
