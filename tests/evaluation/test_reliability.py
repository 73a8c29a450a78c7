from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import unmask

Make = Callable[..., Path]
PNG = b"\x89PNG"


def test_evaluate_draws_the_diagram_where_it_is_told_to(make_model: Make, data: Path, tmp_path: Path) -> None:
    plot = tmp_path / "calibration.png"
    evaluated = unmask.evaluate(make_model(), data, length=32, limit=500, plot=plot)
    assert plot.read_bytes().startswith(PNG)
    assert evaluated.calibration is not None and evaluated.calibration.plot == plot
    assert 0 < evaluated.calibration.blanks < evaluated.positions  # some are shown as another token, or as they were
    assert sum(each.blanks for each in evaluated.calibration.bins) == evaluated.calibration.blanks
