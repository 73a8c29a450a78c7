"""Files that are whole or not there: written aside, synced, renamed, hashed.

A process may die at any moment and a disk may fill up; what a reader finds under the final name is always a
complete file or directory, and its hash says whether a byte has changed since.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from unmask.errors import BadInput, NoSpace

READABLE = 0o644
SEAL = "seal"  # the field of a sealed JSON object that holds the SHA-256 of the rest


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def json_digest(value: Any) -> str:
    """The SHA-256 of a JSON value in its one canonical spelling."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def with_seal(value: dict[str, Any]) -> dict[str, Any]:
    """The object with a hash of itself, so that a changed byte in it is found too."""
    return {**value, SEAL: json_digest(value)}


def seal_holds(value: dict[str, Any]) -> bool:
    """Whether a sealed object is as it was."""
    return value.get(SEAL) == json_digest({key: field for key, field in value.items() if key != SEAL})


def json_text(value: Any) -> str:
    """A JSON file as it is written here: where every byte of one counts, it is read and spelled again."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file in one piece."""
    write_text(path, json_text(value))


def write_text(path: Path, text: str) -> None:
    """Write a text file in one piece."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one piece: a reader sees the old one or the new one, whenever the process or the machine dies."""
    aside = path.with_name(f".{path.name}.writing")
    with explain_disk_errors(path):
        aside.write_bytes(content)
        sync(aside)
        aside.replace(path)
        sync(path.parent)


@contextmanager
def whole_directory(path: Path, *, part_of: Path | None = None) -> Iterator[Path]:
    """A directory that appears under its name only when the block has filled it without an error.

    `part_of` is what a user knows it by, where it is made on the way to something else.
    """
    aside = path.with_name(f".{path.name}.writing")
    shutil.rmtree(aside, ignore_errors=True)
    with explain_disk_errors(part_of or path):
        try:
            aside.mkdir(parents=True)
            yield aside
            for entry in sorted(aside.rglob("*")):
                if entry.is_file():
                    entry.chmod(READABLE)  # some libraries write files that only their owner may read
                sync(entry)
            sync(aside)
            if path.exists():
                outdated = path.with_name(f".{path.name}.replaced")
                shutil.rmtree(outdated, ignore_errors=True)
                path.rename(outdated)
                aside.rename(path)
                shutil.rmtree(outdated)
            else:
                aside.rename(path)
            sync(path.parent)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise


def check_writable(path: Path, *, beside: bool = False, needed: int = 0) -> None:
    """Refuse to begin work whose result cannot be written: no permission, a file on the way, too little space.

    `beside` is for what is written next to its place and renamed: then the folder it is in has to be writable, else the
    directory itself if it is there. `needed` is how many bytes are going to be written, as far as one knows.
    """
    folder = path.resolve().parent if beside else path.resolve()
    try:
        with explain_disk_errors(path):
            while not folder.exists():
                folder = folder.parent
            if not folder.is_dir():
                raise BadInput(f"{path}: {folder} is a file, not a folder; choose another place")
            with TemporaryFile(dir=folder):  # which leaves nothing behind
                free = shutil.disk_usage(folder).free
    except OSError as error:  # it is about the file of the trial, whose name says nothing to anybody
        raise NoSpace(f"{path}: cannot be written, {folder} takes no files; choose another place") from error
    if free < needed:
        sizes = f"about {needed / 1e6:,.0f} MB are going to be written and {free / 1e6:,.0f} MB are free"
        raise NoSpace(f"{path}: {sizes}; make space, or choose another place")


@contextmanager
def explain_disk_errors(path: Path) -> Iterator[None]:
    """Turn what a disk can refuse into one line that names the file."""
    try:
        yield
    except Exception as error:
        number = _os_error(error)
        if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise NoSpace(f"{path}: the disk is full; make space and run the same command again") from error
        if number in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise NoSpace(f"{path}: cannot be written ({os.strerror(number)}); choose another place") from error
        raise


def _os_error(error: Exception) -> int:
    """The number of the system's error; libraries written in Rust give it in their message only."""
    if isinstance(error, OSError):
        return error.errno or 0
    match = re.search(r"\(os error (\d+)\)", str(error))
    return int(match[1]) if match else 0


def sync(path: Path) -> None:
    """Have the operating system put a file or a directory's entries on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def free_place(path: Path) -> Path:
    """The path if nothing is there, else with the first number behind it that is free: run, run-2, run-3, …"""
    numbered = (path.with_name(f"{path.name}-{number}") for number in count(2))
    return next(place for place in chain([path], numbered) if _is_free(place))


def _is_free(path: Path) -> bool:
    return not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir()))


def path_kind(path: Path) -> str:
    """What is there, by the file that tells: for messages where something else was wanted."""
    if path.is_file():
        return "a file"
    signs = {
        "manifest.json": "a data directory",
        "vectors.json": "a vectors directory",
        "index.json": "a search index",
        "run.json": "a run",
        "config.json": "a model directory",
        "tokenizer.json": "a tokenizer",
    }
    for name, kind in signs.items():
        if (path / name).is_file():
            return kind
    return "a folder of other things" if any(path.iterdir()) else "an empty folder"


def missing_path(path: Path, remedy: str) -> BadInput:
    """That nothing is there, with the path that is probably meant, or else what to do."""
    if os.path.lexists(path):
        return BadInput(f"{path}: is a link that leads nowhere")
    nearest = nearest_path(str(path))
    return BadInput(f"{path}: does not exist; " + (f"did you mean {nearest}?" if nearest else remedy))


def nearest_path(argument: str, also: Iterable[str] = ()) -> str | None:
    """A path that is there and is spelled nearly like the argument; a folder with a slash behind it.

    The first part of the path that is not there is looked for among its siblings, whatever their case.
    """
    path = Path(argument)
    missing = next((part for part in reversed((path, *path.parents)) if not part.exists()), None)
    if missing is None or not missing.parent.is_dir():
        return None
    try:
        siblings = {entry.name.lower(): entry.name for entry in missing.parent.iterdir() if not _hidden(entry)}
    except OSError:
        return None
    siblings |= {name: name for name in also} if path.name == argument else {}
    matches = get_close_matches(missing.name.lower(), siblings, n=1)
    if not matches:
        return None
    sibling = missing.with_name(siblings[matches[0]])
    whole = sibling / path.relative_to(missing)
    nearest = whole if whole.exists() else sibling
    return f"{nearest}/" if nearest.is_dir() else str(nearest)


def _hidden(path: Path) -> bool:
    return path.name.startswith(".")
