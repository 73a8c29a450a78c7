"""A rate that changes over training, as a person writes it.

"0.15"                              the same all the way
"linear 0.3 0.15"                   from 30 % to 15 % (Ankner et al. 2024)
"cosine 0.3 0.15"                   the same, slow at both ends
"stepwise 0.3 0.15@0.6 0.05@0.9"    steps, each from a share of the training on; equal ones without places
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from unmask.errors import BadInput

KINDS = ("constant", "linear", "cosine", "stepwise")
_HOW = "write 0.15, 'linear 0.3 0.15', 'cosine 0.3 0.15' or 'stepwise 0.3 0.15@0.6 0.05@0.9'"


@dataclass(frozen=True)
class Rate:
    """A rate over training: `values` from the first to the last, the way the kind says."""

    kind: str
    values: tuple[float, ...]
    places: tuple[float, ...] = ()  # stepwise: where each value but the first begins; equal steps if not given

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "places", tuple(self.places))
        count = {"constant": 1, "linear": 2, "cosine": 2}.get(self.kind, len(self.values))
        if self.kind not in KINDS or len(self.values) != count or not self.values:
            raise BadInput(f"rate {self.kind!r} with {len(self.values)} values: {_HOW}")
        if not all(0 <= value <= 1 for value in self.values):
            raise BadInput(f"rate {max(self.values, key=abs)} is not a share of the tokens: give 0 to 1")
        ascending = all(a < b for a, b in zip((0.0, *self.places), (*self.places, 1.0), strict=True))
        if self.places and (len(self.places) != len(self.values) - 1 or not ascending):
            raise BadInput(f"steps at {self.places}: one place for each value but the first, ascending, in 0 to 1")

    def at(self, progress: float) -> float:
        """The rate when this share of the training is done.

        >>> [round(Rate("cosine", (0.3, 0.1)).at(done), 2) for done in (0.0, 0.25, 0.5, 1.0)]
        [0.3, 0.27, 0.2, 0.1]
        """
        share = min(max(progress, 0.0), 1.0)
        first, last = self.values[0], self.values[-1]
        if self.kind == "linear":
            return first + (last - first) * share
        if self.kind == "cosine":
            return last + (first - last) * (1 + math.cos(math.pi * share)) / 2
        steps = len(self.values)
        places = self.places or [number / steps for number in range(1, steps)]
        return self.values[sum(share >= place for place in places)]


def parse_rate(line: str) -> Rate:
    """A rate as a person writes it.

    >>> parse_rate("linear 0.3 0.15")
    Rate(kind='linear', values=(0.3, 0.15), places=())
    """
    kind, *numbers = line.split() if line.split()[:1] and line.split()[0] in KINDS else ["constant", *line.split()]
    pairs = [number.partition("@") for number in numbers]
    try:
        values = tuple(float(value) for value, _, _ in pairs)
        places = tuple(float(place) for _, _, place in pairs if place)
    except ValueError:
        raise BadInput(f"rate {line!r} is not understood: {_HOW}") from None
    return Rate(kind, values, places)
