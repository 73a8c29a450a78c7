from __future__ import annotations

import numpy as np
import pytest
from span_cases import as_stock
from writing_cases import Make, sequential_model

from unmask.errors import BadInput
from unmask.inference.blanks import BlankText, split_at_blanks
from unmask.inference.span_row import SpanGrammar, SpanRow, Spelt, make_span_row, spans_spelt
from unmask.models.load import LoadedModel
from unmask.models.load_spans import load_spans
from unmask.tokens.tokenizer.encode import encode


@pytest.fixture(scope="module", params=["wordpiece", "bpe", "unigram"])
def lm(request: pytest.FixtureRequest, make_model: Make, tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    path = sequential_model(make_model, tmp_path_factory.mktemp("t5") / "model", "t5", request.param)
    return load_spans(as_stock(path) if request.param == "unigram" else path)


def _row(lm: LoadedModel, text: str) -> SpanRow:
    blanks = split_at_blanks(lm, text)
    assert isinstance(blanks, BlankText)
    return make_span_row(lm, blanks)


def test_the_text_around_a_gap_has_the_tokens_it_has_in_the_whole_text(lm: LoadedModel) -> None:
    """As in training, where rows are cut out of encoded texts."""
    for text, word in (
        ("The king sees the sea.", "king"),
        ("Nobody likes music!", "music"),
        ("The dog, of course.", "dog"),
    ):
        whole, gap = encode(lm.tokenizer, [text], offsets=True)[0], _row(lm, text.replace(word, "[MASK]"))
        begin = text.index(word)
        assert whole.offsets is not None
        inside = (whole.offsets[:, 1] > begin) & (whole.offsets[:, 0] < begin + len(word))
        kept = whole.ids[~inside].tolist()
        place = int(np.flatnonzero(inside)[0])
        expected = [*kept[:place], lm.vocabulary.sentinels[0], *kept[place:], lm.vocabulary.end]
        opened = [] if lm.vocabulary.start == lm.vocabulary.end else [lm.vocabulary.start]
        assert gap.ids.tolist() == [*opened, *expected]


def test_blanks_with_nothing_but_spaces_between_them_are_one_gap(lm: LoadedModel) -> None:
    row = _row(lm, "The [MASK] [MASK][MASK] sees [MASK:word].")
    assert row.between == ("The ", " sees ", ".") and row.words == (False, True)
    assert row.closings_of(0) == lm.vocabulary.sentinels[1:2]
    assert row.closings_of(1) == (lm.vocabulary.end, lm.vocabulary.sentinels[2])
    assert _row(lm, "a [MASK] b [MASK] c [MASK] d [MASK]").closings == (lm.vocabulary.end,)  # no sentinel is left
    with pytest.raises(BadInput, match="5 gaps, but this model has 4 sentinels"):
        _row(lm, "[MASK] a [MASK] b [MASK] c [MASK] d [MASK]")


def test_a_word_is_one_word_and_a_span_anything(lm: LoadedModel) -> None:
    row = _row(lm, "The [MASK:word] sees [MASK].")
    grammar = SpanGrammar(lm, row, most=3, pieces=range(1, 3))
    first, second = row.sentinels
    word = int(np.flatnonzero(grammar.letters(Spelt(0, 0)))[0])
    assert np.flatnonzero(grammar([])).tolist() == [first]
    behind = grammar([first, word])
    assert behind[second] and not behind[lm.vocabulary.end]
    assert behind.sum() < grammar([first, word, second, word]).sum()  # what goes on with a word; any token
    assert np.flatnonzero(grammar([first, word, word])).tolist() == [second]  # as long as it may be
    assert np.flatnonzero(grammar([first, word, second, *[word] * 3])).tolist() == [lm.vocabulary.end]
    assert not grammar([first])[list(lm.vocabulary.special)].any()  # a gap is not empty


def test_an_answer_is_read_gap_by_gap(lm: LoadedModel) -> None:
    row = _row(lm, "The [MASK] sees [MASK].")
    first, second = row.sentinels
    assert spans_spelt([first, 7, 8, second, 9, row.closings[1], lm.vocabulary.pad, 8], row) == [(7, 8), (9,)]
    assert spans_spelt([first, 7], row) == [(7,), ()]
