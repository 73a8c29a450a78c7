"""Commands to copy: how a run is begun, gone on with, followed and put to use, quoted for the shell.

In: a run directory and what it says of itself. Out: lines that a user pastes into a terminal as they are.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unmask.files import free_place

PRETRAIN = "pretrain"
PLACEHOLDERS = re.compile(r"\b(RUN|MODEL|DATA|EXAMPLE)\b")  # of the uses that a job names


def quoted_path(path: Path | str) -> str:
    """A path as a word of a shell, which no command takes for a flag.

    >>> print(quoted_path("runs/one"), quoted_path("my run"), quoted_path("-run"))
    runs/one 'my run' ./-run
    """
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def train_command(data: Path | str, *options: str, out: Path | str = "run", minutes: int = 10) -> str:
    """The command that trains on some data, in a place that is free: the one named, or one with a number behind it.

    >>> train_command("my data", "--recipe", "mini", out="nowhere/run")
    "unmask pretrain 'my data' --out nowhere/run --recipe mini --minutes 10"
    """
    words = (quoted_path(data), "--out", quoted_path(free_place(Path(out))), *options, "--minutes", str(minutes))
    return f"unmask pretrain {' '.join(words)}"


def resume_command(path: Path, kind: str = PRETRAIN, *, program: str = "unmask") -> str:
    """The command that goes on with a run; `program` is how unmask is started.

    >>> resume_command(Path("my run"))
    "unmask pretrain --resume 'my run'"
    """
    return f"{program} {kind} --resume {quoted_path(path)}"


def watch_command(path: Path) -> str:
    """The command that follows a run."""
    return f"unmask watch {quoted_path(path)}"


def use_commands(path: Path, description: Mapping[str, Any]) -> tuple[str, ...]:
    """The uses of a finished run, shell commands and Python, with this run's own places and text in them.

    What is put in is quoted for the language it stands in, and is not looked through again: a text that says RUN
    keeps it.

    >>> use_commands(Path("my run"), {"uses": ["unmask fill RUN EXAMPLE"], "example": "Don't RUN [MASK]."})[0]
    'unmask fill \\'my run\\' \\'Don\\'"\\'"\\'t RUN [MASK].\\''
    """
    values = {
        "RUN": path,
        "MODEL": path / "model",
        "DATA": _from_here((description.get("places") or {}).get("data", "DATA")),  # as it is where no run says it
        "EXAMPLE": description.get("example", "EXAMPLE"),
    }

    def fill(use: str) -> str:
        is_python = "\n" in use or use.startswith(("from ", "import "))

        def quote(match: re.Match[str]) -> str:
            value = str(values[match[0]])
            return repr(value) if is_python else quoted_path(value)

        return PLACEHOLDERS.sub(quote, use)

    return tuple(fill(str(use)) for use in description.get("uses", ()))


def _from_here(place: str) -> str:
    """A place below this folder as one would type it here."""
    path = Path(place)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else place


def next_commands(path: Path, description: Mapping[str, Any], state: str) -> tuple[str, ...]:
    """What one may do with a run in this state."""
    if state == "running":
        return (watch_command(path),)
    if state == "stopped" and description:
        return (resume_command(path, str(description.get("kind", PRETRAIN))),)
    if state == "finished":
        return tuple(command for command in use_commands(path, description) if "\n" not in command)
    return ()
