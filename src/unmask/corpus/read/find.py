"""What there is to read: from the arguments of a command to a list of sources, in reading order.

An argument is a file, a folder (searched recursively), a glob, `-` for standard input or `builtin`. The order
is that of the arguments, and within a folder or a glob that of the sorted paths, so the same arguments always
give the same documents in the same order. What is named must be readable; what is merely found in a folder
or by a glob is passed over when its suffix says nothing to us.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from unmask.corpus.read import builtin
from unmask.errors import BadInput

FORMATS: dict[str, str] = {
    ".txt": "text",
    ".text": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
}
COMPRESSIONS: dict[str, str] = {".gz": "gzip", ".zst": "zstd", ".xz": "xz"}
STDIN = "-"
BUILTIN = "builtin"


@dataclass(frozen=True, slots=True)
class TextSource:
    """One file to read, or standard input, or the built-in corpus."""

    name: str  # the path as the user would write it, `-`, or `builtin`
    format: str  # a value of FORMATS, or `stdin`, or `builtin`
    compression: str | None = None
    named: bool = True  # given as an argument, rather than found in a folder or by a glob

    @property
    def size(self) -> int:
        """Bytes on disk, or 0 for standard input, of which nothing is known beforehand."""
        if self.format == "builtin":
            return builtin.source_bytes()
        return 0 if self.format == "stdin" else Path(self.name).stat().st_size


def format_of(path: Path) -> tuple[str, str | None] | None:
    """The format and the compression that a file's suffixes tell.

    >>> format_of(Path("a.jsonl.gz")), format_of(Path("A.TXT")), format_of(Path("a.pdf"))
    (('jsonl', 'gzip'), ('text', None), None)
    """
    compression = COMPRESSIONS.get(path.suffix.lower())
    if compression:
        path = path.with_suffix("")
    form = FORMATS.get(path.suffix.lower())
    return (form, compression) if form else None


def find_sources(arguments: Sequence[str]) -> list[TextSource]:
    """Every source that the arguments name, each once, in reading order."""
    if not arguments:
        raise BadInput("nothing to read: give files, folders, globs, - for standard input, or builtin")
    sources = (source for argument in arguments for source in _sources(argument))
    return list({source.name: source for source in sources}.values())


def _sources(argument: str) -> Iterator[TextSource]:
    path = Path(argument)
    if not argument.strip():  # which Path takes for this folder; it is a variable that was not set
        raise BadInput("a source is empty: name a file, a folder or a glob, or . for this folder")
    if argument == STDIN:
        yield TextSource(STDIN, "stdin")
    elif path.is_dir():
        yield from _readable([path], argument)
    elif path.exists():
        yield _named_source(path)
    elif argument == BUILTIN:
        yield TextSource(BUILTIN, "builtin")
    elif glob.has_magic(argument):
        matches = glob.glob(argument, recursive=True)  # noqa: PTH207 Path.glob takes no absolute pattern
        yield from _readable([Path(match) for match in sorted(matches)], argument)
    else:
        raise BadInput(f"{argument}: no such file or folder")


def _named_source(path: Path) -> TextSource:
    suffixes = format_of(path)
    if suffixes is None:
        suffix = "".join(path.suffixes[-2:]) or "no suffix"
        raise BadInput(
            f"{path}: unknown kind of file ({suffix}); known are {' '.join(FORMATS)}, "
            f"each plain or with {' '.join(COMPRESSIONS)}"
        )
    return TextSource(str(path), *suffixes)


def _readable(paths: list[Path], argument: str) -> Iterator[TextSource]:
    """The files of known suffixes among the paths and under the folders among them."""
    nothing = True
    for path in paths:
        for file in _walk(path) if path.is_dir() else [path]:
            if suffixes := format_of(file):
                nothing = False
                yield TextSource(str(file), *suffixes, named=False)
    if nothing:
        problem = f"nothing matches {argument}" if not paths else f"{argument}: no file with a known suffix"
        raise BadInput(f"{problem} ({' '.join(FORMATS)}, each plain or with {' '.join(COMPRESSIONS)})")


def _walk(folder: Path) -> Iterator[Path]:
    """Files under a folder, sorted; hidden ones (.git, .cache) and linked folders are not entered."""

    def unreadable(error: OSError) -> None:
        raise BadInput(f"{error.filename}: {error.strerror}")

    for directory, folders, files in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(directory, name) for name in sorted(files) if not name.startswith("."))
        yield from (path for path in paths if path.is_file())
