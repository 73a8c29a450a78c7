"""What there is to read: from the arguments of a command to a list of sources, in reading order.

An argument is a file, a folder (searched recursively) or a glob, here or in a store (s3://, gs://, hf://), `-` for
standard input or `builtin`. The order
is that of the arguments, and within a folder or a glob that of the sorted paths, so the same arguments always
give the same documents in the same order. What is named must be readable; what is merely found in a folder
or by a glob is passed over when its suffix says nothing to us, when it is hidden or when it is empty; whoever
asks hears of each, so that nothing is left out uncounted.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path, PurePath, PurePosixPath

from unmask.corpus.read import builtin
from unmask.corpus.read.encodings import UTF8
from unmask.corpus.read.mistaken import is_address, use_of_work, work_of_unmask
from unmask.corpus.read.remote import find_remote, is_remote, remote_name
from unmask.errors import BadInput
from unmask.files import nearest_path
from unmask.quantities import spell_counts

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
    ".pdf": "pdf",
    ".docx": "docx",
    ".tar": "tar",
    ".warc": "warc",
    ".wet": "warc",
}
EXTRA_MODULES: dict[str, str] = {"pdf": "pypdf", "docx": "mammoth"}  # by format: what the extra office brings
EXTRA_REMEDY = "pip install 'unmask[office]'"
WHOLE, MAIN = HTML_READERS = ("whole", "main")  # what is read of an HTML page: all of its prose, or its main text
BINARY = {"parquet", "tar", "warc", *EXTRA_MODULES}  # formats that know their encoding, or whose files do
COMPRESSIONS: dict[str, str] = {".gz": "gzip", ".zst": "zstd", ".xz": "xz", ".bz2": "bz2"}
# How many bytes of text a byte on disk gives, on the small side: Wikipedia is 2.6 times as large as its .gz.
TEXT_SHARES = {"gzip": 2.5, "zstd": 2.5, "xz": 3.0, "bz2": 3.0, "pdf": 0.02, "docx": 0.1, "builtin": 0.1}
STDIN = "-"
BUILTIN = "builtin"
LONGEST_SUFFIX = 12  # characters; what is longer is part of a name: "notes.of last Monday"

PassOver = Callable[[str, str], object]  # hears of a file that is not read: its name, and its suffix or why


@dataclass(frozen=True, slots=True)
class TextSource:
    """One file to read, or standard input, or the built-in corpus."""

    name: str  # the path as the user would write it, `-`, or `builtin`
    format: str  # a value of FORMATS, or `stdin`, or `builtin`
    compression: str | None = None
    named: bool = True  # given as an argument, rather than found in a folder or by a glob
    encoding: str = UTF8  # of its text, where the format does not say
    start: int = 0  # the stretch of it that is read, in bytes
    end: int | None = None  # none: to where it ends
    html: str = WHOLE  # what is read of pages
    member: bool = False  # a file inside of an archive, which has no place of its own on the disk
    length: int | None = None  # bytes of a file that is elsewhere
    version: str = ""  # … and what tells one version of it from another

    @property
    def size(self) -> int:
        """Bytes on disk, or 0 for standard input, of which nothing is known beforehand, and for what has vanished."""
        if self.format == "builtin":
            return builtin.source_bytes()
        if self.end is not None:
            return self.end - self.start
        if self.length is not None:
            return self.length - self.start
        try:
            return 0 if self.format == "stdin" else Path(self.name).stat().st_size - self.start
        except OSError:
            return 0


def estimate_text_bytes(sources: Sequence[TextSource]) -> int:
    """About how many bytes of text there are, and not more than that."""

    def share(key: str | None) -> float:
        return TEXT_SHARES.get(key or "", 1.0)

    return int(sum(source.size * share(source.format) * share(source.compression) for source in sources))


def format_of(path: PurePath) -> tuple[str, str | None] | None:
    """The format and the compression that a file's suffixes tell.

    >>> format_of(Path("a.jsonl.gz")), format_of(Path("A.TXT")), format_of(Path("a.odt"))
    (('jsonl', 'gzip'), ('text', None), None)
    """
    if path.suffix.lower() == ".tgz":
        return "tar", "gzip"
    compression = COMPRESSIONS.get(path.suffix.lower())
    if compression:
        path = path.with_suffix("")
    form = FORMATS.get(path.suffix.lower())
    return (form, compression) if form else None


def find_sources(arguments: Sequence[str], on_passed_over: PassOver = lambda name, kind: None) -> list[TextSource]:
    """Every source that the arguments name, each once, in reading order; `on_passed_over` hears of the other files."""
    if not arguments:
        raise BadInput("nothing to read: give files, folders, globs, - for standard input, or builtin")
    sources = (source for argument in arguments for source in _sources(argument, on_passed_over))
    by_name = {source.name: source for source in sources}
    if not by_name:  # what is wrong otherwise has been told by now
        others = f", and so are the {len(arguments) - 1} others" if len(arguments) > 1 else ""
        raise BadInput(f"{arguments[0]}: the file is empty{others}")
    return list(by_name.values())


def _sources(argument: str, on_passed_over: PassOver) -> Iterator[TextSource]:
    path = Path(argument)
    if not argument.strip():  # which Path takes for this folder; it is a variable that was not set
        raise BadInput("a source is empty: name a file, a folder or a glob, or . for this folder")
    if is_remote(argument):
        yield from _elsewhere(argument, on_passed_over)
        return
    if is_address(argument):
        raise BadInput(
            f"{argument}: an address; files are read from this machine, s3://, gs:// and hf://: "
            "download it (curl -LO …) and name it"
        )
    if argument == STDIN:
        yield TextSource(STDIN, "stdin")
    elif path.is_dir():
        if kind := work_of_unmask(path):
            raise BadInput(use_of_work(argument, kind))
        yield from _readable([path], argument, on_passed_over)
    elif path.exists():
        source = _named_source(str(path))
        if path.is_file() and not path.stat().st_size:
            on_passed_over(str(path), "empty")
        else:
            yield source
    elif argument == BUILTIN:
        yield TextSource(BUILTIN, "builtin")
    elif glob.has_magic(argument):
        matches = glob.glob(argument, recursive=True)  # noqa: PTH207 Path.glob takes no absolute pattern
        yield from _readable([Path(match) for match in sorted(matches)], argument, on_passed_over)
    else:
        nearest = nearest_path(argument, also=[BUILTIN])
        raise BadInput(f"{argument}: no such file or folder" + (f"; did you mean {nearest}?" if nearest else ""))


def _elsewhere(argument: str, on_passed_over: PassOver) -> Iterator[TextSource]:
    """The files of known suffixes at an address: it may be one file, a folder or a glob."""
    address, files = find_remote(argument)
    passed_over: Counter[str] = Counter()
    nothing = True
    for file in files:
        name = remote_name(argument, file)
        if name == address:
            yield replace(_named_source(name), length=file.size, version=file.version)
            return
        within = PurePosixPath(name)
        suffixes = format_of(within)
        hidden = any(part.startswith(".") for part in {*name.split("/")} - {*address.split("/")})
        if hidden or suffixes is None or not is_installed(suffixes[0]) or not file.size:
            kind = "hidden" if hidden else "empty" if suffixes and not file.size else suffix_of(within)
            passed_over[kind] += 1
            on_passed_over(name, kind)
        else:
            nothing = False
            yield TextSource(name, *suffixes, named=False, length=file.size, version=file.version)
    if nothing:
        raise BadInput(_nothing_readable(f"{address}: no file that can be read", passed_over))


def _named_source(name: str) -> TextSource:
    path = PurePath(name)
    suffixes = format_of(path)
    if suffixes is None:
        suffix = "".join(path.suffixes[-2:]) or "no suffix"
        raise BadInput(
            f"{name}: unknown kind of file ({suffix}); known are {' '.join(FORMATS)}, "
            f"each plain or with {' '.join(COMPRESSIONS)}; if it is text, unmask prepare - reads it from standard input"
        )
    if not is_installed(suffixes[0]):
        raise BadInput(f"{name}: {suffix_of(path)} is read by an extra: {EXTRA_REMEDY}")
    return TextSource(name, *suffixes)


def check_html(html: str) -> None:
    """Refuse a reader of pages that there is not, or that is not installed."""
    if html not in HTML_READERS:
        raise BadInput(f"html is {html!r}: what is read of pages is {' or '.join(HTML_READERS)}")
    if html == MAIN and find_spec("resiliparse") is None:
        raise BadInput("--html main: the main text of pages is found by an extra: pip install 'unmask[html]'")


def is_installed(form: str) -> bool:
    """Whether there is what reads a format."""
    return form not in EXTRA_MODULES or find_spec(EXTRA_MODULES[form]) is not None


def _readable(paths: list[Path], argument: str, on_passed_over: PassOver) -> Iterator[TextSource]:
    """The files of known suffixes among the paths and under the folders among them."""
    passed_over: Counter[str] = Counter()

    def pass_over(file: Path, kind: str) -> None:
        passed_over[kind] += 1
        on_passed_over(str(file), kind)

    nothing = True
    for path in paths:
        for file in _walk(path, pass_over) if path.is_dir() else [path]:
            suffixes = format_of(file)
            if suffixes is None or not is_installed(suffixes[0]):
                pass_over(file, suffix_of(file))
            elif not file.is_file():
                pass_over(file, "broken link" if file.is_symlink() else "special file")
            elif not file.stat().st_size:
                pass_over(file, "empty")
            else:
                nothing = False
                yield TextSource(str(file), *suffixes, named=False)
    if nothing:
        problem = f"nothing matches {argument}" if not paths else f"{argument}: no file that can be read"
        raise BadInput(_nothing_readable(problem, passed_over))


def _nothing_readable(problem: str, passed_over: Counter[str]) -> str:
    others = f"; there are {spell_counts(passed_over)}" if passed_over else ""
    remedy = f"; {EXTRA_REMEDY} reads .pdf and .docx" if passed_over.keys() & {".pdf", ".docx"} else ""
    known = f"({' '.join(FORMATS)}, each plain or with {' '.join(COMPRESSIONS)})"
    return f"{problem} {known}{others}{remedy}"


def suffix_of(path: PurePath) -> str:
    """What a file that is passed over is counted as.

    >>> [suffix_of(Path(name)) for name in ("A.PDF", "a.tar.gz", "Makefile", "notes.of last Monday")]
    ['.pdf', '.tar.gz', 'no suffix', 'no suffix']
    """
    suffixes = path.suffixes[-2:] if path.suffix.lower() in COMPRESSIONS else path.suffixes[-1:]
    suffix = "".join(suffixes).lower()
    return suffix if suffix and len(suffix) <= LONGEST_SUFFIX and suffix.isprintable() else "no suffix"


def _walk(folder: Path, pass_over: Callable[[Path, str], None]) -> Iterator[Path]:
    """Files under a folder, sorted; hidden ones (.git, .cache), linked folders and unmask's own are not entered."""

    def unreadable(error: OSError) -> None:
        raise BadInput(f"{error.filename}: {error.strerror}")

    for directory, folders, files in os.walk(folder, onerror=unreadable):
        for path in (Path(directory, name) for name in sorted([*folders, *files])):
            if path.name.startswith("."):
                pass_over(path, "hidden")
            elif path.is_dir() and path.is_symlink():
                pass_over(path, "linked folder")
            elif path.is_dir() and (kind := work_of_unmask(path)):
                pass_over(path, kind)
                folders.remove(path.name)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(directory, name) for name in sorted(files) if not name.startswith("."))
