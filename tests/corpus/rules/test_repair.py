from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.corpus.rules.repair import LEAD, SUSPECT, repair_text

GOOD = [
    "“Ça va ?” – «Très bien», répondit-elle, à 20 °C… l’été à l’Œuvre.",
    "Čeština má háčky; Ελληνικά με τόνους· Русский текст — «в кавычках».",
    "今日は雨です。「はい」と言った。",
    "हिन्दी में वाक्य। 한국어 문장입니다.",
    "fi ligature ﬁ, full width ＡＢＣ, a “quote” and x² ≥ √2 stay.",
    "±5 µm, ½ Å, ×10⁻³, Ω ≈ 3 kΩ",
    "活动\x99\x80¾像",  # controls in Chinese are not Windows' punctuation
]


@pytest.mark.parametrize("text", GOOD)
def test_text_that_is_not_broken_is_the_same_object(text: str) -> None:
    assert repair_text(text)[0] is text


@pytest.mark.parametrize("wrong", ["cp1252", "latin-1"])
@pytest.mark.parametrize("text", ["It’s the café – “naïve” déjà vu.", "Der Preis beträgt 5 € für die Größe."])
def test_text_read_in_a_wrong_encoding_is_put_right(text: str, wrong: str) -> None:
    broken = text.encode().decode(wrong, errors="strict" if wrong == "latin-1" else "ignore")
    if broken.encode(wrong, "ignore") == text.encode():
        assert repair_text(f"A fine line: {GOOD[0]}\n{broken}\n")[0] == f"A fine line: {GOOD[0]}\n{text}\n"


def test_windows_punctuation_in_latin_text_is_put_right() -> None:
    assert repair_text("It\x92s here")[0] == "It’s here"


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(["cafe", "café", "it’s", "“so”", "naïve", "x", "Größe"]), min_size=1, max_size=8))
def test_a_span_is_the_same_words_after_the_repair(words: list[str]) -> None:
    broken = [word.encode().decode("cp1252", "replace") for word in words]
    text, marks = "", []
    for word in broken:
        marks.append((len(text), len(text) + len(word), "entity"))
        text += word + " "
    repaired, moved = repair_text(text, tuple(marks))
    assert repaired == repair_text(text)[0]
    assert [repaired[start:end] for start, end, _ in moved] == repaired.split()


@given(st.text(alphabet="a ÂÃé€™\x80\x9f\xa0\ufffdя猫â”", max_size=8))
def test_what_looks_broken_is_found_wherever_it_stands(text: str) -> None:
    ways = re.compile(f"{LEAD}[^\x00-\x7f]|[ÂÃ] |[\x80-\x9f]|\ufffd")
    assert (SUSPECT.search(text) is None) == (ways.search(text) is None)
