"""How an answer is judged: exact match and F1 of words, as SQuAD's own evaluation has them.

In: what was said, and the answers that count as right. Out: numbers from 0 to 1 (Rajpurkar et al. 2016, 2018). Case,
punctuation, English articles and spaces do not count; of several right answers the one that is matched best does;
nothing said is right where there is no answer.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(answer: str) -> str:
    """An answer in small letters, without punctuation, articles and needless spaces.

    >>> normalised("The  Cat's, a pyjamas!")
    'cats pyjamas'
    """
    return " ".join(ARTICLES.sub(" ", answer.lower().translate(PUNCTUATION)).split())


def exact_match(said: str, answers: Sequence[str]) -> float:
    """Whether what was said is one of the answers."""
    return float(any(normalised(said) == answer for answer in _right(answers)))


def word_f1(said: str, answers: Sequence[str]) -> float:
    """The best F1 of the words of what was said with those of an answer.

    >>> word_f1("in the old town", ["the old town", "town"]), word_f1("", []), word_f1("town", [])
    (0.8, 1.0, 0.0)
    """
    return max(_one_word_f1(normalised(said).split(), answer.split()) for answer in _right(answers))


def _right(answers: Sequence[str]) -> list[str]:
    """The answers that are something once they are normalised; the empty one where there are none."""
    return [each for answer in answers if (each := normalised(answer))] or [""]


def _one_word_f1(said: list[str], answer: list[str]) -> float:
    if not said or not answer:
        return float(said == answer)
    shared = sum((Counter(said) & Counter(answer)).values())
    return 2 * shared / (len(said) + len(answer))
