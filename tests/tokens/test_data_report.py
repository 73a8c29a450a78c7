"""The page of a data directory: what it says, and that nothing in it comes from elsewhere."""

from __future__ import annotations

import json

import lxml.html
import pytest

import unmask

HOSTILE = "<script>alert('1')</script>&\"<img src=x> is how this document begins, and it has to be escaped."


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> lxml.html.HtmlElement:
    folder = tmp_path_factory.mktemp("report")
    lines = [*texts[:150], HOSTILE, HOSTILE, HOSTILE + "!", "short", "", texts[0].upper(), texts[1]]
    (folder / "in").mkdir()
    (folder / "in" / "<b>.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines) + "broken\n")
    unmask.prepare(folder / "in", out=folder / "data", vocab_size=300, near_duplicates=0.8, language="any", valid=0.1)
    text = (folder / "data" / "report.html").read_text(encoding="utf-8")
    assert "<script" not in text and "http" not in text.replace(HOSTILE, "").split("<style>")[0]
    return lxml.html.document_fromstring(text)


def section(page: lxml.html.HtmlElement, title: str) -> str:
    (found,) = (each for each in page.iter("section") if title in each.findtext("h2"))
    return " ".join(found.text_content().split())


def test_documents_are_followed_from_step_to_step(page: lxml.html.HtmlElement) -> None:
    funnel = section(page, "What became of the documents")
    assert "could not be read (quarantine.jsonl)1" in funnel and "read and cleaned157" in funnel
    assert "left out: empty1" in funnel and "left out: too short1" in funnel
    assert "exact duplicates" in funnel and "near-duplicates3" in funnel


def test_it_has_what_one_judges_data_by_and_loads_nothing(page: lxml.html.HtmlElement) -> None:
    assert not page.xpath("//script | //img | //link | //@src | //@href")
    families = section(page, "families")
    assert families.count("alert('1')") == 3 and "kept for 2" in families
    assert "<b>.jsonl" in section(page, "Sources") and "en" in section(page, "Languages")
    assert "pieces seen under 100 times" in section(page, "Tokens")
    assert len(page.xpath("//section[contains(h2, 'at random')]/blockquote")) == 20
    assert "could not be read" in section(page, "To mind")
