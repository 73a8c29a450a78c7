from __future__ import annotations

from unmask.runs.page import html_cards, html_figures, html_page, html_quote, html_section, html_table

HOSTILE = "<script>&\"'"


def test_whatever_comes_from_data_is_escaped() -> None:
    parts = [
        html_page(HOSTILE, ""),
        html_cards([(HOSTILE, HOSTILE)]),
        html_section(HOSTILE, "<p></p>"),
        html_table({HOSTILE: HOSTILE}),
        html_figures([HOSTILE], [[HOSTILE]], [0.5]),
        html_quote(HOSTILE, HOSTILE),
    ]
    assert not any("<script>" in part for part in parts) and all("&lt;script&gt;" in part for part in parts)


def test_a_page_is_light_or_dark_as_its_reader_has_it_and_prints() -> None:
    page = html_page("x", "")
    assert "prefers-color-scheme: dark" in page and "@media print" in page and "color-scheme: light dark" in page


def test_what_has_nothing_in_it_is_not_there() -> None:
    assert html_section("title", "") == html_figures(["a"], []) == ""
