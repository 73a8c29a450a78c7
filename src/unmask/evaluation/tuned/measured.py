"""How often a test set has been measured on: every look at it is a chance to choose what suits it.

In: the digest of a test file and the weights that are measured now. Out: how many measurements there were before. They
are kept for the user, in `$XDG_STATE_HOME/unmask/measured.jsonl` (`~/.local/state` where that is not set), a line each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path


def measured_file() -> Path:
    """Where measurements are kept."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "unmask" / "measured.jsonl"


def note_measurements(test: str, runs: Mapping[str, Path]) -> int:
    """Keep that weights, by their SHA-256, are measured on a test set; how many other weights were before.

    Where the file cannot be written nothing is kept, and what was kept is still counted.
    """
    file = measured_file()
    before = _weights_measured(file, test)
    now = datetime.now(UTC).isoformat()
    lines = [
        json.dumps({"test": test, "weights": weights, "run": str(run.resolve()), "at": now}) + "\n"
        for weights, run in runs.items()
        if weights not in before
    ]
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as out:
            out.writelines(lines)
    return len(before - runs.keys())


def _weights_measured(file: Path, test: str) -> set[str]:
    found: set[str] = set()
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return found
    for line in lines:
        try:
            record = json.loads(line)
            if record["test"] == test:
                found.add(str(record["weights"]))
        except (ValueError, KeyError, TypeError):  # a line that was cut short by a crash
            continue
    return found
