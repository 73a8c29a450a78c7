"""The laws of sampling, against a model small enough to be written out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from unmask.inference import samplers
from unmask.inference.ask import Question
from unmask.inference.samplers import (
    Draft,
    RevealPlan,
    TokenChoice,
    draw_tokens,
    remask_probability,
    reveal_counts,
    reveal_probability,
    share_steps,
    write_draft,
)

V, MASK = 2, 2  # two tokens, and the mask
JOINT = np.random.default_rng(5).dirichlet(np.full(V**3, 0.4)).reshape(V, V, V)  # of three tokens, far from independent
ORDERS = ("random", "confidence", "threshold")
Row = tuple[int, ...]
Predict = Callable[[Question], np.ndarray]


def conditionals(row: Row) -> np.ndarray:
    """L V: what the true distribution says of each position, given those that are shown."""
    shown = JOINT[tuple(slice(None) if token == MASK else slice(token, token + 1) for token in row)]
    marginals = []
    for position in range(len(row)):
        sums = shown.sum(axis=tuple(axis for axis in range(len(row)) if axis != position))
        marginals.append(sums / sums.sum() if len(sums) == V else np.full(V, np.nan))
    return np.array(marginals)


def true_model(question: Question) -> np.ndarray:
    return np.log(conditionals(tuple(question.ids.tolist()))[question.asked])


def any_model(question: Question) -> np.ndarray:
    """Log-probabilities over nine tokens that depend on the whole row."""
    seed = hash(tuple(question.ids.tolist())) & 0xFFFFFFFF
    logits = np.random.default_rng(seed).normal(size=(len(question.ids), 9)) * 3
    return (logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))[question.asked]


def drive(draft: Draft, plan: RevealPlan, predict: Predict, seen: Callable[[Draft], None] | None = None) -> Draft:
    """Answer the questions of a draft until it is written."""
    steps = write_draft(draft, plan)
    question = next(steps, None)
    while question is not None:
        try:
            question = steps.send(predict(question))
        except StopIteration:
            question = None
        if seen:
            seen(draft)
    return draft


def draft_of(ids: list[int], mask: int, size: int, seed: int, blocks: int = 1) -> Draft:
    row = np.array(ids, np.int32)
    positions = np.array_split(np.flatnonzero(row == mask), blocks)
    return Draft(row, mask, positions, lambda asked: np.ones((len(asked), size), np.bool_), np.random.default_rng(seed))


def written_out(steps: int, sigma: Callable[[float, float], float]) -> dict[Row, float]:
    """The probability of each text by the definition, over every way from all masked to none."""
    states: dict[Row, float] = {(MASK,) * 3: 1.0}
    for number in range(steps):
        t, s = (steps - number) / steps, (steps - number - 1) / steps
        following: Counter[Row] = Counter()
        for row, weight in states.items():
            guesses = conditionals(row)
            options = []
            for position, token in enumerate(row):
                if token == MASK:
                    p = (t - s + sigma(t, s) * (1 - t)) / t
                    options.append([(MASK, 1 - p), *((v, p * guesses[position, v]) for v in range(V))])
                else:
                    options.append([(token, 1 - sigma(t, s)), (MASK, sigma(t, s))])
            for choice in product(*options):
                following[tuple(token for token, _ in choice)] += weight * float(np.prod([p for _, p in choice]))
        states = {row: weight for row, weight in following.items() if weight > 0}
    return states


@pytest.mark.parametrize("most", [0.0, 0.5])
def test_texts_are_drawn_as_often_as_the_definition_says(most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samplers, "SIGMA", most)  # 0.008 would take millions of draws to be seen
    expected = written_out(4, lambda t, s: min(most, s / (1 - t)) if t < 1 else 0.0)
    assert MASK not in {token for row in expected for token in row}
    plan = RevealPlan(steps=4, remask=most > 0)
    count = 4000
    counts = Counter(
        tuple(drive(draft_of([MASK] * 3, MASK, V, seed), plan, true_model).ids.tolist()) for seed in range(count)
    )
    rows = sorted(expected)
    observed, wanted = [counts[row] for row in rows], [expected[row] * count for row in rows]
    assert sum(observed) == count
    assert stats.chisquare(observed, wanted).pvalue > 0.01
    # and it is no other law: revealing all at once, which ignores what belongs together, is far away
    at_once = [written_out(1, lambda t, s: 0.0)[row] * count for row in rows]
    assert stats.chisquare(observed, at_once).pvalue < 1e-6


def test_one_token_a_step_draws_from_the_joint_distribution() -> None:
    plan, count = RevealPlan("confidence", steps=3), 3000  # any order is exact where the conditionals are
    # the surest of drawn tokens is a choice by what was drawn, which is not: so the order is given by blocks
    counts = Counter(
        tuple(drive(draft_of([MASK] * 3, MASK, V, seed, blocks=3), plan, true_model).ids.tolist())
        for seed in range(count)
    )
    rows = sorted(product(range(V), repeat=3))
    assert stats.chisquare([counts[row] for row in rows], [JOINT[row] * count for row in rows]).pvalue > 0.01


@pytest.mark.parametrize("remask", [False, True])
def test_at_time_s_a_share_s_is_masked(remask: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samplers, "SIGMA", 0.3)
    shares: dict[int, list[float]] = {}
    for seed in range(40):
        draft = draft_of([9] * 200, 9, 9, seed)
        drive(draft, RevealPlan(steps=5, remask=remask), any_model)
        hidden = np.ones(200, np.bool_)
        for step in range(1, 6):
            for event in draft.events:
                if event.step == step:
                    hidden[event.position] = event.token is None
            shares.setdefault(step, []).append(hidden.mean())
    means = [float(np.mean(shares[step])) for step in range(1, 6)]
    assert means == pytest.approx([0.8, 0.6, 0.4, 0.2, 0.0], abs=0.02)  # 8,000 tokens: 0.02 is 3.6 deviations


def test_the_probabilities_of_revealing_and_masking_again() -> None:
    assert reveal_probability(0.8, 0.6) == pytest.approx(0.25)
    assert reveal_probability(0.8, 0.6, 0.008) == pytest.approx((0.2 + 0.008 * 0.2) / 0.8)
    assert remask_probability(0.8, 0.6) == 0.008
    assert remask_probability(0.01, 0.0) == 0.0  # at the last step nothing is masked again
    assert remask_probability(0.01, 0.001) == pytest.approx(0.001 / 0.99)
    assert reveal_probability(0.01, 0.001, remask_probability(0.01, 0.001)) == pytest.approx(1)  # and no more


@settings(max_examples=60, deadline=None)
@given(
    row=st.lists(st.integers(0, 9), min_size=1, max_size=30).filter(lambda row: 9 in row),
    order=st.sampled_from(ORDERS),
    steps=st.integers(3, 40),
    blocks=st.integers(1, 3),
    remask=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_what_is_given_stays_and_all_that_was_masked_is_revealed(
    row: list[int], order: samplers.Order, steps: int, blocks: int, remask: bool, seed: int
) -> None:
    given_positions = np.flatnonzero(np.array(row) != 9)
    before = np.array(row)[given_positions]
    blocks = min(blocks, row.count(9))

    def unchanged(draft: Draft) -> None:
        np.testing.assert_array_equal(draft.ids[given_positions], before)
        np.testing.assert_array_equal(draft.ids == 9, draft.hidden)

    remask = remask and order == "random"
    draft = drive(draft_of(row, 9, 9, seed, blocks), RevealPlan(order, steps, remask=remask), any_model, unchanged)
    assert not draft.hidden.any()
    assert 9 not in draft.ids
    assert {event.position for event in draft.events} == {n for n, token in enumerate(row) if token == 9}
    if not remask:
        assert len(draft.events) == row.count(9)
        revealed = [event.position for event in draft.events]
        order_of_blocks = [
            next(n for n, block in enumerate(draft.blocks) if place in block.tolist()) for place in revealed
        ]
        assert order_of_blocks == sorted(order_of_blocks)  # from left to right


def test_the_surest_are_revealed_as_many_in_a_step_as_planned() -> None:
    draft = drive(draft_of([9] * 11, 9, 9, 0), RevealPlan("confidence", 4), any_model)
    assert [sum(event.step == step for event in draft.events) for step in (1, 2, 3, 4)] == [3, 3, 3, 2]
    assert draft.passes == 4
    assert reveal_counts(11, 4) == [3, 3, 3, 2]
    first = any_model(Question(np.full(11, 9, np.int32), np.arange(11)))
    greedy = RevealPlan("confidence", 4, choice=TokenChoice(temperature=0))
    surest = {event.position for event in drive(draft_of([9] * 11, 9, 9, 0), greedy, any_model).events[:3]}
    assert surest == set(np.argsort(-first.max(axis=1))[:3].tolist())


@pytest.mark.parametrize("threshold", [1e-9, 0.5, 0.9, 1.0])
def test_a_threshold_reveals_what_reaches_it_and_always_the_surest(threshold: float) -> None:
    draft = drive(draft_of([9] * 12, 9, 9, 1), RevealPlan("threshold", threshold=threshold), any_model)
    by_step = [[event for event in draft.events if event.step == step] for step in range(1, draft.step + 1)]
    assert all(by_step)
    for events in by_step:
        if len(events) > 1:
            below = [event for event in events if (event.confidence or 0) < threshold]
            assert not below
    counts = [len(events) for events in by_step]
    if threshold in (1e-9, 1.0):
        assert counts == ([12] if threshold == 1e-9 else [1] * 12)


@settings(max_examples=60, deadline=None)
@given(steps=st.integers(1, 60), sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6))
def test_blocks_share_the_steps(steps: int, sizes: list[int]) -> None:
    shares = share_steps(steps, sizes)
    assert min(shares) >= 1
    assert sum(shares) == max(steps, len(sizes))


def test_a_token_is_drawn_as_often_as_its_probability_and_never_if_it_is_barred() -> None:
    probabilities = np.array([0.5, 0.3, 0.15, 0.05])
    allowed = np.array([True, True, False, True])
    rows = 20_000
    tokens, confidences = draw_tokens(
        np.log(np.tile(probabilities, (rows, 1))),
        np.tile(allowed, (rows, 1)),
        TokenChoice(temperature=0.5),
        np.random.default_rng(0),
    )
    sharpened = np.where(allowed, probabilities, 0) ** 2
    counts = np.bincount(tokens, minlength=4)
    assert counts[2] == 0
    assert stats.chisquare(counts[allowed], rows * (sharpened / sharpened.sum())[allowed]).pvalue > 0.01
    np.testing.assert_allclose(confidences, (probabilities / 0.85)[tokens])  # the model's, whatever the temperature


def test_top_p_keeps_the_fewest_tokens_that_have_so_much_and_temperature_0_the_likeliest() -> None:
    scores = np.log(np.tile([0.1, 0.5, 0.3, 0.1], (2000, 1)))
    everything = np.ones_like(scores, np.bool_)
    rng = np.random.default_rng(0)
    assert {*draw_tokens(scores, everything, TokenChoice(top_p=0.79), rng)[0].tolist()} == {1, 2}
    assert {*draw_tokens(scores, everything, TokenChoice(top_p=0.01), rng)[0].tolist()} == {1}
    assert {*draw_tokens(scores, everything, TokenChoice(temperature=0), rng)[0].tolist()} == {1}
    assert {*draw_tokens(scores, everything, TokenChoice(), rng)[0].tolist()} == {0, 1, 2, 3}


class NearOne:
    """Numbers so near to 1 that 32 bits have one name for all of them."""

    def random(self, shape: tuple[int, int]) -> np.ndarray:
        return np.broadcast_to([1 - 2.0**-50, 1 - 2.0**-52], shape)


def test_the_noise_is_of_64_bits_so_that_rare_tokens_can_win() -> None:
    noise: np.random.Generator = NearOne()  # type: ignore[assignment]
    tokens, _ = draw_tokens(np.array([[1.0, 0.0]]), np.ones((1, 2), np.bool_), TokenChoice(), noise)
    assert tokens.tolist() == [1]  # 1 + 34.7 against 0 + 36.0
