"""Answers to a completed text, as it was written.

In: a text with blanks, and what fills each as it reads in a text: with a space before it where it starts a word. Out:
the text, where each answer stands in it, and how candidates are listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from unmask.inference.blanks import BlankText


class Completed(NamedTuple):
    """A text without blanks."""

    text: str
    places: tuple[tuple[int, int], ...]  # where each answer starts and ends
    in_word: tuple[bool, ...]  # whether a letter stands before each blank
    starts: tuple[int, ...]  # where what stands before, between and behind the blanks starts


def complete_text(text: BlankText, answers: Sequence[str]) -> Completed:
    """Put answers into a text as it was written.

    The [MASK] barks.     the text's own spacing stays              The dog barks.
    He was walk [MASK].   a token that continues a word joins it    He was walking.
    """
    whole, places, in_word = text.between[0], [], []
    starts = [0]
    for answer, after in zip(answers, text.between[1:], strict=True):
        in_word.append(whole.rstrip()[-1:].isalnum())
        whole = whole if answer[0].isspace() else whole.rstrip()
        places.append((len(whole), len(whole) + len(answer.strip())))
        starts.append(places[-1][1])
        whole += answer.strip() + after
    return Completed(whole, tuple(places), tuple(in_word), tuple(starts))


def candidate_label(spelt: str, in_word: bool) -> str:
    """A candidate as a list shows it: ## before a token that continues a word, for every vocabulary."""
    return f"##{spelt}" if in_word and spelt[0].isalnum() else spelt.strip()
