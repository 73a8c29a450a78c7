from __future__ import annotations

import numpy as np
import pytest

from unmask.inference.blanks import BlankText
from unmask.inference.completion import candidate_label, complete_text

SPACING = [
    # text, the spelling inside a text of each best guess, the text completed, and how the guess is listed
    ("The [MASK] barks.", [" dog"], "The dog barks.", "dog"),
    ("[MASK] is here", [" Paris"], "Paris is here", "Paris"),
    ("[MASK] is here", ["Paris"], "Paris is here", "Paris"),
    ("He was walk [MASK].", ["ing"], "He was walking.", "##ing"),
    ("He was walk[MASK].", ["ing"], "He was walking.", "##ing"),
    ("He came [MASK]", ["."], "He came.", "."),
    ("a ([MASK])", ["dog"], "a (dog)", "dog"),
    ("a ([MASK])", [" dog"], "a (dog)", "dog"),
    ("中[MASK]人", [" 国"], "中国人", "国"),
    ("a  [MASK]  b", [" dog"], "a  dog  b", "dog"),
]


@pytest.mark.parametrize(("text", "spelt", "completed", "shown"), SPACING)
def test_the_text_keeps_its_spacing_and_pieces_join_their_word(
    text: str, spelt: list[str], completed: str, shown: str
) -> None:
    question = BlankText(text, tuple(text.split("[MASK]")), np.zeros(0, np.int32), ())
    done = complete_text(question, spelt)
    assert done.text == completed
    assert [done.text[slice(*place)] for place in done.places] == [each.strip() for each in spelt]
    assert [candidate_label(each, in_word) for each, in_word in zip(spelt, done.in_word, strict=True)] == [shown]
    parts = zip(question.between, done.starts, strict=True)
    assert all(done.text[start : start + len(part.rstrip())] == part.rstrip() for part, start in parts)
