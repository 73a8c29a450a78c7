"""The figures against others written down from the publications, word by word and without arrays."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.corpus.rules.figures import TextFigures, repeated_runs
from unmask.corpus.rules.units import units_of

few_words = st.lists(st.sampled_from(["a", "bb", "ccc", "dddd", "e1", "22", "..."]), max_size=60)


def published_runs(words: list[str], scale: int = 1) -> dict[int, float]:
    """Table A1 of Gopher: of 2, 3, 4 words the most frequent run, of 5 to 10 all that occur more than once."""
    total = sum(map(len, words)) or 1
    shares = {}
    for size in range(2, 11):
        runs = [tuple(words[n : n + size * scale]) for n in range(len(words) - size * scale + 1)]
        counts = Counter(runs)
        most = max(counts.values(), default=0)
        if most < 2:
            shares[size] = 0.0
        elif size <= 4:
            longest = max(sum(map(len, run)) for run, count in counts.items() if count == most)
            shares[size] = most * longest / total
        else:
            covered = {n + k for n, run in enumerate(runs) if counts[run] > 1 for k in range(size * scale)}
            shares[size] = sum(len(words[n]) for n in covered) / total
    return shares


@settings(deadline=None)
@given(few_words, st.sampled_from([1, 2]))
def test_repeated_runs_are_those_of_counting_them(words: list[str], scale: int) -> None:
    other, units = units_of(["b b a a b a b a a b", " ".join(words)])  # what another text has counts for nothing
    shares = repeated_runs([other._replace(unspaced=scale == 2), units._replace(unspaced=scale == 2)])
    assert shares[1] == pytest.approx(published_runs(words, scale))


def test_repeated_runs_of_a_long_text_are_those_of_counting_them() -> None:
    draw = random.Random(3)
    words = [draw.choice(["the", "cat", "sat", "on", "mat", "and", "dog"]) for _ in range(2_000)]
    words[700:760] = words[100:160]
    figures = TextFigures(" ".join(words))
    assert figures.runs == pytest.approx(published_runs(words))
    assert figures.runs[10] > 0


@given(st.lists(st.sampled_from(["Menu", "A line.", "Another", "x"]), min_size=1, max_size=12))
def test_a_duplicate_line_is_one_that_stood_there_before(lines: list[str]) -> None:
    seen: set[str] = set()
    again = [line for line in lines if line in seen or seen.add(line)]  # type: ignore[func-returns-value]
    figures = TextFigures("\n".join(lines))
    assert figures.duplicate_lines == (len(again), sum(map(len, again)))


@given(few_words)
def test_words_stand_between_spaces(words: list[str]) -> None:
    figures = TextFigures(" ".join(words))
    assert figures.words == len(words)
    with_letter = sum(any(map(str.isalpha, word)) for word in words)
    assert figures.words_with_letter == pytest.approx(with_letter / len(words) if words else 1)


@given(st.text(alphabet=" \n.ax”。猫Tthebo", max_size=1_400))
def test_what_the_beginning_has_is_no_more_than_what_the_text_has(text: str) -> None:
    figures = TextFigures(text)
    assert figures.first_sentences <= figures.sentences and figures.first_english_words <= figures.english_words


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", 3),
        ('He said "no." Then he left.\nA title', 3),
        ("Approx. five, e.g. this one.", 1),
        ("今日は雨です。明日は晴れます。", 2),
        ("「はい。」と言った。\n終わり", 2),
    ],
)
def test_sentences_end_with_a_stop_and_every_line_has_one(text: str, sentences: int) -> None:
    assert TextFigures(text).sentences == sentences


def test_where_there_are_no_spaces_two_characters_are_a_word() -> None:
    chinese = TextFigures("猫坐在垫子上看着窗外的雨" * 4)
    assert chinese.unspaced and chinese.words == 24
    assert chinese.runs[10] == 1.0  # twelve characters repeat, and a run of ten words is twenty
    assert TextFigures("猫坐在垫子上看着窗外的雨她在想什么时候会停").runs[5] == 0.0
    assert not TextFigures("The word 猫 is Chinese for a cat, and 犬 is a dog.").unspaced


def test_thai_has_no_stops_to_count() -> None:
    assert TextFigures("แมวนั่งบนเสื่อ ฝนตกข้างนอก").without_stops
    assert not TextFigures("猫坐在垫子上。").without_stops
