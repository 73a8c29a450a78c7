"""The built-in corpus: the English documentation that is on every machine that runs unmask.

    help topics of the interpreter, docstrings of the standard library and of unmask's dependencies
        ─prose─▶ paragraphs ─each once─▶ a document for each topic and each module

Nothing is imported or copied: source files are read where they are, at run time. Docstrings are found by
their quotes, since a full parse of the same files takes fifteen times as long. Processes share the modules
out; `python -m unmask.corpus.read.builtin` is one of them, with the paths on standard input.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from importlib import metadata
from pathlib import Path

from unmask.corpus.read.docstrings import docstring_prose
from unmask.errors import UnmaskError
from unmask.records import Document

SUFFIXES = {".py", ".pyi", ".pyx", ".pxi"}
LEFT_OUT = {"test", "tests", "idle_test", "site-packages", "dist-packages"}
SHORTEST = 200  # characters of a document: below, a module says hardly anything

# A comment, a triple-quoted string or a plain one: reading these in order keeps quotes inside each apart.
TOKEN = re.compile(
    r"#[^\n]*"
    r"|(?P<quotes>\"\"\"|''')(?P<text>.*?)(?<!\\)(?P=quotes)"
    r"|\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\""
    r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'",
    re.DOTALL,
)
# What stands before a docstring on its line: nothing, or a function or a name that says what it is.
BEFORE = re.compile(r"\s*[rRuU]?|.*doc.*\W[rRuU]?", re.IGNORECASE)


def documents(on_bytes: Callable[[int], None] = lambda count: None) -> Iterator[Document]:
    """Help topics, then modules in order, each paragraph where it is first; `on_bytes` hears of bytes read."""
    earlier: set[str] = set()
    for name, line, paragraphs in _paragraphs(on_bytes):
        additions = [paragraph for paragraph in dict.fromkeys(paragraphs) if paragraph not in earlier]
        earlier.update(additions)
        text = "\n".join(additions)
        if len(text) >= SHORTEST:
            yield Document(text, f"builtin:{name}", line)


def _paragraphs(on_bytes: Callable[[int], None]) -> Iterator[tuple[str, int, list[str]]]:
    """The name, the first line and the prose of every topic and module, in order."""
    for topic, text in sorted(_topics().items()):
        yield f"topics/{topic}", 1, list(docstring_prose(text))
    names = [name for _, name in modules()]
    for name, (size, line, paragraphs) in zip(names, _shared_out([path for path, _ in modules()]), strict=True):
        on_bytes(size)
        yield name, line, paragraphs


def _topics() -> dict[str, str]:
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some builds of Python leave them out
        return {}
    return dict(topics)


def _shared_out(paths: Sequence[Path]) -> Iterator[tuple[int, int, list[str]]]:
    """What `module_prose` gives for each path, in order; every process takes each n-th."""
    shares = min(os.cpu_count() or 1, 8)
    command = [sys.executable, "-P", "-m", "unmask.corpus.read.builtin"]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
            )
            for _ in range(shares)
        ]
        for share, worker in enumerate(workers):
            assert worker.stdin
            json.dump([str(path) for path in paths[share::shares]], worker.stdin)
            worker.stdin.close()
        for number in range(len(paths)):
            answer = workers[number % shares].stdout
            line = answer.readline() if answer else ""
            if not line:
                raise UnmaskError("a process that reads the built-in corpus ended early")
            yield tuple(json.loads(line))


def _work() -> None:
    """One of the processes: paths in, a JSON line for each out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it ends it, by closing the pipe
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for path in json.load(sys.stdin):
        print(json.dumps(module_prose(Path(path))))


def module_prose(path: Path) -> tuple[int, int, list[str]]:
    """The size of a module in bytes, the line of its first docstring, and the prose of all of them."""
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return 0, 1, []
    texts = list(docstrings(source))
    paragraphs = [paragraph for _, text in texts for paragraph in docstring_prose(text)]
    return len(source), texts[0][0] if texts else 1, paragraphs


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    r"""The line and the text of each docstring in a module's source.

    >>> list(docstrings('\"\"\"A module.\"\"\"\nx = \"\"\"data\"\"\"\ndef f():\n    r\'\'\'Does it.\'\'\'\n'))
    [(1, 'A module.'), (4, 'Does it.')]
    """
    line, position = 1, 0
    for token in TOKEN.finditer(source):
        start = token.start()
        if token["quotes"] and BEFORE.fullmatch(source, source.rfind("\n", 0, start) + 1, start):
            line += source.count("\n", position, start)
            position = start
            yield line, token["text"]


@cache
def modules() -> tuple[tuple[Path, str], ...]:
    """Every module of the standard library and of unmask's dependencies, with its name for readers."""
    library = Path(sysconfig.get_path("stdlib"))
    modules = [(path, f"python/{path.relative_to(library)}") for path in sorted(library.rglob("*.py"))]
    for distribution in _dependencies():
        files = sorted(file for file in distribution.files or () if file.suffix in SUFFIXES)
        modules += [(Path(str(distribution.locate_file(file))), str(file)) for file in files]
    return tuple((path, name) for path, name in modules if not LEFT_OUT.intersection(Path(name).parts))


def source_bytes() -> int:
    """Bytes of source there are to read."""
    return sum(path.stat().st_size for path, _ in modules() if path.exists())


def _dependencies() -> list[metadata.Distribution]:
    """What unmask needs, and what that needs, by name; everything installed if unmask itself is not."""
    distributions: dict[str, metadata.Distribution] = {}
    names = ["unmask"]
    while names:
        try:
            distribution = metadata.distribution(names.pop())
        except metadata.PackageNotFoundError:  # needed on other systems only
            continue
        if distributions.setdefault(distribution.name.lower(), distribution) is distribution:
            requirements = (requirement for requirement in distribution.requires or () if "extra ==" not in requirement)
            names += [re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in requirements]
    if not distributions:
        distributions = {distribution.name.lower(): distribution for distribution in metadata.distributions()}
    return [distribution for name, distribution in sorted(distributions.items()) if name != "unmask"]


if __name__ == "__main__":
    _work()
