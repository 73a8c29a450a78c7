"""Runs and models in a browser, and behind HTTP."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from unmask.errors import BadInput
from unmask.results import Serving
from unmask.verbs.arguments import Location
from unmask.verbs.commands import streamed, textless, verb

KEY = "UNMASK_KEY"  # the environment's name for a key of one's own
SHORTEST = 16  # letters of a key


@verb
@textless
@streamed
def serve(*places: Location, port: int = 8765, open: bool = True) -> Iterator[Serving]:
    """Serve models and runs to a browser and to programs, on this machine.

    Pages to see what masking hides, what a model fills in, how runs go and what tuned models say; and a JSON API (fill,
    score, embed, predict, explain, search, show, grow) that OpenAPI describes, with the command line's figures. The
    address that is printed opens once, and the browser is known from then on; programs send the key that is printed, or
    the one in UNMASK_KEY, as Authorization: Bearer KEY. Ctrl-C stops it. Needs pip install 'unmask[web]'.

    Args:
        places: Runs (also those that are being trained), models, tokenizers, data directories, indexes, or names on the
            hub; of a folder the runs below it. Without any, the runs below this folder.
        port: Where to listen, at 127.0.0.1; 0 takes any port that is free.
        open: Open the page in a browser, where there is one.
    """
    from unmask.web.server import check_web

    check_web()
    key = os.environ.get(KEY)
    if key is not None and len(key) < SHORTEST:
        raise BadInput(f"{KEY}: a key of {len(key)} letters can be guessed; give {SHORTEST} or more")
    from unmask.web.places import gather_places

    gathered = gather_places(map(Path, places))
    from unmask.web.guard import Keys
    from unmask.web.server import ADDRESS, bind, create_app, running, warm_up

    listener = bind(port)
    number = listener.getsockname()[1]
    keys = Keys() if key is None else Keys(key=key)
    app = create_app(gathered, keys, number)
    with running(app, listener) as thread:
        warm_up(number, keys.key, gathered)
        address = f"http://{ADDRESS}:{number}"
        url = f"{address}/?key={keys.ticket}"
        abilities: dict[str, tuple[str, ...]] = {place.id: place.abilities for place in gathered}
        yield Serving(address=address, url=url, key=keys.key, places=abilities)
        if open and _has_browser():
            import webbrowser

            webbrowser.open(url)
        try:
            while thread.is_alive():
                thread.join(1.0)
        except KeyboardInterrupt:
            return


def _has_browser() -> bool:
    """Whether there is a screen to open a page on: a browser in the terminal would take it over."""
    return sys.platform in ("darwin", "win32") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())
