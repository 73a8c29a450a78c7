"""Every rule against a text just within and one just beyond its limit, both made for it from the publication."""

from __future__ import annotations

import pytest

from unmask.corpus.rules.figures import TextFigures
from unmask.corpus.rules.table import ASKED_FOR, DOCUMENT_RULES, EDITS, PRESETS


def words(count: int, word: str = "word") -> list[str]:
    return [f"{word}{n:03}" for n in range(count)]


def lines(kinds: dict[str, int]) -> str:
    return "\n".join(text.format(n) for text, count in kinds.items() for n in range(count))


def ngrams(size: int, times: int, total: int) -> str:
    """So many words of four letters, of which a run is said several times with other words between."""
    run, others = [f"r{n:03}" for n in range(size)], iter(words(total, ""))
    text: list[str] = []
    for number in range(times):
        text += [*run, f"x{number:03}"]
    return " ".join([*text, *(f"y{word}" for word in others)][:total])


LONG = "A line of words that is long enough number {}"
# within and beyond: the first stays, the second goes
CASES: dict[str, tuple[str, str]] = {
    "gopher-words": (" ".join(words(50)), " ".join(words(49))),
    "gopher-word-length": ("abc abc abc", "abc abc ab"),
    "gopher-hashes": (" ".join(words(9)) + " #", " ".join(words(8)) + " #"),
    "gopher-ellipses": (" ".join(words(9)) + " …", " ".join(words(8)) + " ..."),
    "gopher-bullet-lines": (lines({"• {}": 9, "text {}": 1}), lines({"- {}": 10})),
    "gopher-ellipsis-lines": (lines({"so {}…": 3, "text {}": 7}), lines({"so {}...": 4, "text {}": 6})),
    "gopher-letters": ("a b c d 1", "a b c 1 2"),
    "gopher-stop-words": ("The cat\nand dog", "The cat, the dog. Theory sand."),
    "gopher-duplicate-lines": (lines({"same": 4, "text {}": 6}), lines({"same": 5, "text {}": 5})),
    "gopher-duplicate-line-characters": (lines({"aaaaa": 3, "bbbbbbb{}": 5}), lines({"aaaaa": 4, "bbbbbbb{}": 5})),
    "gopher-top-2-gram": (ngrams(2, 2, 20), ngrams(2, 2, 19)),
    "gopher-top-3-gram": (ngrams(3, 2, 34), ngrams(3, 2, 33)),
    "gopher-top-4-gram": (ngrams(4, 2, 50), ngrams(4, 2, 49)),
    "gopher-duplicate-5-grams": (ngrams(5, 3, 100), ngrams(5, 3, 99)),
    "gopher-duplicate-6-grams": (ngrams(6, 2, 86), ngrams(6, 2, 85)),
    "gopher-duplicate-7-grams": (ngrams(7, 2, 108), ngrams(7, 2, 107)),
    "gopher-duplicate-8-grams": (ngrams(8, 2, 134), ngrams(8, 2, 133)),
    "gopher-duplicate-9-grams": (ngrams(9, 2, 164), ngrams(9, 2, 163)),
    "gopher-duplicate-10-grams": (ngrams(10, 2, 200), ngrams(10, 2, 199)),
    "c4-sentences": ("One. Two. Three. Four. Five.", "One. Two. Three. Four."),
    "c4-lorem-ipsum": ("Lorem is a word.", "Lorem ipsum dolor."),
    "c4-curly-brackets": ("a [b] c", "if (x) { y }"),
    "fineweb-ended-lines": (lines({"End {}.": 12, "text {}": 88}), lines({"End {}.": 11, "text {}": 89})),
    "fineweb-short-lines": (lines({"short {}": 67, LONG: 33}), lines({"short {}": 68, LONG: 32})),
    "fineweb-duplicate-line-characters": (
        lines({"s": 2, "line{:03}": 14}),
        lines({"s": 2, "line{:03}": 13}),
    ),
    "fineweb-newlines": ("a b c\nd e f\ng h i j\n", "a b c\nd e\nf\ng h i\n"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_document_stays_at_the_limit_and_goes_beyond_it(name: str) -> None:
    rule = DOCUMENT_RULES[name]

    def stays(text: str) -> bool:
        value = rule.measure(TextFigures(text, language="en"))
        assert value is not None
        return (rule.low is None or value >= rule.low) and (rule.high is None or value <= rule.high)

    within, beyond = CASES[name]
    assert (stays(within), stays(beyond)) == (True, False)


def test_every_rule_has_its_case() -> None:
    assert {*DOCUMENT_RULES} - {"dclm-removed"} == {*CASES}  # which is of several lines: test_apply.py


def test_a_figure_that_has_no_sense_in_a_language_drops_nothing() -> None:
    chinese, thai = "猫坐在垫子上看着窗外的雨", "แมวนั่งบนเสื่อฝนตกข้างนอก"
    measured = {name: rule.measure(TextFigures(chinese, language="zh")) for name, rule in DOCUMENT_RULES.items()}
    assert [name for name, value in measured.items() if value is None] == ["gopher-word-length", "gopher-stop-words"]
    assert DOCUMENT_RULES["c4-sentences"].measure(TextFigures(thai)) is None
    assert DOCUMENT_RULES["fineweb-ended-lines"].measure(TextFigures(thai)) is None


def test_the_preset_web_is_gopher_c4_and_fineweb_and_masks_nobody() -> None:
    assert {*PRESETS["web"]} == {*PRESETS["gopher"], *PRESETS["c4"], *PRESETS["fineweb"]}
    assert not {*ASKED_FOR} & {*PRESETS["web"]}
    named = {name for preset in PRESETS.values() for name in preset} | {"boilerplate"}
    assert named | {*ASKED_FOR} == {*EDITS, *DOCUMENT_RULES}
