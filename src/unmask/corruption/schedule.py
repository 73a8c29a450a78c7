"""What is hidden over a whole training: policies mixed, one after the other, and a rate that changes.

In go blocks, a schedule and how far training is (0 to 1), out come examples. A schedule is read from a line a person
would write, and is JSON on the way to a run directory and back.

    "span 0.7, token 0.3"                                   seven rows in ten by span, the others by token
    "token until 0.3; phrase until 0.6; entity"             ERNIE's three stages
    "span p=0.5 longest=4"                                  settings that are not the published ones
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from unmask.corruption.policy import POLICIES, Policy, corrupt, policy_named
from unmask.corruption.rate import Rate, parse_rate
from unmask.corruption.render import bounded, edges
from unmask.corruption.render import replace as replaced
from unmask.corruption.rows import take_rows
from unmask.errors import BadInput
from unmask.randomness import Draws, Purpose
from unmask.records import SPAN_KINDS, Blocks, Corrupted, Vocabulary


@dataclass(frozen=True)
class Part:
    """A policy and its weight among those it is mixed with."""

    policy: Policy
    weight: float = 1.0

    def __str__(self) -> str:
        usual = POLICIES[self.policy.name].settings
        changed = {key: value for key, value in self.policy.settings.items() if value != usual[key]}
        return " ".join([self.policy.name, *(f"{key}={_spelt(value)}" for key, value in changed.items())])


@dataclass(frozen=True)
class Stage:
    """Policies mixed row by row, until a share of the training is done."""

    parts: tuple[Part, ...]
    until: float = 1.0

    def __str__(self) -> str:
        mixture = ", ".join(f"{part} {part.weight:g}" if len(self.parts) > 1 else str(part) for part in self.parts)
        return mixture + (f" until {self.until:g}" if self.until < 1 else "")

    def __post_init__(self) -> None:
        if any(part.weight < 0 for part in self.parts) or sum(part.weight for part in self.parts) <= 0:
            raise BadInput("the weights of a mixture are not below 0, and one is above")
        alone = [part.policy.name for part in self.parts if POLICIES[part.policy.name].render not in _MIXABLE]
        if alone and len(self.parts) > 1:
            raise BadInput(f"policy {alone[0]!r} gives examples of a shape of its own: it cannot be mixed")


_MIXABLE = (replaced, bounded)


@dataclass(frozen=True)
class MaskingSchedule:
    """Stages in order, and a rate over the whole of them that overrides the policies' own."""

    stages: tuple[Stage, ...]
    rate: Rate | None = None

    def __post_init__(self) -> None:
        ends = [stage.until for stage in self.stages]
        if not ends or ends != sorted(set(ends)) or ends[0] <= 0 or ends[-1] != 1.0:
            raise BadInput(f"stages end at {ends}: ascending, above 0, the last at 1")

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> MaskingSchedule:
        """The schedule that `dataclasses.asdict` described."""
        stages = tuple(
            Stage(
                tuple(Part(Policy(**part["policy"]), part["weight"]) for part in stage["parts"]),
                stage["until"],
            )
            for stage in described["stages"]
        )
        return cls(stages, Rate(**described["rate"]) if described["rate"] else None)

    @property
    def policies(self) -> set[str]:
        """The names of the policies in it."""
        return {part.policy.name for stage in self.stages for part in stage.parts}

    @property
    def spanned(self) -> list[str]:
        """The kinds of marked spans that it hides."""
        return [kind for kind in SPAN_KINDS if kind in self.policies]

    def __str__(self) -> str:
        """The schedule as a person writes it."""
        return "; ".join(map(str, self.stages))

    def at(self, progress: float) -> tuple[Stage, float | None]:
        """The stage, and the rate if it is not the policies' own, when this share of the training is done."""
        last = self.stages[-1]
        stage = next((stage for stage in self.stages if progress < stage.until), last)
        return stage, None if self.rate is None else self.rate.at(progress)


def parse_schedule(
    line: str, rate: str | float | None = None, *, redraw: bool = True, **settings: Any
) -> MaskingSchedule:
    """A schedule as a person writes it; settings go to each policy that has them.

    >>> stage, rate = parse_schedule("span 0.7, token 0.3", "linear 0.3 0.15").at(0.5)
    >>> [(part.policy.name, part.weight) for part in stage.parts], round(rate, 3)
    ([('span', 0.7), ('token', 0.3)], 0.225)
    """
    stages = []
    texts = [text for text in line.split(";") if text.strip()]
    for text in texts:
        mixture, _, until = text.partition(" until ")
        parts = tuple(_part(part, redraw, settings) for part in mixture.split(","))
        stages.append(Stage(parts, _number(until or "1", text)))
    used = {key for stage in stages for part in stage.parts for key in part.policy.settings}
    if unknown := set(settings) - used:
        raise BadInput(f"no policy of {line!r} has a setting {min(unknown)!r}: they have {', '.join(sorted(used))}")
    return MaskingSchedule(tuple(stages), None if rate is None else parse_rate(str(rate)))


def _part(text: str, redraw: bool, settings: Mapping[str, Any]) -> Part:
    name, *words = text.split() or [""]
    known = policy_named(name).settings if name != "" else _misread(text)
    chosen = {key: value for key, value in settings.items() if key in known}
    written = dict(word.split("=", 1) for word in words if "=" in word)
    chosen |= {key: _setting(key, value, known.get(key)) for key, value in written.items()}
    weights = [word for word in words if "=" not in word]
    if len(weights) > 1:
        _misread(text)
    return Part(policy_named(name, redraw=redraw, **chosen), _number("".join(weights) or "1", text))


def _setting(key: str, text: str, usual: Any) -> Any:
    """A setting as it is written, of the same kind as its usual value."""
    if isinstance(usual, str):
        return text
    if isinstance(usual, bool):
        if text not in ("true", "false"):
            raise BadInput(f"setting {key}={text}: give true or false")
        return text == "true"
    try:
        numbers = [int(part) if isinstance(usual, int) else float(part) for part in text.split("/")]
    except ValueError:
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)) or (usual is not None and len(numbers) > 1):
        raise BadInput(
            f"setting {key}={text}: give a number" + (", or several with / between" if usual is None else "")
        )
    return numbers if usual is None else numbers[0]


def _spelt(value: Any) -> str:
    """A setting as `_setting` reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "/".join(f"{part:g}" for part in value) if isinstance(value, list | tuple) else f"{value}"


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        _misread(where)


def _misread(where: str) -> NoReturn:
    forms = "write 'span 0.7, token 0.3', 'token until 0.3; entity' or 'span p=0.5 longest=4'"
    raise BadInput(f"policy {where.strip()!r} is not understood: {forms}")


def corrupt_at(
    blocks: Blocks, masking: MaskingSchedule | None, vocabulary: Vocabulary, *, seed: int, progress: float = 0.0
) -> Corrupted:
    """Hide what the schedule hides at this point of the training; without one, nothing."""
    if masking is None:
        return Corrupted(ids=blocks.ids, hidden=np.zeros(blocks.ids.shape, dtype=np.bool_), targets=blocks.ids[:0, 0])
    stage, rate = masking.at(progress)
    if len(stage.parts) == 1:
        return corrupt(blocks, stage.parts[0].policy, vocabulary, seed=seed, rate=rate)
    return _mixed(blocks, stage, vocabulary, seed, rate)


def _mixed(blocks: Blocks, stage: Stage, vocabulary: Vocabulary, seed: int, rate: float | None) -> Corrupted:
    """Each row by one policy of the mixture, drawn with its weight."""
    redraw = any(part.policy.redraw for part in stage.parts)
    draws = Draws.of(seed, blocks.epoch if redraw else 0, blocks.numbers)
    share = np.cumsum([part.weight for part in stage.parts])
    which = np.searchsorted(share[:-1] / share[-1], draws.per_row(Purpose.MIXTURE), side="right")

    ids, hidden = blocks.ids.copy(), np.zeros(blocks.ids.shape, dtype=np.bool_)
    unit = np.zeros(blocks.ids.shape, dtype=np.int64)
    for number, part in enumerate(stage.parts):
        rows = np.flatnonzero(which == number)
        some = corrupt(take_rows(blocks, rows), part.policy, vocabulary, seed=seed, rate=rate)
        ids[rows], hidden[rows] = some.ids, some.hidden
        inside = np.zeros(some.hidden.shape, dtype=np.int64)
        inside[some.hidden] = np.arange(len(some.targets)) if some.units is None else some.units
        unit[rows] = inside * len(stage.parts) + number
    change = np.diff(unit[hidden], prepend=-1) != 0
    spans = any(POLICIES[part.policy.name].render is bounded for part in stage.parts)
    return Corrupted(
        ids=ids,
        hidden=hidden,
        targets=blocks.ids[hidden],
        units=np.cumsum(change, dtype=np.int32) - np.int32(1),
        edges=edges(blocks, hidden) if spans else None,
    )
