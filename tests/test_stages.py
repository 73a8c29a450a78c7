"""The language of mixtures and stages: what is read is written, and what is written is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.stages import Misread, Stage, ends_ascend, parse_stages, spell_stages, stage_at

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,9}", fullmatch=True).filter(lambda name: name != "until")
SETTINGS = st.from_regex(r"[a-z]{1,5}=[a-z0-9./-]{1,5}", fullmatch=True)
MEMBERS = st.lists(SETTINGS, max_size=3).flatmap(lambda rest: NAMES.map(lambda name: (name, *rest)))
NUMBERS = st.floats(0.001, 1e6)


@st.composite
def lines(draw: st.DrawFn) -> tuple[Stage[tuple[str, ...]], ...]:
    inner = sorted(draw(st.sets(st.floats(0.001, 0.999), max_size=3)))
    stages = []
    for until in (*inner, 1.0):
        members = draw(st.lists(MEMBERS, min_size=1, max_size=3))
        stages.append(Stage(tuple(members), tuple(draw(NUMBERS) for _ in members), until))
    return tuple(stages)


@given(stages=lines())
def test_what_is_written_is_read_as_it_was(stages: tuple[Stage[tuple[str, ...]], ...]) -> None:
    line = spell_stages([stage.of(" ".join) for stage in stages])
    assert parse_stages(line) == stages
    assert ends_ascend(stages) and all(stage.sound for stage in stages)


@given(stages=lines(), progress=st.floats(0, 1))
def test_every_moment_has_the_first_stage_that_has_not_ended(
    stages: tuple[Stage[tuple[str, ...]], ...], progress: float
) -> None:
    at = stage_at(stages, progress)
    assert progress < at.until or at is stages[-1]
    assert all(stage.until <= progress for stage in stages[: stages.index(at)])


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("a, ", ""),
        ("a 1 2", "a 1 2"),
        ("a much", "a much"),
        ("b; a inf, c", "a inf"),
        ("a until noon; b", "a until noon"),
        ("a until 0.1 until 0.2; b", "a until 0.1 until 0.2"),
    ],
)
def test_what_cannot_be_read_is_named(line: str, text: str) -> None:
    with pytest.raises(Misread) as told:
        parse_stages(line)
    assert told.value.text == text


@pytest.mark.parametrize("line", ["", "a until 0.5", "a until 0.5; b until 0.5; c", "a until 0; b", "a; b"])
def test_ends_that_do_not_ascend_to_the_end_are_told(line: str) -> None:
    assert not ends_ascend(parse_stages(line))


@pytest.mark.parametrize("line", ["a -1, b 2", "a 0, b 0", "a 1e308, b 1e308"])
def test_weights_that_make_no_mixture_are_told(line: str) -> None:
    assert not parse_stages(line)[0].sound
