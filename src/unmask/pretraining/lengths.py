"""How long blocks are over a training: one length, or a longer one in the end.

    128                       all the way
    "128 until 0.9; 1024"     short blocks first, which take less time, then long ones, for what lies far apart

BERT was trained for 90 % of its steps at 128 and for 10 % at 512 (Devlin et al. 2019), ModernBERT for its last 15 % at
8,192 (Warner et al. 2024). In: such a line. Out: the length, and how many blocks a step has, when a share of the
training is done; a step has as many tokens at each length.
"""

from __future__ import annotations

from dataclasses import dataclass

from unmask.errors import BadInput
from unmask.stages import Misread, Stage, Words, ends_ascend, parse_stages, spell_stages, stage_at

SHORTEST = 3  # an opening token, a closing one, and one of text


@dataclass(frozen=True)
class LengthSchedule:
    """Lengths, one after the other."""

    stages: tuple[Stage[int], ...]

    @property
    def first(self) -> int:
        """The length at the start, which the blocks of a step are counted in."""
        return self.stages[0].members[0]

    @property
    def longest(self) -> int:
        """The longest there is: so many positions the model has."""
        return max(stage.members[0] for stage in self.stages)

    @property
    def ends(self) -> tuple[float, ...]:
        """The shares of the training that are done when each ends."""
        return tuple(stage.until for stage in self.stages)

    @property
    def setting(self) -> int | str:
        """The schedule as a person writes it; a number where there is one length."""
        return self.first if len(self.stages) == 1 else spell_stages(self.stages)

    def at(self, progress: float) -> int:
        """The length when this share of the training is done."""
        return stage_at(self.stages, progress).members[0]

    def trained(self, progress: float) -> int:
        """The longest that was trained on when this share of the training is done: what a model can be said to take.

        >>> [parse_lengths("128 until 0.9; 1024").trained(done) for done in (0.5, 1)]
        [128, 1024]
        """
        begins = (0.0, *self.ends)
        reached = [stage for stage, begin in zip(self.stages, begins, strict=False) if begin <= progress]
        return max(stage.members[0] for stage in reached)

    def describe(self, batch_size: int) -> str:
        """A step's blocks, in words.

        >>> parse_lengths("128 until 0.9; 1024").describe(32)
        '32 blocks of 128 tokens, from 90% on 4 of 1,024'
        """
        lengths = [stage.members[0] for stage in self.stages]
        later = (
            f", from {begin:.0%} on {as_many_tokens(batch_size, lengths[0], length):,} of {length:,}"
            for begin, length in zip(self.ends, lengths[1:], strict=False)
        )
        return f"{batch_size:,} blocks of {lengths[0]:,} tokens{''.join(later)}"


def as_many_tokens(rows: int, length: int, other: int) -> int:
    """How many rows of another length have as many tokens as so many of this one; one at the least.

    >>> as_many_tokens(32, 128, 1024), as_many_tokens(2, 128, 1024)
    (4, 1)
    """
    return max(1, round(rows * length / other))


def parse_lengths(line: int | str) -> LengthSchedule:
    """A schedule as a person writes it.

    >>> [parse_lengths(line).setting for line in (512, "512", "128 until .9;1024")]
    [512, 512, '128 until 0.9; 1024']
    """
    try:
        stages = tuple(stage.of(_length) for stage in parse_stages(str(line)))
    except Misread as error:
        raise BadInput(f"--length {error.text}: write 128, or '128 until 0.9; 1024'") from None
    if any(len(stage.members) > 1 or stage.weights != (1.0,) for stage in stages):
        raise BadInput(f"--length {line}: one length at a time; write 128, or '128 until 0.9; 1024'")
    if not ends_ascend(stages):
        raise BadInput(f"--length {line}: stages end at ascending shares of the training, the last without 'until'")
    if short := [length for stage in stages for length in stage.members if length < SHORTEST]:
        raise BadInput(f"--length {short[0]}: give {SHORTEST} or more")
    return LengthSchedule(stages)


def _length(words: Words) -> int:
    try:
        (word,) = words
        return int(word)
    except ValueError:
        raise Misread(" ".join(words)) from None
