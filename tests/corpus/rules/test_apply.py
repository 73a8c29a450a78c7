from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.corpus.clean import clean_texts
from unmask.corpus.rules.apply import rules_of
from unmask.corpus.rules.ruling import Ruling
from unmask.corpus.rules.settings import RuleSettings, choose_rules
from unmask.corpus.rules.table import PRESETS
from unmask.records import Mark

EVERYTHING = choose_rules(
    ",".join((*PRESETS, "boilerplate")), mask_personal=True, boilerplate=("Home About Contact us",)
)
PROSE = """The old house stood at the end of the road, and nobody had lived in it for years. Its windows were broken.
In the garden behind it there were apple trees that still bore fruit. Children came in autumn to pick them with their \
friends. They never went inside, because they had been told that the floor was not safe to walk on."""


def rule(settings: RuleSettings, text: str, marks: tuple[Mark, ...] = ()) -> Ruling:
    """One document under rules."""
    (ruling,) = rules_of(settings)([text], [marks])
    return ruling


def test_a_good_text_stays_as_it_is() -> None:
    ruling = rule(choose_rules("web,dclm", language="en"), PROSE)
    assert ruling.text is PROSE and ruling.dropped is None and not ruling.changed
    assert ruling.language == "en" and ruling.score is not None and ruling.score > 0.9


def test_what_drops_a_document_says_its_figure_and_its_limit() -> None:
    ruling = rule(choose_rules("web"), "Too few words here. They end soon.")
    assert (ruling.dropped, ruling.value, ruling.limit) == ("gopher-words", 7, 50)
    twice = rule(choose_rules("web"), f"{PROSE}\n{PROSE}")
    assert twice.dropped == "gopher-duplicate-lines" and twice.value == pytest.approx(0.5)


def test_a_text_in_another_language_goes_with_its_language_and_score() -> None:
    ruling = rule(choose_rules(language="en"), "Die Katze saß auf der Matte und sah dem Regen zu.")
    assert (ruling.dropped, ruling.limit, ruling.language) == ("language", "en", "de")
    assert str(ruling.value).startswith("de ")
    nobody = rule(choose_rules(language="en"), "OK")
    assert nobody.dropped == "language" and nobody.language == "und"


def test_lines_go_before_the_document_is_measured() -> None:
    page = f"Home About Contact us\nMenu\n{PROSE}\nPlease enable JavaScript to go on."
    settings = choose_rules("web,boilerplate", boilerplate=("Home About Contact us",))
    ruling = rule(settings, page, ((27, 40, "entity"), (0, 4, "entity")))
    assert ruling.text == PROSE and ruling.dropped is None
    assert ruling.changed == ("c4-few-words", "c4-javascript", "boilerplate")
    assert [ruling.text[start:end] for start, end, _ in ruling.marks] == [page[27:40]]


def test_a_page_of_which_much_was_counters_goes() -> None:
    few, many = f"{PROSE}\n12 likes", f"{PROSE}\n" + "12 likes\n30 shares\n" * 3 + "MENU"
    kept, ruling = rules_of(choose_rules("dclm"))([few, many], [(), ()])
    assert kept.text == PROSE and kept.dropped is None
    assert ruling.dropped == "dclm-removed" and ruling.value == pytest.approx(13 / (13 + len(PROSE.split())))


lines = st.sampled_from(
    ["Home About Contact us", "Menu", "12 likes", "BUY NOW NOW", "We use cookies [12] here.", "See [edit]", "[3]",
     "Mail jane@company.org or 8.8.8.8 now.", "The cat sat on the mat.", "猫が座っている。", "猫", "é\u0301 x y z"]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(lines, min_size=1, max_size=8), st.data())
def test_marks_are_moved_with_the_text_and_the_text_stays_clean(chosen: list[str], data: st.DataObject) -> None:
    (text,) = clean_texts(pa.array(["\n".join(chosen)])).to_pylist()
    starts = [n for n, character in enumerate(text) if n == 0 or text[n - 1] in " \n"]
    words = [(n, n + len(text[n:].split()[0])) for n in data.draw(st.lists(st.sampled_from(starts), unique=True))]
    ruling = rule(EVERYTHING, text, tuple((*word, "entity") for word in sorted(words)))
    assert clean_texts(pa.array([ruling.text])).to_pylist() == [ruling.text]
    inside = [ruling.text[start:end] for start, end, _ in ruling.marks]
    allowed = {*text.split(), "name@example.com", "192.0.2.1"}
    assert all(word in allowed and word == word.strip() for word in inside)
    if not ruling.changed:
        assert ruling.text is text and inside == [text[start:end] for start, end in sorted(words)]
    cat = [n for n, word in enumerate(sorted(words)) if text[word[0] : word[1]] == "cat"]
    assert inside.count("cat") == len(cat)  # whose line no rule takes


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text() | st.sampled_from([PROSE, f"{PROSE} {PROSE}", "猫が座っている。" * 40, ""]), max_size=6))
def test_no_text_is_too_odd_and_each_is_judged_as_if_it_were_alone(texts: list[str]) -> None:
    together = rules_of(EVERYTHING)(texts, [()] * len(texts))
    assert together == [rule(EVERYTHING, text) for text in texts]
