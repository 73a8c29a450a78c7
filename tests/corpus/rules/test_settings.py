from __future__ import annotations

import json
import pickle
from dataclasses import asdict

import pytest

from unmask.corpus.rules.settings import RuleSettings, choose_rules
from unmask.corpus.rules.table import DOCUMENT_RULES, PRESETS
from unmask.errors import BadInput


def test_by_default_nothing_is_on_but_the_repair_of_unicode() -> None:
    assert choose_rules() == RuleSettings() and RuleSettings().unicode and not RuleSettings()


def test_a_preset_has_the_published_limits() -> None:
    settings = choose_rules("web")
    assert {*settings.edits, *settings.limits} == {*PRESETS["web"]}
    assert all(limits == DOCUMENT_RULES[name].limits for name, limits in settings.limits.items())


def test_rules_are_added_and_taken_out_in_turn() -> None:
    settings = choose_rules("gopher,-gopher-stop-words,c4-few-words,dclm-digits")
    assert settings.edits == ("c4-few-words", "dclm-digits")
    assert {*settings.limits} == {*PRESETS["gopher"]} - {"gopher-stop-words"}


def test_languages_are_kept_or_merely_told() -> None:
    assert choose_rules(language="en,DE").languages == ("en", "de")
    assert choose_rules(language="any") == RuleSettings(tell_language=True)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"filters": "webb"}, "'webb'; did you mean web"),
        ({"filters": "gopher-word"}, "did you mean gopher-words"),
        ({"filters": "personal"}, "no rule or preset"),
        ({"language": "en,any"}, "not both"),
        ({"language": "english"}, "'english'.*did you mean"),
    ],
)
def test_what_nobody_knows_is_named_with_what_is_near(arguments: dict[str, str], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        choose_rules(**arguments)


def test_settings_travel_as_plain_values() -> None:
    settings = choose_rules("web,boilerplate", language="en", mask_personal=True, boilerplate=("Home",))
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert json.loads(json.dumps(asdict(settings)))["languages"] == ["en"]
