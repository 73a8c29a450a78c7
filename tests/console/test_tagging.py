"""Pages of taggers and of what they find, at 80 columns and without colour."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console, Group

from unmask.console.pages import draw_result
from unmask.console.tagging import tag_sections
from unmask.results import Entity, Figure, JudgedEntities, JudgedTagBaseline, JudgedTags, TagError, Tagged

FIGURE = Figure(0.8, 0.75, 0.85)


def page(result: object) -> str:
    console = Console(width=80, no_color=True, record=True, file=StringIO())
    console.print(result)
    return console.export_text()


def test_the_model_stands_beside_the_gazetteer_and_the_worst_kinds_are_shown() -> None:
    judged = JudgedTags(
        data=Path("test.conll"),
        examples=90,
        empty=1,
        entities=77,
        misaligned=2,
        precision=0.82,
        recall=0.78,
        f1=FIGURE,
        strict_f1=Figure(0.7, 0.6, 0.8),
        conlleval_f1=Figure(0.71, 0.6, 0.8),
        unseen=40,
        unseen_recall=0.25,
        baselines=(JudgedTagBaseline(name="gazetteer", precision=0.5, recall=0.1, f1=FIGURE),),
        labels=tuple(
            JudgedEntities(label=f"kind {n}", entities=3, precision=0.5, recall=0.5, f1=n / 30) for n in range(30)
        ),
        errors=(TagError(line=3, text="A text.", said=(), true=("PER: A",), probability=0.9),),
    )
    said = page(Group(*tag_sections(judged, "test entities")))
    flat = " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 80 and "worst of 30 labels" in flat
    assert "kind 11 " in flat and "kind 12 " not in flat and "on 77 test entities" in flat
    for told in (
        "gazetteer",
        "each tag alone, strict",
        "each tag alone, conlleval",
        "75.0% – 85.0%",
        "40 of the entities",
    ):
        assert told in flat
    for told in ("2 entities begin or end within", "1 test texts without", "Only 77 entities"):
        assert told in flat


def test_a_text_shows_its_entities_and_how_a_long_one_was_read() -> None:
    text = "Angela Merkel visited " + "many places and " * 40 + "Paris."
    entities = tuple(
        Entity(start=text.index(name), end=text.index(name) + len(name), text=name, label=label, probability=0.9)
        for name, label in (("Angela Merkel", "PER"), ("Paris", "LOC"))
    )
    said = page(draw_result(Tagged(text=text, entities=entities, tokens_read=29_000, windows=460)))
    assert "Angela Merkel   PER           90.0%" in said and "29,000 tokens in 460 windows" in said
    assert "…" in said and said.count("many places") < 12 and "Paris." in said
    assert "no entities" in page(draw_result(Tagged(text="Rain.", entities=(), tokens_read=2, windows=1)))
