"""How long blocks are over a training, read from a line."""

from __future__ import annotations

import pytest

from unmask.errors import BadInput
from unmask.pretraining.lengths import as_many_tokens, parse_lengths

SCHEDULE = parse_lengths("128 until 0.9; 1024")


def test_a_length_is_a_number_or_stages_of_numbers() -> None:
    assert [parse_lengths(line).setting for line in (64, "64", "64 until 1")] == [64, 64, 64]
    assert SCHEDULE.setting == "128 until 0.9; 1024"
    assert (SCHEDULE.first, SCHEDULE.longest, SCHEDULE.ends) == (128, 1024, (0.9, 1.0))
    assert parse_lengths("512 until 0.5; 64").longest == 512


def test_each_stage_ends_where_it_says() -> None:
    assert [SCHEDULE.at(progress) for progress in (0, 0.5, 0.8999, 0.9, 1)] == [128, 128, 128, 1024, 1024]


def test_only_lengths_that_were_reached_were_trained_on() -> None:
    assert [SCHEDULE.trained(progress) for progress in (0, 0.8999, 0.9, 1)] == [128, 128, 1024, 1024]
    assert parse_lengths("512 until 0.5; 64").trained(1) == 512


def test_a_step_has_as_many_tokens_at_each_length() -> None:
    for rows in (8, 32, 64):
        assert as_many_tokens(rows, 128, 1024) * 1024 == rows * 128
    assert as_many_tokens(1, 128, 1024) == 1


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("long", "write 128, or '128 until 0.9; 1024'"),
        ("128.5", "write 128"),
        ("128 x=3", "write 128"),
        ("128 0.7, 1024 0.3", "one length at a time"),
        ("128; 1024", "ascending shares"),
        ("128 until 0.9; 512 until 0.8; 1024", "ascending shares"),
        ("128 until 0.9", "the last without 'until'"),
        (2, "give 3 or more"),
        ("128 until 0.9; 1", "give 3 or more"),
    ],
)
def test_what_is_no_length_is_told_with_a_remedy(line: int | str, remedy: str) -> None:
    with pytest.raises(BadInput, match=f"--length .*{remedy}"):
        parse_lengths(line)
