from __future__ import annotations

import json
from pathlib import Path

import pytest

from unmask.corpus.rules.request import RuleRequest
from unmask.corpus.rules.settings import RuleSettings
from unmask.errors import BadInput


def write(path: Path, texts: list[str]) -> str:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return str(path)


def test_what_is_learnt_from_text_is_in_the_settings_as_plain_values(tmp_path: Path) -> None:
    pages = write(tmp_path / "pages.jsonl", [f"Home | About\nA text of its own, number {n}." for n in range(40)])
    good = write(tmp_path / "good.jsonl", [f"{n} # a short good text" for n in range(40)])
    request = RuleRequest(filters="gopher-hashes,gopher-words,boilerplate", like=good)
    settings = request.settings([pages])
    assert settings.boilerplate == ("Home | About",)
    assert settings.limits == {"gopher-words": (6, 6), "gopher-hashes": (None, 0.1667)}
    assert RuleRequest().settings([pages]) == RuleSettings()
    assert not RuleRequest(repair=False).settings([pages]).unicode


def test_good_text_without_rules_to_measure_it_by_is_a_mistake(tmp_path: Path) -> None:
    good = write(tmp_path / "good.jsonl", ["text"] * 40)
    with pytest.raises(BadInput, match="--like: no rule is on"):
        RuleRequest(like=good).settings([good])
