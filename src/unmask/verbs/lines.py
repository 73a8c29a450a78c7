"""Standard input, a text a line: what comes of each line as soon as it is made, and in the end which lines were bad.

In: a function from texts to their results, or to what is wrong with them. Out: the results of the good lines, in their
order; then, if a line was bad, one error that names every one of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BufferedReader
from itertools import groupby
from typing import TypeVar, cast

from unmask.errors import BadInput, BadLines

Result = TypeVar("Result")
Answers = Iterable[Sequence[Result] | BadInput]  # for each text its results, or what is wrong with it

CHUNK = 1 << 16  # bytes read at a time, at the most: less where a pipe has no more to give yet
SHOWN = 20  # stretches of line numbers that are named for one reason


def answer_lines(answer: Callable[[list[str]], Answers[Result]], done: str) -> Iterator[Result]:
    """The results of the lines of standard input as they come; at the end the bad lines, which were not `done`."""
    reasons: dict[str, list[int]] = {}
    total = 0
    for lines in _available_lines():
        texts: dict[int, str] = {}
        for number, line in lines:
            try:
                text = line.decode("utf-8").strip()
            except UnicodeDecodeError as error:
                reasons.setdefault(f"not UTF-8 at byte {error.start + 1} of the line", []).append(number)
                total += 1
                continue
            if text:
                texts[number] = text
        total += len(texts)
        for number, results in zip(texts, answer(list(texts.values())) if texts else (), strict=True):
            if isinstance(results, BadInput):
                reasons.setdefault(str(results), []).append(number)
            else:
                yield from results
    if reasons:
        count = sum(map(len, reasons.values()))
        in_order = sorted(reasons.items(), key=lambda item: item[1])
        named = [f"{spell_lines(numbers)}: {reason}" for reason, numbers in in_order]
        raise BadLines([*named, f"{count:,} of {total:,} lines could not be {done}"])


def _available_lines() -> Iterator[list[tuple[int, bytes]]]:
    """The lines that can be had without waiting for more, with their numbers: what is typed is answered at once."""
    number, beginning = 0, [b""]
    stdin = cast(BufferedReader, sys.stdin.buffer)
    while chunk := stdin.read1(CHUNK):
        first, *others = chunk.split(b"\n")
        beginning.append(first)
        if not others:
            continue
        lines = [b"".join(beginning), *others[:-1]]
        beginning = [others[-1]]
        yield list(enumerate(lines, start=number + 1))
        number += len(lines)
    if any(beginning):
        yield [(number + 1, b"".join(beginning))]


def spell_lines(numbers: Sequence[int]) -> str:
    """Line numbers as people write them.

    >>> spell_lines([7]), spell_lines([2, 4, 5, 6, 9])
    ('line 7', 'lines 2, 4–6, 9')
    """
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    spelt = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs[:SHOWN]]
    others = sum(map(len, runs[SHOWN:]))
    return f"line{'s' * (len(numbers) > 1)} {', '.join(spelt)}" + (f" and {others:,} more" if others else "")


def refuse_files(texts: Sequence[str], command: str) -> None:
    """Say how a file is read, where its name was given as a text."""
    for text in texts:
        if os.path.isfile(text):  # noqa: PTH113  Path.is_file raises for a text that is too long for a name
            raise BadInput(f"{text}: is a file, not a text; its lines are read with `{command} - < {text}`")
