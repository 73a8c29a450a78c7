from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from unmask.corpus.rules.edits import TextEdit, clean_again, replace_stretches
from unmask.records import Mark


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, list[Mark], list[TextEdit]]:
    """A text, spans of it, and stretches to replace, some of them empty or side by side."""
    text = draw(st.text(st.sampled_from("ab \nü猫"), max_size=24))
    places = st.integers(0, len(text))
    spans = draw(st.lists(st.tuples(places, places), max_size=4))
    borders = sorted(draw(st.lists(places, max_size=6, unique=True)))
    stretches = zip(borders[::2], borders[1::2], strict=False)
    marks = [(*sorted(span), "entity") for span in spans if span[0] != span[1]]
    return text, marks, [TextEdit(*pair, draw(st.sampled_from(["", "X", " YZ"]))) for pair in stretches]


@given(edited())
def test_a_mark_keeps_what_is_left_of_its_own_text(case: tuple[str, list[Mark], list[TextEdit]]) -> None:
    text, marks, replacements = case
    after, moved = replace_stretches(text, marks, replacements)
    owner = {place: number for number, each in enumerate(replacements) for place in range(each.start, each.end)}
    pieces = []
    for place, character in enumerate(text):
        number = owner.get(place)
        if number is None:
            pieces.append((character, place))
        elif place == replacements[number].start:
            pieces.append((replacements[number].text, place))
    assert after == "".join(piece for piece, _ in pieces)
    expected = []
    for start, end, _ in marks:
        inside = ""
        for piece, place in pieces:
            number = owner.get(place)
            stretch = replacements[number] if number is not None else TextEdit(place, place + 1)
            if start <= stretch.start and stretch.end <= end:
                inside += piece
        expected.append(inside.strip())
    assert [after[start:end] for start, end, _ in moved] == [inside for inside in expected if inside]


def test_cutting_a_text_out_of_itself_leaves_no_marks() -> None:
    assert replace_stretches("Paris", [(0, 5, "entity")], [TextEdit(0, 5)]) == ("", ())


def test_what_was_cut_leaves_no_double_space_and_no_empty_line() -> None:
    text, marks = replace_stretches(
        "In [1] Paris [2]\n[3]\nagain",
        [(7, 12, "entity")],
        [TextEdit(3, 6), TextEdit(13, 16), TextEdit(17, 20)],
    )
    text, marks = clean_again(text, marks)
    assert (text, [text[start:end] for start, end, _ in marks]) == ("In Paris\nagain", ["Paris"])
