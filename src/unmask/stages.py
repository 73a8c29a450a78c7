"""One small language for what changes over a training: things mixed by weight, in stages one after the other.

    "a"                        one thing, all the way
    "a 0.7, b 0.3"             two, mixed with these weights
    "a until 0.25; b x=3"      one after the other; what stands behind a thing, and is no weight, goes with it

In: such a line. Out: stages of words, which whoever asked makes policies or objectives of; and the line again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

Member = TypeVar("Member")
Other = TypeVar("Other")
Words = tuple[str, ...]  # a name, and what goes with it: ("span", "p=0.5")


class Misread(ValueError):
    """A text that is no such line."""

    def __init__(self, text: str) -> None:
        super().__init__(text.strip())

    @property
    def text(self) -> str:
        """What could not be read."""
        return str(self)


@dataclass(frozen=True)
class Stage(Generic[Member]):
    """What is mixed with which weights, until a share of the training is done."""

    members: tuple[Member, ...]
    weights: tuple[float, ...] = (1.0,)
    until: float = 1.0

    def of(self, make: Callable[[Member], Other]) -> Stage[Other]:
        """The same of what is made of each member."""
        return Stage(tuple(map(make, self.members)), self.weights, self.until)

    @property
    def sound(self) -> bool:
        """Whether there is a weight for each, none below 0, and one above."""
        paired = 0 < len(self.members) == len(self.weights)
        return paired and min(self.weights) >= 0 and 0 < sum(self.weights) < math.inf

    def __str__(self) -> str:
        alone = len(self.members) == 1 and self.weights == (1.0,)
        pairs = zip(self.members, self.weights, strict=True)
        mixture = ", ".join(f"{member}" if alone else f"{member} {spell_number(weight)}" for member, weight in pairs)
        return mixture + (f" until {spell_number(self.until)}" if self.until != 1 else "")


def parse_stages(line: str) -> tuple[Stage[Words], ...]:
    """The stages of a line, their members as words.

    >>> [(stage.members, stage.weights, stage.until) for stage in parse_stages("a until 0.5; b 0.7, c x=3 0.3")]
    [((('a',),), (1.0,), 0.5), ((('b',), ('c', 'x=3')), (0.7, 0.3), 1.0)]
    """
    return tuple(_stage(text) for text in line.split(";") if text.strip())


def spell_stages(stages: Sequence[Stage[Member]]) -> str:
    """The line that the stages are read from.

    >>> spell_stages(parse_stages("a   until .5;b 0.70,c x=3 0.3"))
    "('a',) until 0.5; ('b',) 0.7, ('c', 'x=3') 0.3"
    >>> spell_stages([stage.of(" ".join) for stage in parse_stages("a   until .5;b 0.70,c x=3 0.3")])
    'a until 0.5; b 0.7, c x=3 0.3'
    """
    return "; ".join(map(str, stages))


def ends_ascend(stages: Sequence[Stage[Member]]) -> bool:
    """Whether there are stages, each ends after the one before, and the last with the training."""
    ends = [0.0, *(stage.until for stage in stages)]
    return ends[-1] == 1.0 and all(first < second for first, second in pairwise(ends))


def stage_at(stages: Sequence[Stage[Member]], progress: float) -> Stage[Member]:
    """The stage in which this share of the training is done.

    >>> [stage_at(parse_stages("a until 0.3; b"), done).members[0][0] for done in (0, 0.29, 0.3, 1)]
    ['a', 'a', 'b', 'b']
    """
    return next((stage for stage in stages if progress < stage.until), stages[-1])


def _stage(text: str) -> Stage[Words]:
    mixture, *ends = re.split(r"\suntil\s", text)
    if len(ends) > 1:
        raise Misread(text)
    members, weights = zip(*map(_member, mixture.split(",")), strict=True)
    return Stage(members, weights, _parse_number(ends[0], text) if ends else 1.0)


def _member(text: str) -> tuple[Words, float]:
    """A name with what goes with it, and its weight, a number wherever it stands behind the name."""
    name, *options = text.split() or [""]
    weights = [word for word in options if "=" not in word]
    if not name or len(weights) > 1:
        raise Misread(text)
    words = (name, *(word for word in options if "=" in word))
    return words, _parse_number(weights[0], text) if weights else 1.0


def _parse_number(word: str, text: str) -> float:
    try:
        number = float(word)
    except ValueError:
        raise Misread(text) from None
    if not math.isfinite(number):
        raise Misread(text)
    return number


def spell_number(number: float) -> str:
    """A number as a person writes it, and with all its digits where that would lose some.

    >>> spell_number(2.0), spell_number(1 / 3)
    ('2', '0.3333333333333333')
    """
    short = f"{number:g}"
    return short if float(short) == number else repr(number)
