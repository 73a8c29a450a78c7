"""The manifest of a data directory: what every file is, so that any that has changed can be named.

In: a directory. Out: its sealed list of files, read and checked. The manifest carries a hash of itself, and names in
it are never followed out of the directory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from unmask.errors import BadInput, Damaged
from unmask.files import SEAL, json_digest, missing_path, path_kind, seal_holds, sha256_of, with_seal, write_json
from unmask.progress import task
from unmask.results import Verified

KIND = "unmask data directory"
FORMAT = 1
MANIFEST = "manifest.json"
COLLOCATIONS, ENTITIES = "collocations.txt", "entities.txt"  # mined later, and a person's to edit: not in the manifest
SEEN_IN_TRAINING = ("train/", "valid/", "tokenizer/")


def write_manifest(directory: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Hash every file of a directory and write its manifest, the facts first."""
    names = sorted(name for name in _names(directory) if name != MANIFEST)
    with task("Hashing", total=len(names)) as step:
        files = {}
        for name in names:
            files[name] = {"bytes": (directory / name).stat().st_size, "sha256": sha256_of(directory / name)}
            step(1)
    manifest = with_seal({"kind": KIND, "format": FORMAT, **facts, "files": files})
    write_json(directory / MANIFEST, manifest)
    return manifest


def read_manifest(directory: Path) -> dict[str, Any]:
    """The manifest of a data directory, if it is whole and of this format."""
    path = directory / MANIFEST
    if not directory.exists():
        raise missing_path(directory, "make a data directory with `unmask prepare`")
    if not path.is_file():
        remains = [name for name in ("train", "tokenizer") if (directory / name).is_dir()]
        if remains:
            raise Damaged(f"{path}: missing; prepare the data again")
        raise BadInput(f"{directory}: not a data directory but {path_kind(directory)}; {_data_remedy(directory)}")
    text = path.read_bytes()
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise Damaged(f"{path}: damaged, it is no longer JSON; prepare the data again") from error
    if not isinstance(manifest, dict) or not (SEAL in manifest or manifest.get("kind") == KIND):
        raise BadInput(f"{path}: not the manifest of a data directory")
    spelling = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode(errors="replace")
    if not seal_holds(manifest) or spelling != text:
        raise Damaged(f"{path}: damaged, its SHA-256 is not the one it was written with; prepare the data again")
    if manifest.get("kind") != KIND:
        raise BadInput(f"{path}: not the manifest of a data directory")
    if manifest.get("format") != FORMAT:
        raise BadInput(
            f"{directory}: made by unmask {manifest.get('unmask', 'of another version')} in data format "
            f"{manifest.get('format')}, and this one reads format {FORMAT}; prepare the data again"
        )
    if not _well_formed(manifest.get("files")):
        raise BadInput(f"{path}: its list of files is not one; prepare the data again")
    return manifest


def _data_remedy(path: Path) -> str:
    """What gives the data that was wanted, where something else was named."""
    if path.is_file():
        return f"make one of it with `unmask prepare {path} --out data`"
    if path_kind(path) in ("a run", "a model directory"):
        return "give the data that it was trained on, or is to be measured on"
    return "make one with `unmask prepare`"


def _well_formed(files: Any) -> bool:
    return isinstance(files, dict) and all(
        isinstance(file, dict) and isinstance(file.get("bytes"), int) and isinstance(file.get("sha256"), str)
        for file in files.values()
    )


def fingerprint_of(manifest: dict[str, Any]) -> str:
    """A SHA-256 of what training sees: the tokens and the tokenizer."""
    return json_digest(
        {name: file["sha256"] for name, file in manifest["files"].items() if name.startswith(SEEN_IN_TRAINING)}
    )


def verify(path: Path) -> Verified:
    """Compare every file of a data directory with its manifest, and name those that are not what they were."""
    try:
        manifest = read_manifest(path)
    except Damaged as error:
        return Verified(path=path, files=0, bytes=0, damage=(str(error),))
    return compare_files(path, manifest, {MANIFEST, COLLOCATIONS, ENTITIES})


def compare_files(path: Path, manifest: dict[str, Any], besides: set[str]) -> Verified:
    """Every file of a directory beside what its manifest says of it; `besides` are those that it does not know."""
    files = manifest["files"]
    strangers = sorted(_names(path) - {*besides, *files})
    damage = [f"{name}: unexpected, the manifest does not know it" for name in strangers]
    size = 0
    with task("Verifying", total=len(files)) as step:
        for name, file in files.items():
            if wrong := _wrong(path, name, file):
                damage.append(f"{name}: {wrong}")
            size += file["bytes"]
            step(1)
    return Verified(path=path, files=len(files), bytes=size, damage=tuple(damage))


def check_sizes(path: Path, manifest: dict[str, Any]) -> None:
    """The quick look on opening: every file is there and as long as it was."""
    for name, file in manifest["files"].items():
        if wrong := _wrong(path, name, file, hashes=False):
            raise Damaged(f"{path / name}: {wrong}; `unmask verify {path}` checks every file")


def _wrong(root: Path, name: str, file: dict[str, Any], hashes: bool = True) -> str | None:
    path = root / name
    if not _inside(root, name):
        return "leads out of the data directory, and is not followed"
    if not path.is_file():
        return "missing"
    if (size := path.stat().st_size) != file["bytes"]:
        return f"{'truncated' if size < file['bytes'] else 'grown'}, {size:,} bytes instead of {file['bytes']:,}"
    if hashes and sha256_of(path) != file["sha256"]:
        return "changed, its SHA-256 is another"
    return None


def _inside(root: Path, name: str) -> bool:
    plain = PurePosixPath(name)
    if plain.is_absolute() or ".." in plain.parts or "\\" in name or "\0" in name:
        return False
    return (root / name).resolve().is_relative_to(root.resolve())


def _names(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in _entries(directory)}


def _entries(directory: Path) -> Iterator[Path]:
    """Files and links below a directory; links to directories are not walked."""
    for path in directory.iterdir():
        if path.is_dir() and not path.is_symlink():
            yield from _entries(path)
        else:
            yield path
