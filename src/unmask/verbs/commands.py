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
# what people who come from elsewhere type, and what it is called here
MEANT = {
    **dict.fromkeys(("train", "pretraining", "fit"), "pretrain"),
    **dict.fromkeys(("resume", "continue"), "pretrain --resume"),
    **dict.fromkeys(("tokenize", "tokenise", "preprocess", "clean", "encode", "ingest"), "prepare"),
    **dict.fromkeys(("mask", "corrupt", "hide", "preview"), "show"),
    **dict.fromkeys(("predict", "infer", "unmask", "fill-mask", "fillmask"), "fill"),
    **dict.fromkeys(("eval", "test", "measure", "perplexity", "ppl"), "evaluate"),
    **dict.fromkeys(("status", "ls", "list", "history"), "runs"),
    **dict.fromkeys(("monitor", "follow", "tail"), "watch"),
    **dict.fromkeys(("check", "checksum", "fsck"), "verify"),
    **dict.fromkeys(("estimate", "cost", "dry-run"), "plan"),
    **dict.fromkeys(("benchmark", "bench"), "compare"),
    **dict.fromkeys(("phrases", "pmi"), "collocations"),
    **dict.fromkeys(("version",), "--version"),
}
# what has no command because nothing is left to do for it
NEEDLESS = dict.fromkeys(
    ("export", "convert", "save"), "the model of a run, RUN/model, is already a directory that transformers loads"
)


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
