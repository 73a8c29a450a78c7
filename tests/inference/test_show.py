from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from unmask.console.hiding import draw_legend, draw_shown
from unmask.corruption.policy import POLICIES
from unmask.errors import BadInput
from unmask.inference.show import show_all, show_text
from unmask.tokens.tokenizer.train import train_tokenizer

TEXT = "the strange teacher remembers unbelievable mountains, and the green river crossed the old bridge again."
SENTENCES = [TEXT, "the old king crossed the river.", "a teacher and a king.", "green mountains again"] * 3


@pytest.fixture(scope="module", params=["wordpiece", "bpe", "unigram"])
def tokenizer(request):
    return train_tokenizer(SENTENCES, request.param, {"wordpiece": 90, "bpe": 310, "unigram": 42}[request.param], True)


def plain(drawing, width=80):
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(drawing)
    return console.file.getvalue()


def test_every_policy_can_be_shown_on_the_same_text(tokenizer):
    shown = show_all(tokenizer, TEXT, phrases=["green river", "old bridge"], rate=0.5)  # a lower one may hide nothing
    assert [one.policy for one in shown] == list(POLICIES)
    assert len({tuple(piece.text for piece in one.pieces) for one in shown}) == 1
    for one in shown:
        assert one.hidden == sum(piece.unit > 0 for piece in one.pieces) > 0


def test_what_goes_on_with_a_word_is_marked_alike_for_every_tokenizer(tokenizer):
    text = f"{TEXT} mountainsriver unteacher"
    shown = show_text(tokenizer, text, "sentinel", rate=0.5)
    pieces = [piece.text for piece in shown.pieces]
    assert any(piece.startswith("##") for piece in pieces)
    words = re.sub(" ##|[·␣]", "", " ".join(pieces)).split()  # a space may be a token of its own
    assert words == re.findall(r"\w+|[^\w\s]", text)
    hidden = [piece.text for piece in shown.pieces if piece.unit]
    assert [word for word in shown.answer.split() if not word.startswith(("<extra", "["))] == hidden


def test_without_phrases_the_policies_that_need_them_are_left_out(tokenizer):
    assert not {one.policy for one in show_all(tokenizer, TEXT)} & {"entity", "phrase", "collocation"}
    with pytest.raises(BadInput, match="policy 'entity' hides spans"):
        show_text(tokenizer, TEXT, "entity")


def test_what_is_not_hidden_is_shown_as_it_is(tokenizer):
    for policy in ("token", "word", "span", "ngram", "diffusion", "permutation", "masked-permutation"):
        for piece in show_text(tokenizer, TEXT, policy).pieces:
            assert (piece.kind == "shown") == (piece.unit == 0)
            if piece.kind in ("shown", "kept", "asked"):
                assert piece.shown == piece.text
            elif piece.kind == "masked":
                assert piece.shown == "[MASK]"
            else:
                assert piece.shown != piece.text


def test_sentinels_and_their_answer(tokenizer):
    shown = show_text(tokenizer, TEXT, "sentinel")
    sentinels = [piece.shown for piece in shown.pieces if piece.kind == "masked"]
    assert sentinels and sentinels == [f"<extra_id_{number}>" for number in range(len(sentinels))]
    assert [word for word in shown.answer.split() if word.startswith("<extra")] == sentinels
    assert "<extra_id_0>" not in tokenizer.get_vocab()  # the model's own tokenizer is left as it was


def test_the_drawing_has_the_text_above_and_what_is_seen_below(tokenizer):
    shown = show_text(tokenizer, TEXT, "word", rate=0.3)
    lines = plain(draw_shown(shown, width=80, colour=False)).splitlines()
    assert lines[0] == f"word · {shown.hidden} of {shown.tokens} tokens hidden"
    above = " ".join(" ".join(lines[1::3]).split())
    assert above == " ".join(piece.text for piece in shown.pieces)
    assert all(len(line) <= 81 for line in lines)
    marked = sum(1 for line in lines[3::3] for part in line.split() if set(part) == {"▔"})
    assert marked >= len({piece.unit for piece in shown.pieces if piece.unit})


def test_colours_tell_what_signs_tell_without_them(tokenizer):
    shown = show_text(tokenizer, TEXT, "token", rate=0.9)
    assert {"masked", "random", "kept"} <= {piece.kind for piece in shown.pieces}
    without = plain(draw_shown(shown, colour=False))
    assert "~" in without and "=" in without and "\x1b" not in without
    console = Console(width=80, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(draw_shown(shown), draw_legend())
    coloured = console.file.getvalue()
    for code in ("\x1b[1;31m", "\x1b[1;33m", "\x1b[1;32m"):  # red, yellow, green
        assert code in coloured
    assert "~a random token~" in plain(draw_legend(colour=False))


def test_the_same_seed_shows_the_same(tokenizer):
    assert show_text(tokenizer, TEXT, "span", seed=4) == show_text(tokenizer, TEXT, "span", seed=4)
    assert show_text(tokenizer, TEXT, "span", seed=4) != show_text(tokenizer, TEXT, "span", seed=5)


def test_an_empty_text_is_one_clear_line(tokenizer):
    with pytest.raises(BadInput, match="nothing to hide"):
        show_text(tokenizer, "", "token")


def test_each_epoch_hides_anew_and_always_the_same(tokenizer):
    shown = [show_text(tokenizer, TEXT, "token", seed=3, epoch=epoch) for epoch in range(6)]
    assert shown[0] == show_text(tokenizer, TEXT, "token", seed=3)
    assert shown == [show_text(tokenizer, TEXT, "token", seed=3, epoch=epoch) for epoch in range(6)]
    assert len({each.pieces for each in shown}) > 3
