"""What can go wrong, each kind with the exit code its command ends with.

An error is one line that says what was wrong, where (file, line, field) and what to do. The table below
is the one in the README; `unmask.cli` prints the line on stderr and exits with the code. Every error is public
under its name: `unmask.BadInput`, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING


class UnmaskError(Exception):
    """Something a user can put right: one line, and the exit code of its kind."""

    code = 1
    meaning = "an error of unmask's own: please report it"


class BadInput(UnmaskError):
    """A path, a field or a value that cannot be used as given."""

    code = 3
    meaning = "bad input: a path, a file, a field or a value cannot be used as given"


class MissingOption(BadInput):
    """An option that is needed here, alone or as one of several, was not given."""

    code = 2


class BadLines(BadInput):
    """Lines that cannot be used, each named, among others that were."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("; ".join(lines))
        self.lines = tuple(lines)


class Unreachable(BadInput):
    """A store or a network that does not answer; what was read before is kept for the same command."""


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


class TooManyLosses(UnmaskError):
    """More of a corpus could not be read than the user allows."""

    code = 9
    meaning = "more of a corpus was unreadable than --max-losses allows; no data was written"


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
    2: "usage: an unknown command or option, or a missing one (the line says which)",
    **{error.code: error.meaning for error in ERRORS},
}
ALIKE = 0.75  # difflib's ratio, from which on two names are one misspelt: "explain" and "plan" have 0.73
SHORT = 3  # letters, below which beginning alike means nothing


def did_you_mean(name: str, names: Iterable[str], meant: Mapping[str, str] | None = None) -> str:
    """A question that names the one thing which was probably meant, or nothing where none is near.

    `meant` has words of another spelling altogether that people use for some of the names.

    >>> did_you_mean("elektra", ["bert", "electra"]), did_you_mean("fp16", ["float16"], {"fp16": "float16"})
    ('did you mean electra?', 'did you mean float16?')
    >>> did_you_mean("serve", ["show", "verify"])
    ''
    """
    near = nearest_name(name, names, meant)
    return f"did you mean {near}?" if near else ""


def nearest_name(name: str, names: Iterable[str], meant: Mapping[str, str] | None = None) -> str | None:
    """The one name that was probably meant: by its meaning, its letters, or its beginning if no other begins so.

    >>> nearest_name("mml", ["mlm", "causal"]), nearest_name("batch", ["batch-size", "length"])
    ('mlm', 'batch-size')
    >>> nearest_name("trian", ["pretrain", "plan"], {"train": "pretrain"})
    'pretrain'
    """
    from difflib import get_close_matches

    word = name.lower().replace("_", "-")
    if meant and word in meant:
        return meant[word]
    spellings = {each.lower(): each for each in names}
    if matches := get_close_matches(word, spellings, n=1, cutoff=ALIKE):
        return spellings[matches[0]]
    mixed_up = [each for each in spellings if sorted(each) == sorted(word)]
    begun = [each for each in spellings if min(len(each), len(word)) >= SHORT and _begins_alike(each, word)]
    candidates = mixed_up or begun
    if len(candidates) == 1:
        return spellings[candidates[0]]
    misspelt = get_close_matches(word, meant or (), n=1, cutoff=ALIKE)
    return meant[misspelt[0]] if meant and misspelt else None


def _begins_alike(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


if not TYPE_CHECKING:  # a type checker sees the classes as they stand, and could not follow this
    __all__ = [error.__name__ for error in ERRORS]
