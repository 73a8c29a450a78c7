"""What a run says of its figures, whoever wrote it."""

from __future__ import annotations

import pytest

from unmask.results import FigureTitle
from unmask.runs.description import LOSS, figure_titles, flatten_settings


def test_figures_stand_in_the_order_of_the_description() -> None:
    said = [{"name": "f1", "title": "F1", "better": "more", "percent": True}, {"name": "loss", "title": "Loss"}]
    assert figure_titles({"figures": said}) == (
        FigureTitle("f1", "F1", better="more", percent=True),
        FigureTitle("loss", "Loss"),
    )


@pytest.mark.parametrize("said", [None, [], "loss", {"name": "loss"}, ["loss"], [{"name": "x", "evil": 1}], [{}]])
def test_where_nothing_sensible_is_said_a_run_has_a_loss(said: object) -> None:
    assert figure_titles({"figures": said}) == (LOSS,) == figure_titles({})


def test_no_two_settings_share_a_dotted_name() -> None:
    nested = {"a": {"b": 1, "c": {"d": None}}, "e": [1, {"f": 2}], "g": {}}
    assert flatten_settings(nested) == {"a.b": 1, "a.c.d": None, "e": [1, {"f": 2}]}
