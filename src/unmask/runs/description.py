"""What a run says of itself in `run.json`, as people and pictures ask for it.

In: the description that a job gives. Out: how its figures are to be read. No torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unmask.results import FigureTitle

LOSS = FigureTitle("loss", "Loss")


def figure_titles(description: Mapping[str, Any]) -> tuple[FigureTitle, ...]:
    """The figures of a run that people look at, the headline first; a loss where nothing is said of them."""
    titles = description.get("figures")
    if not isinstance(titles, list) or not titles:
        return (LOSS,)
    try:
        return tuple(FigureTitle(**title) for title in titles)
    except TypeError:
        return (LOSS,)


def flatten_settings(settings: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested settings by dotted names.

    >>> flatten_settings({"seed": 0, "recipe": {"name": "mini", "training": {"length": 128}}})
    {'seed': 0, 'recipe.name': 'mini', 'recipe.training.length': 128}
    """
    fields: dict[str, Any] = {}
    for name, value in settings.items():
        fields |= flatten_settings(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return fields
