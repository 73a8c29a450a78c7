"""A directory that long work is done in, a run or another: one process at a time, and only as what it was.

In: a directory, and the kind of work. Out: the directory for oneself; a refusal, by name, where something else is
there, where another process works, or where other work is asked for than was begun.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.errors import BadInput, Damaged, Refused
from unmask.files import SEAL, explain_disk_errors, free_place, seal_holds
from unmask.runs.commands import quoted_path
from unmask.runs.description import flatten_settings

LOOKS = 10  # at a lock before it is said to be held


@dataclass(frozen=True)
class LongWork:
    """A kind of long work that is done in a directory: the file that it is known by, and what may be there before."""

    name: str
    sign: str
    lock: str
    readme: str = ""  # written before the sign, or some of its lines
    stages: tuple[str, ...] = ()  # what may have been done here before it begins, which is kept

    def is_left_over(self, entry: Path) -> bool:
        """Whether this is of work that stopped before it had begun; a README of someone else is not."""
        if entry.name == "README.md":
            *whole, last = entry.read_text(encoding="utf-8", errors="replace").split("\n")
            ours = self.readme.split("\n")
            return bool(self.readme) and {*whole} <= {*ours} and any(line.startswith(last) for line in ours)
        writing = (f".{name}.writing" for name in (self.sign, *self.stages))
        return entry.name in (self.lock, *writing, *self.stages)


@contextmanager
def claim_directory(path: Path, work: LongWork, *, resume: bool, doing: str) -> Iterator[bool]:
    """Have a directory to oneself while the block runs; whether such work is begun there, which only `resume` allows.

    Where something else is, nothing is written, not even a lock.
    """
    _look(path, work, resume=resume)
    with explain_disk_errors(path):
        path.mkdir(parents=True, exist_ok=True)
    with _locked(path / work.lock, doing):
        yield _look(path, work, resume=resume)  # again: another process may have been here since


def _look(path: Path, work: LongWork, *, resume: bool) -> bool:
    """Whether work of this kind is begun here; refused if it may not be gone on with, or if something else is here."""
    if path.is_file():
        raise BadInput(f"{path}: is a file; --out names a directory")
    begun = (path / work.sign).exists()
    if begun and not resume:
        another = quoted_path(free_place(path))
        raise Refused(f"{path}: is not empty; add --resume to go on with it, or choose another --out, as {another}")
    if not begun and path.is_dir() and not all(map(work.is_left_over, path.iterdir())):
        name = work.name.split()[0]
        another = quoted_path(free_place(path.with_name(name) if path.name else path / name))
        raise Refused(
            f"{path}: has files but no {work.sign}, so it is not a {work.name}; choose another --out, as {another}"
        )
    return begun


def read_sealed(file: Path) -> dict[str, Any]:
    """A JSON object that has a hash of itself, without the hash."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Damaged(f"{file}: cannot be read ({error})") from error
    if not isinstance(value, dict) or not seal_holds(value):
        raise Damaged(f"{file}: its hash does not hold; it was changed after it was written")
    return {name: field for name, field in value.items() if name != SEAL}


def refuse_differences(
    path: Path,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    free: tuple[str, ...] = (),
    flags: Mapping[str, str] | None = None,
    work: str = "the run",
    remedy: str = "give the same as before, or start anew with another --out",
) -> None:
    """Refuse to go on with other work than what is there, by the flags, or else the fields, of all that differs."""
    old_fields, new_fields = flatten_settings(before), flatten_settings(after)
    differences: dict[str, str] = {}
    for field in dict.fromkeys((*new_fields, *old_fields)):
        old_value, new_value = old_fields.get(field), new_fields.get(field)
        if old_value != new_value and not any(f"{field}.".startswith(f"{name}.") for name in free):
            name = (flags or {}).get(field, field)
            differences.setdefault(name, f"{name}: {work} has {_short(old_value)}, asked for {_short(new_value)}")
    if differences:
        raise Refused(f"{path}: cannot go on: {'; '.join(differences.values())}; {remedy}")


def _short(value: Any) -> str:
    text = {"None": "none", "True": "yes", "False": "no"}.get(str(value), str(value))
    return text if len(text) <= 40 else text[:12] + "…"


@contextmanager
def _locked(lock: Path, doing: str) -> Iterator[None]:
    """One process at a time; the lock goes with the process, however it ends."""
    with explain_disk_errors(lock), lock.open("a+") as file:
        if not _try_lock(file.fileno()):
            file.seek(0)
            owner = file.read().strip() or "?"
            raise Refused(f"{lock.parent}: another process ({owner}) is {doing} here; wait for it or stop it")
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        yield


def _try_lock(handle: int) -> bool:
    """Take the lock; whoever only looks whether it is held holds it for an instant, so try a few times."""
    for _ in range(LOOKS):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False
