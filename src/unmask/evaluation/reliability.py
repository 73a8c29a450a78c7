"""The reliability diagram: how often a model is right, against how sure it is.

In: a `Calibration`. Out: a PNG. Drawn without a display.
"""

from __future__ import annotations

import io

import matplotlib
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import PercentFormatter

from unmask.results import Calibration
from unmask.runs.plot import FAINT, STYLE, TRAINING_COLOUR

WIDTH = 0.09  # of a bar; a bin is 0.1 wide


def draw_reliability(calibration: Calibration, title: str) -> bytes:
    """On the line is calibrated, below it too sure; the lower panel is how many blanks were how sure."""
    with matplotlib.rc_context(STYLE):
        drawing = Drawing(figsize=(5, 5.6), dpi=110, layout="constrained")
        upper, lower = drawing.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        middles = [(each.low + each.high) / 2 for each in calibration.bins]
        upper.plot([0, 1], [0, 1], color=FAINT, linestyle=":", linewidth=1)
        upper.bar(middles, [each.accuracy for each in calibration.bins], width=WIDTH, color=TRAINING_COLOUR, alpha=0.3)
        upper.plot(
            [each.confidence for each in calibration.bins],
            [each.accuracy for each in calibration.bins],
            "o-",
            color=TRAINING_COLOUR,
            markersize=4,
        )
        upper.set(xlim=(0, 1), ylim=(0, 1), ylabel="of them right")
        upper.set_title(f"{title}\nexpected calibration error {calibration.error.value:.1%}", loc="left")
        share = [each.blanks / calibration.blanks for each in calibration.bins]
        lower.bar(middles, share, width=WIDTH, color=FAINT)
        lower.set(xlabel="probability of the best guess", ylabel="blanks")
        for axis in (upper.xaxis, upper.yaxis, lower.yaxis):
            axis.set_major_formatter(PercentFormatter(1, decimals=0))
        picture = io.BytesIO()
        drawing.savefig(picture, format="png")
    return picture.getvalue()
