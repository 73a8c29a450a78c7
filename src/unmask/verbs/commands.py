"""The table of commands: a function below `@verb` is a command and a library call of its name, and nowhere else listed.

In: the functions of the modules beside this one. Out: `COMMANDS`, in the order in which the modules define them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Verb = TypeVar("Verb", bound=Callable[..., Any])

COMMANDS: dict[str, Callable[..., Any]] = {}
# Verbs that take the lines of standard input for their texts, and what gives the results of those one after the other.
LINED: dict[Callable[..., Any], Callable[..., Iterator[Any]]] = {}


def verb(function: Verb) -> Verb:
    """Make a function a command, with its signature for the options and its docstring for the help."""
    COMMANDS[function.__name__] = function
    return function


def takes_lines(of_lines: Callable[..., Iterator[Any]]) -> Callable[[Verb], Verb]:
    """Let standard input stand for the texts of a verb, one text a line, where none were given."""

    def register(function: Verb) -> Verb:
        LINED[function] = of_lines
        return function

    return register
