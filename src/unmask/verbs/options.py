"""The options of a verb, as its signature and its docstring have them.

In: a verb. Out: its options, each with its flag, what it takes and what it is for. `unmask.verbs.mistakes` says by them
what is wrong with the words of a command, and `unmask.verbs.shells` completes them.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any

from unmask.verbs.arguments import Location
from unmask.verbs.commands import STREAMED

JSON_HELP = "Print the result as JSON."
JSON_LINES_HELP = "Print the results as JSON lines: an object a line, as they come, of one text and of a file."
KINDS = {int: "INT", float: "FLOAT", str: "STR", Path: "PATH"}  # as `--help` calls them


@dataclass(frozen=True, kw_only=True)
class Option:
    """One thing that a command takes: at its place, or after its flag."""

    name: str  # of the parameter
    positional: bool = False
    kind: type = str  # int, float, str, Path or bool: of one value
    choices: tuple[str, ...] = ()  # where only these will do
    several: bool = False  # any number of values
    alone: bool = False  # its flag may stand without a value
    required: bool = False
    default: Any = None
    purpose: str = ""  # what the help says

    @property
    def flag(self) -> str:
        """What it is called on the command line: --batch-size; try_ is --try, which Python has for itself."""
        return f"--{self.name.rstrip('_').replace('_', '-')}"

    @property
    def flags(self) -> tuple[str, ...]:
        """All spellings: a flag that is on by itself can be switched off."""
        if self.positional:
            return ()
        on_by_itself = self.kind is bool and self.default is True
        return (self.flag, f"--no-{self.flag[2:]}") if on_by_itself else (self.flag,)

    @property
    def label(self) -> str:
        """The option as the help's usage line has it: DATA, --out PATH, --resume."""
        if self.positional:
            return self.name.upper()
        if self.kind is bool:
            return self.flag
        if self.alone:
            return f"{self.flag} [RUN]"
        return f"{self.flag} {{{','.join(self.choices)}}}" if self.choices else f"{self.flag} {KINDS[self.kind]}"


def json_help(verb: Callable[..., Any]) -> str:
    """What --json prints: one document, or a line for each result where there may be many."""
    return JSON_LINES_HELP if verb in STREAMED else JSON_HELP


@cache
def options_of(verb: Callable[..., Any]) -> tuple[Option, ...]:
    """What a command takes, in the order of its signature; --json is the last of it.

    >>> from unmask.verbs import verify
    >>> [(option.label, option.required) for option in options_of(verify)]
    [('PATH', True), ('--json', False)]
    """
    hints, purposes = typing.get_type_hints(verb), purposes_of(verb)
    options = []
    for parameter in inspect.signature(verb).parameters.values():
        variadic = parameter.kind is parameter.VAR_POSITIONAL
        kind, choices, several = _taken(hints[parameter.name])
        options.append(
            Option(
                name=parameter.name,
                positional=variadic or parameter.kind is parameter.POSITIONAL_ONLY,
                kind=kind,
                choices=choices,
                several=several or variadic,
                alone=hints[parameter.name] == Location | bool,
                required=parameter.default is parameter.empty and not variadic,
                default=None if parameter.default is parameter.empty else parameter.default,
                purpose=purposes.get(parameter.name, ""),
            )
        )
    return (*options, Option(name="json", kind=bool, default=False, purpose=json_help(verb)))


def _taken(hint: Any) -> tuple[type, tuple[str, ...], bool]:
    """What a hint lets through: the type of a value, the choices, and whether there may be several."""
    if typing.get_origin(hint) in (UnionType, typing.Union):
        if Path in typing.get_args(hint):  # `Location`, or none
            return Path, (), False
        kinds = [each for each in typing.get_args(hint) if each is not NoneType]
        hint = str if str in kinds else kinds[0]  # a number or a text, as 1e-4 or 1e-4,3e-4, is a text to begin with
    if typing.get_origin(hint) is tuple:
        kind, choices, _ = _taken(typing.get_args(hint)[0])
        return kind, choices, True
    if typing.get_origin(hint) is typing.Literal:
        return str, tuple(map(str, typing.get_args(hint))), False
    return hint, (), False


def purposes_of(verb: Callable[..., Any]) -> dict[str, str]:
    """What a docstring says of each argument, in one line each."""
    _, _, arguments = (inspect.getdoc(verb) or "").partition("Args:\n")
    entries = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", arguments, re.M)
    return {name: " ".join(text.split()) for name, text in entries}


def takes(option: Option) -> str:
    """What may be given for an option, in words.

    >>> takes(Option(name="steps", kind=int)), takes(Option(name="shell", choices=("bash", "zsh")))
    ('a whole number', 'one of bash, zsh')
    """
    if option.choices:
        return f"one of {', '.join(option.choices)}"
    return {int: "a whole number", float: "a number", Path: "a path"}.get(option.kind, "a text")


assert typing.get_args(Location) == (str, Path)  # what `_taken` knows a path by
