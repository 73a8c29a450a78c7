"""The rows of blanks that are filled together: what a model is shown while some of them are filled and others not.

In: a text with blanks, and which of them. Out: a row for every state that a search may be in.

    text      He  lives  in  [MASK]  [MASK]  now          (blanks 0 and 1 of this row)
    state                    (New,)  (mask,)
    row  [CLS] He  lives  in   New    [MASK]  now [SEP]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from unmask.inference.ask import Question
from unmask.inference.blanks import Blank, BlankText
from unmask.models.load import LoadedModel
from unmask.records import Ids
from unmask.tokens.windows import window_around

Pieces = tuple[int, ...]  # of one blank; the mask where a piece is not known
State = tuple[Pieces, ...]  # of the blanks of a row

MOST_BLANKS = 8  # that are filled together: what one says of another fades, and the work grows with their square


@dataclass(frozen=True)
class BlankRow:
    """A stretch of a text and the blanks in it that are filled together."""

    parts: tuple[Ids, ...]  # the tokens before, between and behind the blanks, opening and closing ones among them
    blanks: tuple[Blank, ...]
    numbers: tuple[int, ...]  # of the blanks in their text
    window: tuple[int, int]  # the tokens of the text that are seen
    mask: int

    @property
    def hidden(self) -> State:
        """The state in which nothing is filled, each blank being one mask."""
        return ((self.mask,),) * len(self.blanks)

    def question(self, state: State, *asked: tuple[int, int]) -> Question:
        """The row of a state, asked for pieces: (blank, piece)."""
        ids: list[Ids] = [self.parts[0]]
        starts, place = [], len(self.parts[0])
        for pieces, part in zip(state, self.parts[1:], strict=True):
            starts.append(place)
            ids += [np.array(pieces, np.int32), part]
            place += len(pieces) + len(part)
        return Question(np.concatenate(ids), np.array([starts[blank] + piece for blank, piece in asked]))


def with_pieces(state: State, blank: int, pieces: Pieces) -> State:
    """A state with one blank filled otherwise."""
    return (*state[:blank], pieces, *state[blank + 1 :])


def blank_groups(text: BlankText, room: int | None) -> list[tuple[int, ...]]:
    """Which blanks of a text are filled together: neighbours, so many as fit, with half a row of context left for them.

    Blanks of a text that fits into a row are all within sight of each other; of a longer one those far apart are not.
    """
    span = len(text.ids) if room is None or len(text.ids) <= room else max(1, room // 2)
    groups: list[list[int]] = []
    for number, blank in enumerate(text.blanks):
        begins = not groups or len(groups[-1]) == MOST_BLANKS
        if begins or blank.place - text.blanks[groups[-1][0]].place >= span:
            groups.append([])
        groups[-1].append(number)
    return [tuple(group) for group in groups]


def make_row(
    lm: LoadedModel,
    text: BlankText,
    group: Sequence[int],
    *,
    most_pieces: int = 1,
    shown: Mapping[int, Pieces] | None = None,
    window: tuple[int, int] | None = None,
) -> BlankRow:
    """The row in which a group of blanks stands in the middle, unless a window is given.

    `shown` is what stands in the place of single tokens of the text: the answers of other blanks, a word, nothing.
    `most_pieces` is how many a blank may become.
    """
    blanks = [text.blanks[number] for number in group]
    reserve = (most_pieces - 1) * sum(blank.word or bool(blank.choices) for blank in blanks)
    room = None if lm.room is None else max(1, lm.room - reserve)
    window = window or window_around(blanks[0].place, blanks[-1].place + 1, len(text.ids), room)
    edges = [window[0], *(blank.place for blank in blanks), window[1]]
    parts = [
        _with_shown(text.ids, begin + (number > 0), end, shown or {})
        for number, (begin, end) in enumerate(pairwise(edges))
    ]
    if room is not None:
        _trim(parts, sum(map(len, parts)) + len(blanks) - room)
    opening, closing = (np.array([token], np.int32) for token in (lm.vocabulary.start, lm.vocabulary.end))
    parts[0] = np.concatenate((opening, parts[0]))
    parts[-1] = np.concatenate((parts[-1], closing))
    return BlankRow(tuple(parts), tuple(blanks), tuple(group), window, lm.vocabulary.mask)


def _with_shown(ids: Ids, begin: int, end: int, shown: Mapping[int, Pieces]) -> Ids:
    """Tokens of a text, some of them in another form."""
    changed = [place for place in shown if begin <= place < end]
    if not changed:
        return ids[begin:end]
    tokens: list[int] = []
    for place in range(begin, end):
        tokens += shown.get(place, (int(ids[place]),))
    return np.array(tokens, np.int32)


def _trim(parts: list[Ids], excess: int) -> None:
    """Take tokens off the ends where words of several pieces made a row too long, from the longer end first."""
    for _ in range(max(0, excess)):
        if len(parts[0]) >= len(parts[-1]):
            parts[0] = parts[0][1:]
        else:
            parts[-1] = parts[-1][:-1]
