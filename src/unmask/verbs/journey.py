"""The whole way in one command, on text that is already there."""

from __future__ import annotations

from pathlib import Path

from unmask.files import check_writable
from unmask.results import Demonstrated
from unmask.verbs.arguments import Location
from unmask.verbs.commands import verb


@verb
def demo(*, out: Location = "demo", minutes: float = 2.5, seed: int = 0) -> Demonstrated:
    """Take the whole journey on text that is already on this machine.

    The interpreter's and the libraries' documentation is prepared, hidden, trained on and filled, with the story
    told on the way.

    Args:
        out: Where the data directory and the run are written; a demo that is there is replaced.
        minutes: How long to train.
        seed: Where the weights, the order of the blocks and the hidden positions come from.
    """
    from unmask.demo.journey import demo as run

    check_writable(Path(out))
    return run(Path(out), minutes, seed)
