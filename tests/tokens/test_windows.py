from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.errors import BadInput
from unmask.tokens.windows import read_windows, windows_over, windows_to_the_right

TOKENS, ROOM = st.integers(0, 600), st.integers(1, 100)


@given(TOKENS, ROOM)
def test_every_token_is_judged_once_inside_a_window_that_fits(tokens: int, room: int) -> None:
    judged = [token for window in windows_over(tokens, room) for token in range(window.first, window.last)]
    assert judged == list(range(tokens))
    for window in windows_over(tokens, room):
        assert 0 <= window.begin <= window.first <= window.last <= window.end <= tokens
        assert window.end - window.begin <= room


@settings(deadline=None)
@given(TOKENS, ROOM)
def test_a_token_is_judged_where_its_poorer_side_is_richest(tokens: int, room: int) -> None:
    windows = windows_over(tokens, room)

    def poorer(token: int, begin: int, end: int) -> int:
        """Tokens on the poorer side, where an end of the text itself takes nothing away."""
        return min(token - begin if begin else tokens, end - 1 - token if end < tokens else tokens)

    for window in windows:
        for token in {window.first, (window.first + window.last) // 2, window.last - 1} & set(
            range(window.first, window.last)
        ):
            others = [poorer(token, each.begin, each.end) for each in windows if each.begin <= token < each.end]
            assert poorer(token, window.begin, window.end) >= max(others) - 1  # a tie may go either way


@given(st.integers(2, 3000), st.integers(4, 200))
def test_no_token_has_less_than_about_a_quarter_of_a_row_beside_it(tokens: int, room: int) -> None:
    for window in windows_over(tokens, room):
        assert window.first == 0 or window.first - window.begin >= room // 4
        assert window.last == tokens or window.end - window.last >= room // 4


def test_what_is_longer_is_refused_or_cut_where_that_was_chosen() -> None:
    assert read_windows(10, 20, "error").windows == windows_over(10, 20)
    with pytest.raises(BadInput, match="30 tokens, but this model takes 20"):
        read_windows(30, 20, "error")
    reading = read_windows(30, 20, "cut")
    assert (reading.tokens, reading.tokens_read, reading.cut, len(reading.windows)) == (30, 20, 10, 1)
    assert read_windows(30, 20).tokens_read == 30
    assert len(read_windows(1_000_000, None).windows) == 1


@given(TOKENS, ROOM)
def test_from_left_to_right_every_token_is_judged_once_with_half_a_row_before_it(tokens: int, room: int) -> None:
    windows = windows_to_the_right(tokens, room)
    assert [token for window in windows for token in range(window.first, window.last)] == list(range(tokens))
    for window in windows:
        assert 0 <= window.begin <= window.first <= window.last == window.end <= tokens  # nothing to the right is seen
        assert window.end - window.begin <= room
        assert window.begin == 0 or window.first - window.begin >= room // 2
    assert read_windows(tokens, room, over=windows_to_the_right).tokens_read == tokens
