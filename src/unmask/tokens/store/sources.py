"""Which files a data directory was made of, and their state then: what tells new files from those that were read.

In: sources. Out: `sources.json`, a name with its size and the time it was written (or a store's version) for each. It
changes nothing that training sees.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.errors import Refused
from unmask.files import write_json

if TYPE_CHECKING:
    from unmask.corpus.read.find import TextSource


SOURCES = "sources.json"


def source_states(sources: Sequence[TextSource]) -> dict[str, list[Any]]:
    """The state of each file by its name; standard input is never known."""
    return {_name(source.name): _file_state(source) for source in sources if source.format != "stdin"}


def _name(name: str) -> str:
    return name.encode(errors="backslashreplace").decode()


def _file_state(source: TextSource) -> list[Any]:
    if source.length is not None:
        return [source.length, source.version]
    try:
        state = Path(source.name).stat()
        return [state.st_size, state.st_mtime_ns]
    except OSError:
        return []


def write_sources_file(data: Path, states: Mapping[str, list[Any]]) -> None:
    """Keep the states of all files that were read."""
    write_json(data / SOURCES, dict(states))


def read_sources_file(data: Path) -> dict[str, list[Any]]:
    """The states of the files that were read."""
    try:
        states: dict[str, list[Any]] = json.loads((data / SOURCES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise Refused(
            f"{data}: does not say which files it was made of ({SOURCES}), so nothing can be added; prepare it anew"
        ) from None
    return states
