"""What blanks are filled with, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guess:
    """One candidate for a blank."""

    token: str
    probability: float
    pieces: int = 1  # tokens it has


@dataclass(frozen=True)
class Filling:
    """Words for several blanks at once."""

    words: tuple[str, ...]
    log_probability: float  # one after the other, in nats: the mean over orders of revealing them
    spread: float  # between the likeliest of these orders and the least likely, in nats
    probability: float | None = None  # among the pairs of the table, where there are two blanks


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """What blanks that are filled together agree on, the likeliest first."""

    blanks: tuple[int, ...]  # which of the text's, the first being 0
    method: str  # table (two blanks), or beam; decoder, of T5
    fillings: tuple[Filling, ...]
    independent: Filling | None  # the best of each blank on its own, judged in the same way; T5 has none
    orders: int  # in which they were revealed
    outside: tuple[float, ...] = ()  # of each blank, the probability of what the table leaves out


@dataclass(frozen=True)
class WordRelevance:
    """What a word of the context did for an answer."""

    word: str
    start: int  # in `completed` of what was filled
    end: int
    relevance: float  # nats: above 0 it made the answer likelier than other words in its place would


@dataclass(frozen=True, kw_only=True)
class Explained:
    """Which words of the context mattered for the answer of a blank, or of blanks that agree."""

    blanks: tuple[int, ...]  # which of the text's
    answer: tuple[str, ...]
    log_probability: float  # of the answer, in nats
    words: tuple[WordRelevance, ...]  # in the order of the text
    replacements: int  # words that were tried in the place of each
    covered: float  # their share of what could stand there, on average
    left_out: int = 0  # words of the row too far away to be tried


@dataclass(frozen=True)
class Filled:
    """A text with its blanks filled: what each blank says on its own, and the text as they agree on it."""

    text: str
    blanks: tuple[tuple[Guess, ...], ...]  # the candidates of each on its own, the others staying blank; best first;
    # of T5 behind what the blanks before it are filled with
    completed: str
    places: tuple[tuple[int, int], ...]  # where each filled word starts and ends in `completed`
    independent: str = ""  # the text completed with the best of each blank on its own; T5 has none
    agreements: tuple[Agreement, ...] = ()  # of blanks that are filled together
    tokens: int = 0  # of the text
    tokens_read: int = 0  # of them within sight of a blank
    windows: int = 1  # in which they were read
    cut: int = 0  # tokens left away, as asked for
    word_lengths: str = ""  # where the share of words of each length is from, if lengths competed
    explained: tuple[Explained, ...] = ()
    notes: tuple[str, ...] = ()
    method: str = "masked"  # or spans: T5, whose decoder spells out the blanks from left to right
