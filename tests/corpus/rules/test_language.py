from __future__ import annotations

import pytest

from unmask.corpus.rules.language import identifier, known_languages

TEXTS = {
    "en": "The cat sat on the mat and looked at the rain behind the window, which had begun in the morning.",
    "de": "Die Katze saß auf der Matte und sah dem Regen hinter dem Fenster zu, der am Morgen begonnen hatte.",
    "fr": "Le chat était assis sur le tapis et regardait la pluie derrière la fenêtre depuis le matin.",
    "ru": "Кошка сидела на коврике и смотрела на дождь за окном, который начался утром.",
    "ja": "猫はマットの上に座って、朝から降り始めた窓の外の雨を見ていました。",
    "th": "แมวนั่งบนเสื่อและมองดูฝนที่ตกอยู่นอกหน้าต่างตั้งแต่เช้า",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_sentence_is_enough_to_tell_its_language(language: str) -> None:
    told, score = identifier()(TEXTS[language])
    assert told == language and 0.5 < score <= 1


def test_a_doubt_is_settled_by_a_longer_look() -> None:
    table = "1 2 3 4 5 6 7 8 9 0 " * 8
    text = "\n".join((table, TEXTS["de"] * 4, table, TEXTS["de"] * 4, table))
    assert identifier()(text)[0] == "de"


@pytest.mark.parametrize("text", ["", "OK", "\ud800", "12345 67890 3.14"])
def test_nobody_says_what_cannot_be_said(text: str) -> None:
    told, score = identifier()(text)
    assert told == "und" and score < 0.3


def test_what_is_no_language_is_one_of_the_answers() -> None:
    assert "zxx" in known_languages() and "en" in known_languages()
