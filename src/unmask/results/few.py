"""What came of learning a few labels in several ways, over several draws."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmask.results.figures import Figure
from unmask.results.tuning import Overlap


@dataclass(frozen=True, kw_only=True)
class FewDraw:
    """What one way came to on one draw of examples."""

    draw: int
    dev: float  # accuracy on the examples that chose the moment
    dev_loss: float  # nats a text, there
    accuracy: float | None  # on the test texts, where there are some
    macro_f1: float | None
    seconds: float  # of steps


@dataclass(frozen=True, kw_only=True)
class FewMethod:
    """What one way came to over all draws; intervals and deviations are between draws."""

    name: str  # head, pairs or patterns
    dev: float  # the mean accuracy on dev, which chooses the way
    accuracy: Figure | None  # the mean on the test texts
    deviation: float | None
    macro_f1: Figure | None
    draws: tuple[FewDraw, ...]


@dataclass(frozen=True, kw_only=True)
class FewTuned:
    """A few labels, learnt in several ways over several draws of examples."""

    path: Path
    model: Path  # of the best way on dev, and of its best draw there
    task: str
    start: Path
    labels: tuple[str, ...]
    fields: dict[str, str | None]
    few: int  # examples of each label that were learnt from
    methods: tuple[FewMethod, ...]
    best: str  # the way that did best on dev
    draw: int  # whose model is kept
    patterns: tuple[str, ...]
    verbalisers: dict[str, tuple[str, ...]]
    test: Path | None
    test_examples: int
    overlaps: tuple[Overlap, ...] = ()  # of the test texts with all examples that were drawn from
    measured_before: int = 0  # other weights that were measured on these test texts
    notes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    weights_sha256: str
