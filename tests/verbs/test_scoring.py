"""`score` and `probe` as commands: what is said on which stream, and with which exit code."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Make = Callable[..., Path]
Inside = Callable[..., subprocess.CompletedProcess[str]]
PAIRS = [
    {"sentence_good": "The dog sees the sea.", "sentence_bad": "The dog see the sea.", "UID": "agreement"},
    {"sentence_good": "Nobody likes music.", "sentence_bad": "Nobody like music.", "UID": "agreement"},
    {"text": "The [MASK] sees the sea.", "answer": "king", "candidates": ["king", "again"], "UID": "words"},
]


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(map(json.dumps, PAIRS)), encoding="utf-8")
    return path


def test_scores_are_a_line_of_json_for_each_text(make_model: Make, inside: Inside) -> None:
    done = inside("score", make_model(), "the sea", "--prefix", "My sister sees", "--tokens", "--json")
    scored = json.loads(done.stdout)
    assert done.returncode == 0 and scored["method"] == "pseudo" and len(scored["surprisals"]) == scored["tokens"] == 2


def test_standard_input_is_scored_line_by_line(make_model: Make, inside: Inside) -> None:
    done = inside("score", make_model(), "--json", stdin="the sea\n\nmusic\n")
    assert [json.loads(line)["text"] for line in done.stdout.splitlines()] == ["the sea", "music"]


def test_a_text_that_is_too_long_is_named_where_that_was_chosen(make_model: Make, inside: Inside) -> None:
    done = inside("score", make_model(), "the sea " * 60, "--on-long", "error")
    assert done.returncode == 3 and "but this model takes 62" in done.stderr and not done.stdout
    done = inside("score", make_model(), "-", "--on-long", "error", "--json", stdin="the sea\n" + "the sea " * 60)
    assert done.returncode == 3 and len(done.stdout.splitlines()) == 1 and "line 2" in done.stderr


def test_what_is_no_model_is_told(inside: Inside, tmp_path: Path) -> None:
    done = inside("score", tmp_path / "nowhere", "the sea")
    assert done.returncode == 3 and "does not exist" in done.stderr


def test_items_are_counted_by_the_field_that_was_asked_for(make_model: Make, inside: Inside, items: Path) -> None:
    done = inside("probe", make_model(), items, "--by", "UID", "--json")
    result = json.loads(done.stdout)
    assert done.returncode == 0 and [*result["phenomena"]] == ["agreement", "words"]
    assert result["overall"]["items"] == 3
    page = inside("probe", make_model(), items).stdout
    assert "Probed" in page and "words" in page and max(map(len, page.splitlines())) <= 80 + len(str(make_model()))


def test_lines_that_are_no_items_are_named_before_anything_is_asked(
    make_model: Make, inside: Inside, items: Path
) -> None:
    items.write_text(items.read_text(encoding="utf-8") + "\nno item\n", encoding="utf-8")
    done = inside("probe", make_model(), items)
    assert done.returncode == 3 and not done.stdout and "items.jsonl:4: no item" in done.stderr


def test_a_set_that_was_judged_is_not_written_over(
    make_model: Make, inside: Inside, items: Path, tmp_path: Path
) -> None:
    out = tmp_path / "judged.jsonl"
    assert inside("probe", make_model(), items, "--out", out).returncode == 0
    assert inside("probe", make_model(), items, "--out", out).returncode == 5


def test_lists_of_candidates_are_rescored(make_model: Make, inside: Inside, tmp_path: Path) -> None:
    candidates = [{"text": "the dog sees", "score": 0.5}, {"text": "the cat sees", "score": 0.1}]
    lists = tmp_path / "nbest.jsonl"
    lists.write_text("\n".join([json.dumps({"candidates": candidates, "best": 1})] * 6), encoding="utf-8")
    done = inside("score", make_model(), lists, "--rescore", "--json")
    result = json.loads(done.stdout)
    assert result["measure"] == "accuracy" and result["before"]["value"] == 0 and result["judged_on"] == 3
    assert "Rescored" in inside("score", make_model(), lists, "--rescore").stdout
