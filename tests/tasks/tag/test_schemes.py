"""Whatever scheme tags are written in, they mean the same spans; ill-formed ones are read as conlleval reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.tasks.tag.schemes import Scheme, WordSpan, lenient_spans, recognise_scheme, strict_spans, tags_for


def written_tags(spans: Sequence[WordSpan], words: int, scheme: str) -> Iterator[str]:
    """The tags of words as files of a scheme have them."""
    inside = {place: span for span in spans for place in range(span.first, span.last)}
    for place in range(words):
        if (span := inside.get(place)) is None:
            yield "O"
            continue
        begins, ends = place == span.first, place == span.last - 1
        before = inside.get(place - 1)
        letter = "B" if begins else "I"
        if scheme == "IOB1":
            letter = "B" if begins and before is not None and before.label == span.label else "I"
        elif scheme in ("IOBES", "BILOU") and ends:
            letter = ("S" if begins else "E") if scheme == "IOBES" else ("U" if begins else "L")
        yield f"{letter}-{span.label}"


def text_of(parts: list[tuple[int, int, str]]) -> tuple[list[WordSpan], int]:
    """Spans and the number of words, from gaps and sizes."""
    spans, place = [], 0
    for gap, size, label in parts:
        place += gap
        if size:
            spans.append(WordSpan(place, place + size, label))
        place += size
    return spans, place


PART = st.tuples(st.integers(0, 2), st.integers(0, 3), st.sampled_from(["PER", "creative-work"]))


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "IOBES", "BILOU"])
@given(text=st.lists(PART, max_size=6).map(text_of))
def test_spans_written_in_any_scheme_are_read_back(scheme: str, text: tuple[list[WordSpan], int]) -> None:
    spans, words = text
    assert lenient_spans([*written_tags(spans, words, scheme)]) == spans


@pytest.mark.parametrize("scheme", ["IOB1", "IOB2", "IOBES", "BILOU"])
def test_a_scheme_is_recognised(scheme: str) -> None:
    spans = [WordSpan(0, 2, "PER"), WordSpan(2, 3, "PER"), WordSpan(4, 5, "LOC"), WordSpan(6, 8, "LOC")]
    assert recognise_scheme([[*written_tags(spans, 9, scheme)], ["O"]]) == Scheme(scheme, 0)


def test_what_is_no_tag_or_of_two_schemes_is_given_back_and_what_is_ill_formed_is_counted() -> None:
    assert recognise_scheme([["O", "B-PER"], ["PER"]]) == "PER"
    assert recognise_scheme([["B-PER", "E-PER", "U-LOC"]]) == "U-LOC"
    assert recognise_scheme([["B-PER", "I-PER", "O", "I-LOC", "B-LOC", "B-PER"]]) == Scheme("IOB2", 1)
    assert recognise_scheme([["S-PER", "I-LOC", "E-LOC"]]) == Scheme("IOBES", 1)


def conlleval_spans(tags: list[str]) -> list[tuple[int, int, str]]:
    """conlleval.pl's startOfChunk and endOfChunk, written out as they stand there."""
    chunks, begin = [], None
    last_tag, last_type = "O", ""
    for place, each in enumerate([*tags, "O"]):
        tag, _, kind = each.partition("-")
        ends = (
            (last_tag, tag) in {("B", "B"), ("B", "O"), ("I", "B"), ("I", "O"), ("E", "E"), ("E", "I"), ("E", "O")}
            or (last_tag in ("B", "I") and tag == "S")
            or (last_tag != "O" and last_type != kind)
            or last_tag in ("E", "S")
        )
        starts = (
            (last_tag, tag) in {("B", "B"), ("I", "B"), ("O", "B"), ("O", "I"), ("E", "E"), ("E", "I"), ("O", "E")}
            or (last_tag in ("E", "S") and tag in ("B", "I", "E"))
            or tag == "S"
            or (tag != "O" and last_type != kind)
        )
        if begin is not None and ends:
            chunks.append((begin, place, last_type))
            begin = None
        if starts:
            begin = place
        last_tag, last_type = tag, kind
    return chunks


@given(st.lists(st.sampled_from(["O", *(f"{letter}-{label}" for letter in "BIES" for label in "xy")]), max_size=12))
def test_any_tags_at_all_are_read_by_the_rules_of_conlleval(tags: list[str]) -> None:
    assert [tuple(span) for span in lenient_spans(tags)] == conlleval_spans(tags)


def test_strictly_an_entity_begins_with_b() -> None:
    tags = ["I-x", "B-x", "I-y", "I-y", "B-y", "I-y"]
    assert [tuple(span) for span in strict_spans(tags)] == [(1, 2, "x"), (4, 6, "y")]
    assert tags_for(["x"]) == ("O", "B-x", "I-x")
