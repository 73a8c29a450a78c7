"""What a long piece of work has already found out: kept in a file, so that nothing is found out twice.

In: a directory and what is asked for. Out: answers, from the file where they are there, else worked out and written
down at once. A process may be killed at any moment; what it had found is there, whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unmask.files import with_seal, write_json
from unmask.results import to_plain
from unmask.runs.claim import LongWork, claim_directory, read_sealed, refuse_differences

COMPARISON = LongWork("comparison", "progress.json", ".comparing")  # a lock of its own: the directory is no run


class Ledger:
    """Answers by their names."""

    def __init__(self, file: Path, settings: dict[str, Any], answers: dict[str, Any]) -> None:
        self.file, self.settings, self.answers = file, settings, answers

    def once(self, name: str, find: Callable[[], Any]) -> Any:
        """The answer of this name, a JSON value: known, or found now."""
        if name not in self.answers:
            self.answers[name] = json.loads(json.dumps(to_plain(find())))
            self.write()
        return self.answers[name]

    def write(self) -> None:
        """Write down what was asked and what is known."""
        write_json(self.file, with_seal({"asked": self.settings, "found": self.answers}))


@contextmanager
def open_ledger(
    path: Path, settings: dict[str, Any], *, resume: bool, flags: Mapping[str, str] | None = None
) -> Iterator[Ledger]:
    """A ledger in a directory: a new one, or with `resume` the one that is there, if it was asked the same."""
    settings = json.loads(json.dumps(settings))
    file = path / COMPARISON.sign
    with claim_directory(path, COMPARISON, resume=resume, doing="comparing") as begun:
        ledger = Ledger(file, settings, {})
        if begun:
            content = read_sealed(file)
            refuse_differences(path, content["asked"], settings, flags=flags, work="the comparison")
            ledger.answers = content["found"]
        else:
            ledger.write()  # at once: what is made beside it before the first answer belongs to this comparison
        yield ledger
