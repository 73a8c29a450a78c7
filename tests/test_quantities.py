"""Numbers as people say them: short at every format_bytes, and never further from the number than they show."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.quantities import format_age, format_bar, format_bytes, format_count, format_duration

UNITS = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def read(text: str) -> tuple[str, float]:
    """The digits before the point, and the number."""
    digits, rest, unit = re.fullmatch(r"(\d+)(\.\d)? ?(\w*)", text).groups(default="")  # type: ignore[union-attr]
    return digits, float(digits + rest) * UNITS[unit]


@pytest.mark.parametrize("say", [format_bytes, format_count])
@given(count=st.integers(0, 10**14) | st.integers(0, 14).flatmap(lambda n: st.integers(10**n - 60, 10**n)).map(abs))
def test_a_size_has_three_digits_before_its_point_and_is_right_to_the_last_it_shows(say, count: int) -> None:  # type: ignore[no-untyped-def]
    digits, number = read(say(count))
    assert len(digits) <= 3
    assert abs(number - count) <= max(0.05 * 10 ** (3 * ((len(str(round(number))) - 1) // 3)), 0.5) * 1.001


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 60))
def test_a_bar_is_as_long_as_its_part_to_an_eighth_of_a_cell(part: float, other: float, width: int) -> None:
    eighths = {cell: number for number, cell in enumerate("▏▎▍▌▋▊▉█", start=1)}
    assert sum(eighths[cell] for cell in format_bar(part, width)) == pytest.approx(part * width * 8, abs=0.501)
    assert len(format_bar(min(part, other), width)) <= len(format_bar(max(part, other), width)) <= width


@pytest.mark.parametrize(
    ("seconds", "said", "past"),
    [
        (0.0, "0.0 s", "0 s"),
        (59.94, "59.9 s", "1 min"),
        (59.97, "1 min 0 s", "1 min"),
        (119.6, "2 min 0 s", "2 min"),
        (3599.7, "1 h 0 min", "1 h"),
        (86_399.0, "23 h 59 min", "1 d"),
    ],
)
def test_no_unit_is_said_as_often_as_the_next_one_has_it(seconds: float, said: str, past: str) -> None:
    assert (format_duration(seconds), format_age(seconds)) == (said, past)
