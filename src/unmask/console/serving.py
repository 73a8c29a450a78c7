"""A server that is up, for the person who started it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from unmask.console.layout import UNWRAPPED, draw_page, draw_table
from unmask.results import Serving


def draw_serving(serving: Serving) -> RenderableType:
    """Where it is, the key, what is served, and how to stop it."""
    rows = [(id, ", ".join(abilities) or "nothing yet") for id, abilities in serving.places.items()]
    lines = {
        "open, once": serving.url,
        "key of programs": serving.key,
        "the API": f"{serving.address}/api/openapi.json",
    }
    width = max(map(len, lines))
    return draw_page(
        Text.assemble(("Serving ", "bold green"), (serving.address, "bold"), "  until Ctrl-C, to this machine alone"),
        draw_table(("id", "what can be asked of it"), rows, ()),
        Group(
            *(
                Text.assemble("  ", (f"{name:<{width}}  ", "dim"), (line, "cyan"), **UNWRAPPED)
                for name, line in lines.items()
            )
        ),
    )
