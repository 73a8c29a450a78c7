"""What a long piece of work has already found out: kept in a file, so that nothing is found out twice.

In: a directory and what is asked for. Out: answers, from the file where they are there, else worked out and written
down at once. A process may be killed at any moment; what it had found is there, whole.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unmask.errors import BadInput, Damaged, Refused
from unmask.files import saving, seal_holds, sealed, write_json
from unmask.results import plain

NAME, LOCK = "progress.json", ".comparing"


class Ledger:
    """Answers by their names."""

    def __init__(self, file: Path, asked: dict[str, Any], found: dict[str, Any]) -> None:
        self.file, self.asked, self.found = file, asked, found

    def once(self, name: str, find: Callable[[], Any]) -> Any:
        """The answer of this name, a JSON value: known, or found now."""
        if name not in self.found:
            self.found[name] = json.loads(json.dumps(plain(find())))
            write_json(self.file, sealed({"asked": self.asked, "found": self.found}))
        return self.found[name]


@contextmanager
def opened(path: Path, asked: dict[str, Any], *, resume: bool) -> Iterator[Ledger]:
    """A ledger in a directory: a new one, or with `resume` the one that is there, if it was asked the same."""
    asked = json.loads(json.dumps(asked))
    if path.is_file():
        raise BadInput(f"{path}: is a file; --out names a directory")
    if not resume and path.is_dir() and any(each.name != LOCK for each in path.iterdir()):
        raise Refused(f"{path}: is not empty; add --resume to go on with it, or choose another --out")
    with saving(path):
        path.mkdir(parents=True, exist_ok=True)
    with saving(path), (path / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"{path}: another process is comparing here; wait for it or stop it") from None
        yield Ledger(path / NAME, asked, _found(path / NAME, asked))


def _found(file: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """What is in the file, if it was asked the same; the first thing that differs is named."""
    if not file.exists():
        return {}
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Damaged(f"{file}: cannot be read ({error})") from error
    if not isinstance(known, dict) or not seal_holds(known):
        raise Damaged(f"{file}: its hash does not hold; it was changed after it was written")
    for field in asked.keys() | known["asked"].keys():
        before, now = known["asked"].get(field), asked.get(field)
        if before != now:
            raise Refused(
                f"{file.parent}: cannot go on: {field} was {before} and is now {now}; "
                "give the same as before, or start anew with another --out"
            )
    found: dict[str, Any] = known["found"]
    return found
