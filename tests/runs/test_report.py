"""The page of a run: what it says, and that nothing in it comes from elsewhere."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import lxml.html

from unmask.files import with_seal
from unmask.runs.directory import FORMAT
from unmask.runs.report import write_report

HOSTILE = "<script>alert('1')</script>&\"<img src=x>"
SETTINGS = {"length": 128, "batch_size": 32, "policy": HOSTILE, "rate": "0.15", "optimizing": {"clip": 1.0}}
FIGURES = [
    {"name": "loss", "title": "Loss, nats a token"},
    {"name": "accuracy", "title": "Accuracy on hidden tokens", "better": "more", "percent": True},
]
USES = ["unmask fill RUN EXAMPLE", "from transformers import pipeline\n\npipeline('fill-mask', model=MODEL)(EXAMPLE)"]
EXAMPLE = "Don't RUN to the [MASK]."


def made(path: Path, *, model: bool = True) -> Path:
    path.mkdir(parents=True)
    recipe = {"name": "mini", "family": "modernbert", "settings": SETTINGS}
    known = {"format": FORMAT, "unmask": "0.1.0", "name": "mini", "recipe": recipe, "seed": 3, "steps": 2}
    known |= {"figures": FIGURES, "uses": USES, "example": EXAMPLE}
    (path / "run.json").write_text(json.dumps(with_seal(known)))
    lines = [
        {"step": 0, "validation_loss": 9.0},
        {"step": 2, "loss": 5.0, "tokens": 4096, "tokens_per_second": 100.0},
        {"step": 2, "validation_loss": 4.5, "validation_accuracy": 0.2},
        {"step": 2, "final_loss": 4.0, "final_accuracy": 0.25},
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if model:
        (path / "model").mkdir()
        (path / "model" / "config.json").write_text("{}")
    return path


def test_the_page_says_what_was_trained_how_well_and_how_to_use_it(tmp_path: Path) -> None:
    run = made(tmp_path / "my run")
    write_report(run, {"model": "modernbert, 7 parameters", "data": "wiki: 3 documents", "data fingerprint": "f" * 64})
    page = lxml.html.fromstring((run / "report.html").read_text())
    text = " ".join(page.text_content().split())
    for said in ("my run", "finished", "modernbert, 7 parameters", "wiki: 3 documents", "f" * 64, "25.0%", "4.000"):
        assert said in text
    assert shlex.join(["unmask", "fill", str(run), EXAMPLE]) in text
    assert f"pipeline('fill-mask', model={str(run / 'model')!r})({EXAMPLE!r})" in text
    assert "recipe.settings.optimizing.clip 1.0" in " ".join(cell.text_content() for cell in page.iter("th", "td"))
    measured = page.xpath("//table[@class='figures']//tr")
    assert [cell.text_content() for cell in measured[1]] == ["0", "0", "9.000", ""]
    assert [cell.text_content() for cell in measured[2]] == ["2", "4,096", "4.500", "20.0%"]
    assert [cell.text_content() for cell in measured[3]] == [
        "the end, on all that is held out",
        "4,096",
        "4.000",
        "25.0%",
    ]
    assert (run / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_the_state_is_said_by_who_trains(tmp_path: Path) -> None:
    run = made(tmp_path / "run", model=False)
    for going_on, state, command in ((True, "running", "watch"), (False, "stopped", "pretrain --resume")):
        write_report(run, going_on=going_on)
        text = (run / "report.html").read_text()
        assert (
            f'class="state {state}"' in text
            and f"<pre>unmask {command} {run}</pre>" in text
            and "<pre>from" not in text
        )


def test_the_page_needs_nothing_from_elsewhere_and_takes_no_orders_from_data(tmp_path: Path) -> None:
    run = made(tmp_path / HOSTILE.replace("/", "∕"))
    write_report(run, {HOSTILE: HOSTILE})
    page = lxml.html.fromstring((run / "report.html").read_text())
    assert not list(page.iter("script", "img", "link", "iframe", "object", "embed", "base", "form"))
    assert HOSTILE in page.text_content()
    for element in page.iter():
        for name, value in element.attrib.items():
            assert not name.startswith("on") and name not in ("src", "srcset", "action")
            assert not name.endswith("href") or value.startswith("#")
    style = "".join(each.text_content() for each in page.iter("style"))
    assert "url(" not in style and "@import" not in style


def test_a_run_that_is_damaged_or_has_not_begun_has_a_page_too(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    (run / "metrics.jsonl").unlink()
    (run / "run.json").write_text("{}")
    write_report(run)
    assert "damaged" in (run / "report.html").read_text()
