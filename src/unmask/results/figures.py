"""Measured values: with their intervals, and with what people call them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A measured value with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class FigureTitle:
    """A figure that a run logs: its name in the metrics, what people call it, and which way is better."""

    name: str
    title: str
    better: str = "less"  # or "more"
    percent: bool = False

    @property
    def short(self) -> str:
        """What stands before the value where there is little room.

        >>> FigureTitle("macro_f1", "Macro F1").short
        'macro f1'
        """
        return self.name.replace("_", " ")

    def improves(self, value: float, before: float | None) -> bool:
        """Whether a value is better than another, or the first.

        >>> FigureTitle("loss", "Loss").improves(3.0, 4.0), FigureTitle("f1", "F1", "more").improves(0.3, 0.4)
        (True, False)
        """
        if before is None:
            return True
        return value > before if self.better == "more" else value < before

    def spelt(self, value: float) -> str:
        """The value as people read it.

        >>> FigureTitle("loss", "Loss").spelt(4.25), FigureTitle("perplexity", "Perplexity").spelt(1341.33)
        ('4.250', '1,341.3')
        """
        if self.percent:
            return f"{value:.1%}"
        return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3f}"
