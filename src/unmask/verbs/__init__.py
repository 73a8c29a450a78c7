"""The verbs: one function for each command, and the same function for a library call.

In: paths and plain settings. Out: the results of `unmask.results`. The signature is the command's help, and
what is heavy is imported inside the functions, so that asking for help loads no engine.
"""

from __future__ import annotations

from pathlib import Path

from unmask.results import Demonstrated
from unmask.verbs.arguments import Location
from unmask.verbs.data import collocations, prepare, verify
from unmask.verbs.hiding import audit, show
from unmask.verbs.training import plan, pretrain, runs, watch
from unmask.verbs.using import compare, evaluate, fill

__all__ = [
    "Location",
    "audit",
    "collocations",
    "compare",
    "demo",
    "evaluate",
    "fill",
    "plan",
    "prepare",
    "pretrain",
    "runs",
    "show",
    "verify",
    "watch",
]


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

    return run(Path(out), minutes, seed)
