"""Whether the hub may be asked: libraries are offline by the choice of the command line, which a name overrules."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

FETCHES = "UNMASK_FETCHES"  # in the environment: who set HF_HUB_OFFLINE was the command line, and not the user


@contextmanager
def hub_allowed() -> Iterator[None]:
    """The hub may be asked inside the block, unless the user has forbidden it."""
    from huggingface_hub import constants

    was_offline = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = was_offline and FETCHES not in os.environ
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = was_offline
