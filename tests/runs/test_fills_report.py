"""The section with held-out sentences: nothing of data is markup, and it stays small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lxml.html

from unmask.runs.fills_report import LARGEST, fills_section

HOSTILE = "<script>alert(1)</script>"


def fills(words: int = 4, moments: int = 3, sentences: int = 2, word: str = "word") -> dict[str, Any]:
    text = "“" + " ".join([word] * words) + "”, he said."
    places = [(1 + at * (len(word) + 1), 1 + at * (len(word) + 1) + len(word)) for at in range(words)]
    guesses = [[(word, 0.5), ("other", 0.25)] for _ in range(words)]
    sentence = {"text": text, "words": places, "fills": [guesses] * moments}
    steps = [{"step": 10 * number, "names": [word]} for number in range(moments)]
    return {"kept": moments, "moments": steps, "sentences": [sentence] * sentences}


def section(path: Path, content: Any) -> str:
    (path / "fills.json").write_text(json.dumps(content), encoding="utf-8")
    return fills_section(path)


def test_a_word_and_a_moment_can_be_chosen_and_everything_is_there_without_scripts(tmp_path: Path) -> None:
    page = lxml.html.fromstring(f"<main>{section(tmp_path, fills(word=HOSTILE))}</main>")
    assert not list(page.iter("script")) and HOSTILE in page.text_content()
    assert len(page.xpath("//fieldset[@class='scale']//input[@type='radio']")) == 3
    assert len(page.xpath("//div[@class='filled']")) == 2
    assert len(page.xpath("//fieldset[@class='words']//label")) == 2 * 4
    assert len(page.xpath("//ol")) == 2 * 4 * 3 and len(page.xpath("//li")) == 2 * 4 * 3 * 2
    assert page.xpath("//li")[0].text_content().split() == [*HOSTILE.split(), "50.0", "%"]
    assert {mark.text_content() for mark in page.xpath("//i[@class='y']")} == {HOSTILE}
    assert not any(name.startswith("on") for element in page.iter() for name in element.attrib)


def test_one_moment_needs_no_scale_and_many_sentences_stay_within_the_size(tmp_path: Path) -> None:
    assert 'class="scale"' not in section(tmp_path, fills(moments=1))
    assert "--keep-moments" in section(tmp_path, fills(moments=1))
    long = section(tmp_path, fills(words=14, moments=11, sentences=300, word="unbelievable"))
    assert 0.9 * LARGEST < len(long) < LARGEST + 10_000


def test_what_is_not_ours_is_left_out(tmp_path: Path) -> None:
    assert fills_section(tmp_path) == ""
    for content in ([], {}, {"moments": [], "sentences": []}, {"moments": 3, "sentences": [3], "kept": "x"}, "text"):
        assert section(tmp_path, content) == ""
    (tmp_path / "fills.json").write_text("[" * 100_000)
    assert fills_section(tmp_path) == ""
