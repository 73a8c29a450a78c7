from __future__ import annotations

import pytest

from unmask.corpus.rules.edits import replace_stretches
from unmask.corpus.rules.lines import LINE_RULES, NEEDED, citations, cut_lines

GOES = {
    "c4-long-words": ["a " + "x" * 1001],
    "c4-few-words": ["Home", "Read more", "東京都"],
    "c4-javascript": ["Please enable JavaScript to go on."],
    "c4-policies": ["By going on you accept our Terms of Use.", "This site uses cookies to serve you."],
    "dclm-uppercase": ["BUY NOW AND Save"],
    "dclm-digits": ["12345"],
    "dclm-counters": ["1,234 views", "3.5k likes", "• 12 Comments •"],
    "dclm-one-word": ["Menu", "猫が"],
}
STAYS = {
    "c4-long-words": ["x" * 1000 + " y", "猫" * 3_000],
    "c4-few-words": ["The cat sat", "今日は雨です"],
    "c4-javascript": ["He drinks java."],
    "c4-policies": ["The policy of the bank changed."],
    "dclm-uppercase": ["NASA flew to the moon", "1234", "猫が鳴く"],
    "dclm-digits": ["12 345", "1990s"],
    "dclm-counters": ["1,234 views were recorded", "views"],
    "dclm-one-word": ["Read more", "今日は雨"],
}


@pytest.mark.parametrize("rule", LINE_RULES)
def test_each_rule_takes_its_lines_and_leaves_others(rule: str) -> None:
    assert [line for line in GOES[rule] if not LINE_RULES[rule](line)] == []
    assert [line for line in STAYS[rule] if LINE_RULES[rule](line)] == []
    assert all(NEEDED.get(rule, bool)(f"One line.\n{line}\nAnother.".lower()) for line in GOES[rule])


@pytest.mark.parametrize("goes", [(True, False, False), (False, True, True), (True, False, True), (False, True, False)])
def test_cut_lines_leave_the_others_joined(goes: tuple[bool, ...]) -> None:
    lines = ["first", "second", "third"]
    kept = [line for line, going in zip(lines, goes, strict=True) if not going]
    assert replace_stretches("\n".join(lines), (), cut_lines("\n".join(lines), goes))[0] == "\n".join(kept)


def test_all_lines_cut_leave_nothing() -> None:
    assert replace_stretches("a\nb", (), cut_lines("a\nb", [True, True])) == ("", ())


def test_citations_are_what_c4_calls_so() -> None:
    text = "Paris[1] is large[citation needed] [edit] [see] [] [12a]"
    assert replace_stretches(text, (), citations(text))[0] == "Paris is large  [see]  [12a]"
