from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

import unmask
from unmask.console.trial import draw_tried
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


def test_what_is_tried_is_shown_with_its_examples_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = write(tmp_path / "pages.jsonl", [f"Home | About\nA text of its own, number {n}." for n in range(40)])
    tried = unmask.prepare(pages, out=tmp_path / "data", try_=True)
    assert isinstance(tried, unmask.results.RulesTried) and tried.documents == tried.dropped == 40
    rows = {row.name: row for row in tried.rules}
    assert (rows["gopher-words"].dropped, rows["boilerplate"].changed) == (40, 40)
    assert len(rows) == 37  # all that need no option of their own
    Console(width=80, no_color=True).print(draw_tried(tried))
    page = capsys.readouterr().out
    assert "pages.jsonl:1" in page and "Home | About" in page and "together they would drop 40 documents" in page
    assert max(map(len, page.splitlines())) <= 80
    assert not (tmp_path / "data").exists()
