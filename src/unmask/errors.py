"""What can go wrong, each kind with the exit code its command ends with.

An error is one line that says what was wrong, where (file, line, field) and what to do. The table below
is the one in the README; `unmask.cli` prints the line on stderr and exits with the code. Every error is public
under its name: `unmask.BadInput`, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING


class UnmaskError(Exception):
    """Something a user can put right: one line, and the exit code of its kind."""

    code = 1
    meaning = "an error of unmask's own: please report it"


class BadInput(UnmaskError):
    """A path, a field or a value that cannot be used as given."""

    code = 3
    meaning = "bad input: a path, a file, a field or a value cannot be used as given"


class BadLines(BadInput):
    """Lines that cannot be used, each named, among others that were."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("; ".join(lines))
        self.lines = tuple(lines)


class Damaged(UnmaskError):
    """A file is not what its manifest says it was."""

    code = 4
    meaning = "damage: a file is missing, truncated or changed"


class Refused(UnmaskError):
    """Going on would overwrite or mix up work that is already there."""

    code = 5
    meaning = "refused: it would overwrite or mix up work that is already there"


class Diverged(UnmaskError):
    """Training gave non-finite numbers several steps in a row."""

    code = 6
    meaning = "training diverged: non-finite loss or gradients several steps in a row"


class NoSpace(UnmaskError):
    """The disk is full or cannot be written."""

    code = 7
    meaning = "the disk is full or cannot be written; what was saved before is whole"


class Lost(UnmaskError):
    """A process of a run on many is gone or does not answer."""

    code = 8
    meaning = "a process of a run on many is gone; what was saved before is whole, --resume continues"


class Interrupted(UnmaskError):
    """Stopped by Ctrl-C; the work so far is saved."""

    code = 130
    meaning = "stopped by Ctrl-C; the work so far is saved, --resume continues"


class Terminated(UnmaskError):
    """Stopped by SIGTERM; the work so far is saved."""

    code = 143
    meaning = "stopped by SIGTERM; the work so far is saved, --resume continues"


ERRORS: tuple[type[UnmaskError], ...] = (UnmaskError, *UnmaskError.__subclasses__())
EXIT_CODES: dict[int, str] = {
    0: "success",
    2: "usage: an unknown command or option (the line says which)",
    **{error.code: error.meaning for error in ERRORS},
}
if not TYPE_CHECKING:  # a type checker sees the classes as they stand, and could not follow this
    __all__ = [error.__name__ for error in ERRORS]
