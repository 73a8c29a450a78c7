"""The table of commands: a function below `@verb` is a command and a library call of its name, and nowhere else listed.

In: the functions of the modules beside this one. Out: `COMMANDS`, in the order in which the modules define them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Verb = TypeVar("Verb", bound=Callable[..., Any])

COMMANDS: dict[str, Callable[..., Any]] = {}
LINED: set[Callable[..., Any]] = set()  # that take the lines of standard input for texts that were not given
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


def verb(function: Verb) -> Verb:
    """Make a function a command, with its signature for the options and its docstring for the help."""
    COMMANDS[function.__name__] = function
    return function


def takes_lines(function: Verb) -> Verb:
    """Let standard input stand for the texts of a verb, one text a line, where none were given."""
    LINED.add(function)
    return function
