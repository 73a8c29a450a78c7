"""What is hidden over a whole training: policies mixed, one after the other, and a rate that changes.

In go blocks, a schedule and how far training is (0 to 1), out come examples. A schedule is read from a line a person
would write, which a run directory keeps, and is written the same way again.

    "span 0.7, token 0.3"                                   seven rows in ten by span, the others by token
    "token until 0.3; phrase until 0.6; entity"             ERNIE's three stages
    "span p=0.5 longest=4"                                  settings that are not the published ones
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmask.corruption.policy import Policy, composition_named, corrupt, policy_named
from unmask.corruption.rate import Rate, parse_rate
from unmask.corruption.render import run_edges
from unmask.corruption.rows import take_rows
from unmask.corruption.settings import parse_setting
from unmask.errors import BadInput
from unmask.randomness import Draws, Purpose
from unmask.records import Blocks, Corrupted, PolicyProperties, Vocabulary
from unmask.stages import Misread, Stage, Words, ends_ascend, parse_stages, spell_stages, stage_at


@dataclass(frozen=True)
class MaskingSchedule:
    """Stages in order, and a rate over the whole of them that overrides the policies' own."""

    stages: tuple[Stage[Policy], ...]
    rate: Rate | None = None

    def __post_init__(self) -> None:
        for stage in self.stages:
            _check_mixture(stage)
        if not ends_ascend(self.stages):
            ends = [stage.until for stage in self.stages]
            raise BadInput(f"stages end at {ends}: ascending, above 0, the last at 1")

    @property
    def policies(self) -> list[Policy]:
        """The policies in it, stage after stage."""
        return [policy for stage in self.stages for policy in stage.members]

    @property
    def span_kinds(self) -> list[str]:
        """The kinds of marked spans that it hides."""
        return sorted({policy.spans for policy in self.policies if policy.spans is not None})

    @property
    def needs_words(self) -> bool:
        """Whether it has to be told where words start."""
        return any(policy.properties.needs_words for policy in self.policies)

    @property
    def needs_sentinels(self) -> bool:
        """Whether sentinels stand for what it hides."""
        return any(policy.properties.needs_sentinels for policy in self.policies)

    def in_place(self, progress: float = 0.0) -> bool:
        """Whether hidden tokens are restored where they stood, when this share of the training is done."""
        return all(policy.properties.in_place for policy in self.at(progress)[0].members)

    def policies_without(self, accepts: Callable[[PolicyProperties], bool]) -> list[str]:
        """The names of its policies whose properties are not wanted, in order."""
        return sorted({policy.name for policy in self.policies if not accepts(policy.properties)})

    def __str__(self) -> str:
        """The schedule as a person writes it."""
        return spell_stages(self.stages)

    def at(self, progress: float) -> tuple[Stage[Policy], float | None]:
        """The stage, and the rate if it is not the policies' own, when this share of the training is done."""
        return stage_at(self.stages, progress), None if self.rate is None else self.rate.at(progress)


def parse_schedule(
    line: str, rate: str | float | None = None, *, redraw: bool = True, **settings: Any
) -> MaskingSchedule:
    """A schedule as a person writes it; settings go to each policy that has them.

    >>> stage, rate = parse_schedule("span 0.7, token 0.3", "linear 0.3 0.15").at(0.5)
    >>> [policy.name for policy in stage.members], stage.weights, round(rate, 3)
    (['span', 'token'], (0.7, 0.3), 0.225)
    """
    try:
        stages = [stage.of(lambda words: _policy(words, redraw, settings)) for stage in parse_stages(line)]
    except Misread as error:
        forms = "write 'span 0.7, token 0.3', 'token until 0.3; entity' or 'span p=0.5 longest=4'"
        raise BadInput(f"policy {error.text!r} is not understood: {forms}") from None
    keys = {key for stage in stages for policy in stage.members for key in policy.settings}
    if unknown := set(settings) - keys:
        raise BadInput(f"no policy of {line!r} has a setting {min(unknown)!r}: they have {', '.join(sorted(keys))}")
    return MaskingSchedule(tuple(stages), None if rate is None else parse_rate(str(rate)))


def _policy(words: Words, redraw: bool, settings: Mapping[str, Any]) -> Policy:
    """The policy of some words: its name and its settings, those for every policy if it has none of its own."""
    name, *assignments = words
    usual = composition_named(name).settings
    values = {key: value for key, value in settings.items() if key in usual}
    for key, text in (word.split("=", 1) for word in assignments):
        values[key] = parse_setting(key, text, usual[key]) if key in usual else text
    return policy_named(name, redraw=redraw, **values)


def _check_mixture(stage: Stage[Policy]) -> None:
    if not stage.sound:
        raise BadInput("the weights of a mixture are not below 0, and one is above")
    alone = [policy.name for policy in stage.members if not policy.properties.mixable]
    if alone and len(stage.members) > 1:
        raise BadInput(f"policy {alone[0]!r} gives examples of a shape of its own: it cannot be mixed")


def corrupt_at(
    blocks: Blocks, masking: MaskingSchedule | None, vocabulary: Vocabulary, *, seed: int, progress: float = 0.0
) -> Corrupted:
    """Hide what the schedule hides at this point of the training; without one, nothing."""
    if masking is None:
        return Corrupted(ids=blocks.ids, hidden=np.zeros(blocks.ids.shape, dtype=np.bool_), targets=blocks.ids[:0, 0])
    stage, rate = masking.at(progress)
    if len(stage.members) == 1:
        return corrupt(blocks, stage.members[0], vocabulary, seed=seed, rate=rate)
    return _corrupt_mixture(blocks, stage, vocabulary, seed, rate)


def _corrupt_mixture(
    blocks: Blocks, stage: Stage[Policy], vocabulary: Vocabulary, seed: int, rate: float | None
) -> Corrupted:
    """Each row by one policy of the mixture, drawn with its weight."""
    redraw = any(policy.redraw for policy in stage.members)
    draws = Draws.of(seed, blocks.epoch if redraw else 0, blocks.numbers)
    share = np.cumsum(stage.weights)
    choice = np.searchsorted(share[:-1] / share[-1], draws.per_row(Purpose.MIXTURE), side="right")

    ids, hidden = blocks.ids.copy(), np.zeros(blocks.ids.shape, dtype=np.bool_)
    unit = np.zeros(blocks.ids.shape, dtype=np.int64)
    for number, policy in enumerate(stage.members):
        rows = np.flatnonzero(choice == number)
        examples = corrupt(take_rows(blocks, rows), policy, vocabulary, seed=seed, rate=rate)
        ids[rows], hidden[rows] = examples.ids, examples.hidden
        inside = np.zeros(examples.hidden.shape, dtype=np.int64)
        inside[examples.hidden] = np.arange(len(examples.targets)) if examples.units is None else examples.units
        unit[rows] = inside * len(stage.members) + number
    change = np.diff(unit[hidden], prepend=-1) != 0
    with_edges = any(policy.properties.edges for policy in stage.members)
    return Corrupted(
        ids=ids,
        hidden=hidden,
        targets=blocks.ids[hidden],
        units=np.cumsum(change, dtype=np.int32) - np.int32(1),
        edges=run_edges(blocks, hidden) if with_edges else None,
    )
