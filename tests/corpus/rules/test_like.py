from __future__ import annotations

import random

import pytest

from unmask.corpus.rules.apply import rules_of
from unmask.corpus.rules.like import trusted_limits
from unmask.corpus.rules.settings import RuleSettings, choose_rules
from unmask.errors import BadInput


def contracts(count: int) -> list[str]:
    """Documents as lawyers write them: short, numbered, with brackets and lines that repeat."""
    draw = random.Random(0)
    words = ["lessee", "lessor", "premises", "hereinafter", "covenants", "agreement", "pursuant", "thereto", "shall"]
    return [
        "\n".join(
            [f"Clause {number}", "{the parties}"]
            + [
                " ".join(draw.choice(words) for _ in range(draw.randint(6, 20))) + ";"
                for _ in range(draw.randint(2, 5))
            ]
        )
        for number in range(count)
    ]


def dropped(rules: RuleSettings, texts: list[str]) -> int:
    """How many texts go by rules."""
    return sum(ruling.dropped is not None for ruling in rules_of(rules)(texts, [()] * len(texts)))


def test_each_rule_keeps_ninety_nine_of_a_hundred_good_documents() -> None:
    good, asked = contracts(300), choose_rules("gopher,fineweb,c4-sentences,c4-curly-brackets")
    limits = trusted_limits(good, asked)
    assert limits.keys() == asked.limits.keys()
    for name in limits:
        assert dropped(choose_rules(name, limits=limits), good) <= 0.02 * len(good), name
    assert dropped(asked, good) > 0.9 * len(good)


def test_what_is_unlike_the_good_text_goes() -> None:
    asked = choose_rules("gopher")
    like = choose_rules("gopher", limits=trusted_limits(contracts(300), asked))
    assert dropped(like, ["# # # " * 40, "lessee lessor premises pursuant thereto shall " * 20]) == 2


def test_a_handful_of_documents_is_no_measure() -> None:
    with pytest.raises(BadInput, match="only 3 documents"):
        trusted_limits(contracts(3), choose_rules("web"))
