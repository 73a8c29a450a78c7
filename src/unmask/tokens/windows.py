"""Texts that are longer than a model takes, read in windows: no token is dropped uncounted.

In: how many tokens a text has and how many a row holds. Out: windows that overlap, each with the tokens that it judges:
every token is judged once, in the window where it has most context on its poorer side.

    tokens     0 1 2 3 4 5 6 7 8 9      room 6
    windows    . . . . . .              judges 0 – 3
                   . . . . . .          judges 4, 5
                       . . . . . .      judges 6 – 9
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Literal, NamedTuple

from unmask.errors import BadInput

OnLong = Literal["windows", "error", "cut"]  # what is done with a text that is longer than a row


class Window(NamedTuple):
    """A stretch of a text that the model sees at once, and the part of it that is judged there."""

    begin: int  # the first token seen
    end: int  # the one after the last
    first: int  # the first token judged
    last: int  # the one after the last

    @property
    def judged(self) -> slice:
        """The tokens judged, as places in the window."""
        return slice(self.first - self.begin, self.last - self.begin)


class Reading(NamedTuple):
    """How a text is read: in which windows, and how much of it."""

    windows: list[Window]
    tokens: int  # of the text
    cut: int  # of them not read

    @property
    def tokens_read(self) -> int:
        """The tokens that were read."""
        return self.tokens - self.cut


def windows_over(tokens: int, room: int) -> list[Window]:
    """Windows over a text, as few as let each overlap half of the next, evenly spread; one where it fits.

    >>> [tuple(window) for window in windows_over(10, 6)]
    [(0, 6, 0, 4), (2, 8, 4, 6), (4, 10, 6, 10)]
    """
    if tokens <= room:
        return [Window(0, tokens, 0, tokens)]
    stride = max(1, room // 2)
    count = 1 + -(-(tokens - room) // stride)
    begins = [round(number * (tokens - room) / (count - 1)) for number in range(count)]
    edges = [0, *((begin + room + following) // 2 for begin, following in pairwise(begins)), tokens]
    return [
        Window(begin, begin + room, first, last) for begin, (first, last) in zip(begins, pairwise(edges), strict=True)
    ]


def windows_to_the_right(tokens: int, room: int) -> list[Window]:
    """Windows for what is read from left to right: each judges what follows the one before, half a row in sight.

    >>> [tuple(window) for window in windows_to_the_right(10, 6)]
    [(0, 6, 0, 6), (3, 9, 6, 9), (4, 10, 9, 10)]
    """
    windows = [Window(0, min(tokens, room), 0, min(tokens, room))]
    step = max(1, room - room // 2)
    while (judged := windows[-1].last) < tokens:
        end = min(tokens, judged + step)
        windows.append(Window(end - room, end, judged, end))
    return windows


def read_windows(
    tokens: int,
    room: int | None,
    on_long: OnLong = "windows",
    over: Callable[[int, int], list[Window]] = windows_over,
) -> Reading:
    """How a text of so many tokens is read where a row has room for so many; None is a row without an end."""
    if room is None or tokens <= room:
        return Reading([Window(0, tokens, 0, tokens)], tokens, 0)
    if on_long == "error":
        raise BadInput(f"{tokens:,} tokens, but this model takes {room:,}; without --on-long error it reads windows")
    if on_long == "cut":
        return Reading([Window(0, room, 0, room)], tokens, tokens - room)
    return Reading(over(tokens, room), tokens, 0)


def window_around(first: int, last: int, tokens: int, room: int | None) -> tuple[int, int]:
    """The stretch of a text that a row has room for and in which the tokens from first to last stand in the middle.

    >>> window_around(0, 1, 100, 10), window_around(50, 52, 100, 10), window_around(99, 100, 100, 10)
    ((0, 10), (46, 56), (90, 100))
    """
    if room is None or tokens <= room:
        return 0, tokens
    begin = min(max(0, (first + last - room) // 2), tokens - room)
    return begin, begin + room
