from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.errors import BadInput
from unmask.tokens.spans.find import gazetteer, gazetteer_file, spacy_finders

TEXTS = ["New York is not the New York Times.", "nothing here", "", "In 東京都 and in New Yorkers' York."]
PHRASES = ["New York", "New York Times", "York", "東京"]


def test_the_longest_phrase_that_stands_as_whole_words_is_found():
    found = gazetteer(PHRASES)(TEXTS)
    assert [[text[begin:end] for begin, end in spans] for text, spans in zip(TEXTS, found, strict=True)] == [
        ["New York", "New York Times"],
        [],
        [],
        ["東京", "York"],  # unspaced script needs no word's end, "New Yorkers" is no New York
    ]


@given(st.text("ab ", max_size=40), st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4))
@settings(deadline=None)
def test_matches_are_those_of_a_loop(text, phrases):
    (found,) = gazetteer(phrases)([text])
    expected, place = [], 0
    while place < len(text):
        ends = [place + len(phrase) for phrase in phrases if text.startswith(phrase, place)]
        whole = [end for end in ends if end == len(text) or text[end] == " "]
        if whole and (place == 0 or text[place - 1] == " "):
            expected.append((place, max(whole)))
            place = max(whole)
        else:
            place += 1
    assert found == expected


def test_a_gazetteer_file_has_a_phrase_a_line(tmp_path):
    (tmp_path / "places.txt").write_text("New York\nParis\n")
    assert gazetteer_file(tmp_path / "places.txt")(["Paris, New York"]) == [[(0, 5), (7, 15)]]


def test_spacy_finds_entities(tmp_path):
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "GPE", "pattern": "New York"}])
    pipeline.to_disk(tmp_path / "pipeline")
    finders = spacy_finders(str(tmp_path / "pipeline"))
    assert set(finders) == {"entity"}  # it does not parse, so it knows no noun chunks
    assert finders["entity"](["In New York.", "no"]) == [[(3, 11)], []]
    with pytest.raises(BadInput, match="spaCy has no pipeline 'nowhere'"):
        spacy_finders("nowhere")


def test_spacy_finds_noun_chunks_as_phrases_where_it_parses(tmp_path):
    spacy = pytest.importorskip("spacy")

    @spacy.Language.component("by_hand")
    def by_hand(document):
        for token, (pos, dep, head) in zip(
            document, [("DET", "det", 2), ("ADJ", "amod", 2), ("NOUN", "nsubj", 3), ("VERB", "ROOT", 3)], strict=True
        ):
            token.pos_, token.dep_, token.head = pos, dep, document[head]
        return document

    pipeline = spacy.blank("en")
    pipeline.add_pipe("by_hand", name="parser")
    pipeline.to_disk(tmp_path / "pipeline")
    finders = spacy_finders(str(tmp_path / "pipeline"))
    assert finders["phrase"](["The old king sleeps"]) == [[(0, 12)]]


def test_without_spacy_it_is_asked_for(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "spacy", None)
    with pytest.raises(BadInput, match="spaCy is not installed"):
        spacy_finders("en")
