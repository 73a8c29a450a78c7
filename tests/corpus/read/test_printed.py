from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.corpus.read.printed import join_pages

PROSE = """The quick brown fox jumps over the lazy dog and then
goes home to sleep in a den that nobody knows. It is not
afraid of dogs.
Another paragraph begins here, behind a line that is short,
and it has lines of its own."""


def paragraphs(*pages: str) -> list[str]:
    return [text for _, text in join_pages(enumerate(pages, start=1))]


def test_lines_are_joined_and_a_short_line_that_ends_a_sentence_ends_the_paragraph() -> None:
    assert paragraphs(PROSE) == [
        "The quick brown fox jumps over the lazy dog and then goes home to sleep in a den that nobody knows. "
        "It is not afraid of dogs.",
        "Another paragraph begins here, behind a line that is short, and it has lines of its own.",
    ]


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        ("a line of words with hyphen-\nation at its end", "a line of words with hyphenation at its end"),
        ("a line of words with soft\u00ad\nness at its end", "a line of words with softness at its end"),
        ("those from the North-\nWest of the land", "those from the North- West of the land"),
        ("the years from 1990-\n2000 were many", "the years from 1990- 2000 were many"),
        ("これは日本語の文章です\nから空白はありません", "これは日本語の文章ですから空白はありません"),
        ("한국어는 띄어쓰기를 하는\n언어입니다 그렇지요", "한국어는 띄어쓰기를 하는 언어입니다 그렇지요"),
        ("the ﬁrst ofﬁce of the\nﬂat was in a row", "the first office of the flat was in a row"),
    ],
)
def test_a_cut_word_is_whole_again_and_other_words_are_kept_apart(lines: str, joined: str) -> None:
    assert paragraphs(lines) == [joined]


def test_headings_items_and_empty_lines_stand_alone() -> None:
    page = f"1 Heading\n{PROSE}\n• first of the items, long enough to be a line\n• second\n\nThe end of it all"
    assert paragraphs(page)[0] == "1 Heading"
    assert paragraphs(page)[-3:] == ["• first of the items, long enough to be a line", "• second", "The end of it all"]


def test_a_paragraph_goes_on_over_the_page_and_page_numbers_are_left_out() -> None:
    pages = ("A paragraph that the page\ncuts in the mid-\n7", "- 8 -\n\ndle of a word. And more of\nit here.", "New.")
    assert list(join_pages(enumerate(pages, start=7))) == [
        (7, "A paragraph that the page cuts in the middle of a word. And more of it here."),
        (9, "New."),
    ]


@given(st.lists(st.text(st.sampled_from("aB .\n-•1é"), max_size=60), max_size=4))
def test_no_letter_is_lost_and_no_paragraph_is_empty(pages: list[str]) -> None:
    texts = paragraphs(*pages)
    assert [letter for letter in "".join(texts) if letter.isalpha()] == [
        letter for page in pages for letter in page if letter.isalpha()
    ]
    assert all(text.strip() and "\n" not in text for text in texts)
