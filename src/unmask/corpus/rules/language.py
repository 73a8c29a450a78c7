"""Which language a text is in, by py3langid: 139 languages, `zxx` for what is no language, `und` where nobody can say.

In: a text. Out: a language's code and its score from 0 to 1. Three stretches of it are looked at, 240 characters
in all, and where these leave a doubt, 1,200: languages are told by their letters and short words, and a few hundred do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

Identifier = Callable[[str], tuple[str, float]]

# Characters of each of the three stretches. Of 5,000 articles of the English Wikipedia, 6 come out as another language;
# with 50, 300 and 0.8 it was 10.
FIRST_LOOK, SECOND_LOOK = 80, 400
SURE = 0.9
LEAST = 0.3  # the score below which nobody can say
UNDETERMINED = "und"


@cache
def _model() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    model.nb_ptc = model.nb_ptc.astype(np.float32)  # half as many bits take twice the time to multiply; 57 MB
    return model


def identifier() -> Identifier:
    """What tells languages; its model is loaded once a process."""
    classify = _model().classify

    def identify(text: str) -> tuple[str, float]:
        language, score = classify(_stretches(text, FIRST_LOOK))
        if score < SURE and len(text) > 3 * FIRST_LOOK:
            language, score = classify(_stretches(text, SECOND_LOOK))
        return (language if score >= LEAST else UNDETERMINED), round(score, 4)

    return identify


def _stretches(text: str, size: int) -> str:
    """The beginning, the middle and the end; of a short text all.

    >>> _stretches("abcdefghi", 2)
    'ab\\nde\\nhi'
    """
    if len(text) <= 3 * size:
        return text
    middle = len(text) // 2
    return "\n".join((text[:size], text[middle - size // 2 : middle + size - size // 2], text[-size:]))


def known_languages() -> tuple[str, ...]:
    """The codes that can be told, in order."""
    return tuple(sorted(_model().labels))
