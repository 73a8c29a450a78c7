"""The table of commands: a function below `@verb` is a command and a library call of its name, and nowhere else listed.

In: the functions of the modules beside this one. Out: `COMMANDS`, in the order in which the modules define them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from unmask.errors import BadInput

Verb = TypeVar("Verb", bound=Callable[..., Any])
Taken = ParamSpec("Taken")
Result = TypeVar("Result")

COMMANDS: dict[str, Callable[..., Any]] = {}
# Verbs over texts, which may be the lines of standard input, and what gives their results one after the other.
STREAMED: dict[Callable[..., Any], Callable[..., Iterator[Any]]] = {}
# Of these, verbs that have something to do without texts: standard input is not read unless - asks for it.
TEXTLESS: set[Callable[..., Any]] = set()
# Of these, verbs whose answers to a file are JSON lines wherever they are not read on a terminal.
ROWWISE: set[Callable[..., Any]] = set()
# what people who come from elsewhere type, and what it is called here
MEANT = {
    **dict.fromkeys(("train", "pretraining", "fit"), "pretrain"),
    **dict.fromkeys(("resume", "continue"), "pretrain --resume"),
    **dict.fromkeys(("tokenize", "tokenise", "preprocess", "clean", "encode", "ingest"), "prepare"),
    **dict.fromkeys(("vocab", "vocabulary", "vocab-size"), "tokenizer"),
    **dict.fromkeys(("mask", "corrupt", "hide", "preview"), "show"),
    **dict.fromkeys(("infer", "unmask", "fill-mask", "fillmask"), "fill"),
    **dict.fromkeys(("finetune", "fine-tune", "classify"), "tune"),
    **dict.fromkeys(("label", "apply"), "predict"),
    **dict.fromkeys(("attribute", "interpret", "saliency"), "explain"),
    **dict.fromkeys(("eval", "test", "measure", "perplexity", "ppl"), "evaluate"),
    **dict.fromkeys(("surprisal", "likelihood", "pll", "rescore", "rank"), "score"),
    **dict.fromkeys(("blimp", "lama", "pairs", "minimal-pairs"), "probe"),
    **dict.fromkeys(("status", "ls", "list", "history"), "runs"),
    **dict.fromkeys(("monitor", "follow", "tail"), "watch"),
    **dict.fromkeys(("check", "checksum", "fsck"), "verify"),
    **dict.fromkeys(("estimate", "cost", "dry-run"), "plan"),
    **dict.fromkeys(("benchmark", "bench"), "compare"),
    **dict.fromkeys(("phrases", "pmi"), "collocations"),
    **dict.fromkeys(("vectors", "vectorize", "vectorise", "embeddings"), "embed"),
    **dict.fromkeys(("find", "query", "retrieve"), "search"),
    **dict.fromkeys(("neighbours", "neighbors", "duplicates"), "near"),
    **dict.fromkeys(("convert", "onnx", "quantize"), "export"),
    **dict.fromkeys(("write", "sample", "complete"), "generate"),
    **dict.fromkeys(("server", "web", "ui", "playground", "api", "dashboard"), "serve"),
    **dict.fromkeys(("version",), "--version"),
}
# what has no command because nothing is left to do for it
NEEDLESS = {"save": "the model of a run, RUN/model, is already a directory that transformers loads"}


def verb(function: Verb) -> Verb:
    """Make a function a command, with its signature for the options and its docstring for the help."""
    COMMANDS[function.__name__] = function
    return function


def streamed(function: Callable[Taken, Iterator[Result]]) -> Callable[Taken, list[Result]]:
    """A verb whose results the command line shows as they come, and whose call gives them as a list.

    On the command line standard input stands for its texts where none are given.
    """

    @wraps(function)
    def in_a_list(*positions: Taken.args, **settings: Taken.kwargs) -> list[Result]:
        if any(isinstance(each, list | tuple) for each in positions):
            name = function.__name__
            raise BadInput(f"unmask.{name} takes one after the other and no list: give *texts where texts is one")
        return list(function(*positions, **settings))

    STREAMED[in_a_list] = function
    return in_a_list


def textless(function: Verb) -> Verb:
    """A streamed verb that needs no texts."""
    TEXTLESS.add(function)
    return function


def rowwise(function: Verb) -> Verb:
    """A streamed verb that makes a file of a file: `unmask predict run new.jsonl > labelled.jsonl`."""
    ROWWISE.add(function)
    return function
