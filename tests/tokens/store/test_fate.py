from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

import unmask
from unmask.console.pages import draw_result
from unmask.errors import BadInput
from unmask.results import Fate


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> Path:
    folder = tmp_path_factory.mktemp("fates")
    lines = [json.dumps({"text": text}) for text in texts[:60]]
    lines += ['{"text": "short"}', '{"text": " "}', lines[4], "broken"]
    (folder / "texts").mkdir()
    (folder / "texts" / "in.jsonl").write_text("\n".join(lines), encoding="utf-8")
    unmask.prepare(folder / "texts", out=folder / "data", vocab_size=300, valid=0.1)
    return folder / "data"


def page(fate: Fate) -> str:
    console = Console(width=80, color_system=None)
    with console.capture() as drawn:
        console.print(draw_result(fate))
    return drawn.get()


def test_a_duplicate_is_told_with_its_twin_by_its_number_and_by_its_place(prepared: Path, texts: list[str]) -> None:
    fate = unmask.why(prepared, "63")
    (document,) = fate.removed
    assert document.twin is not None
    assert (document.step, document.similarity, document.line, document.twin.number) == ("duplicate", 1.0, 63, 5)
    assert document.twin.excerpt == document.excerpt == texts[4][:240]
    for place in (f"{document.source}:63", "texts/in.jsonl:63", "in.jsonl:63"):
        assert unmask.why(prepared, place).removed == fate.removed
    drawn = page(fate)
    assert "the same text as one that is kept" in drawn and drawn.count(texts[4][:30]) == 2
    assert max(map(len, drawn.splitlines())) <= 80


def test_what_is_short_empty_unreadable_or_kept_is_said_to_be(prepared: Path) -> None:
    steps = [unmask.why(prepared, number).removed[0].step for number in ("61", "62")]
    assert steps == ["short", "empty"]
    (line,) = unmask.why(prepared, "in.jsonl:64").unread
    assert (
        line.reason.startswith("not JSON")
        and line.excerpt == "broken"
        and "not JSON" in page(unmask.why(prepared, "in.jsonl:64"))
    )
    fate = unmask.why(prepared, "5")
    assert (fate.removed, fate.kept[0].line, len(fate.kept)) == ((), 5, 1)
    assert f"in {fate.kept[0].split}" in page(fate)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("99", "has read no such document; numbers go from 1 to 63"),
        ("other.txt:3", "sources are .*in.jsonl"),
        ("some", "neither the number of a document, such as 7, nor its place: .* SOURCE:LINE"),
    ],
)
def test_what_was_never_read_is_one_line(prepared: Path, asked: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        unmask.why(prepared, asked)


def test_a_file_without_a_line_is_asked_for_one(prepared: Path) -> None:
    source = unmask.why(prepared, "5").kept[0].source
    with pytest.raises(BadInput, match=rf"which line of it\? name one, as in {source}:1,"):
        unmask.why(prepared, source)
