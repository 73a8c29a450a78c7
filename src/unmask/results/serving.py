"""What is served over HTTP."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Serving:
    """A server that is up."""

    address: str  # http://127.0.0.1:8765
    url: str  # to open in a browser, once
    key: str  # of programs: Authorization: Bearer KEY
    places: dict[str, tuple[str, ...]]  # what is served, by its id, and what can be asked of it
