from __future__ import annotations

import json
from collections.abc import Callable
from math import log
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.errors import BadInput
from unmask.inference.score import trained_method

Make = Callable[..., Path]
LONG = "Nobody likes the small house . The king follows the dog under the tree . " * 12  # 180 tokens


def test_a_score_is_a_sum_and_what_it_is_divided_by(make_model: Make) -> None:
    (scored,) = unmask.score(make_model(), "The kinggardens see.", tokens=True)
    assert scored.score == pytest.approx(-sum(token.bits for token in scored.surprisals) * log(2))
    assert scored.per_token == pytest.approx(scored.score / scored.tokens)
    assert scored.words == 4 and scored.tokens > 4  # a full stop is a word of the tokenizer's
    assert scored.per_word == pytest.approx(scored.score / 4)
    assert scored.bits_per_byte == pytest.approx(-scored.score / log(2) / len("The kinggardens see."))
    assert next(scored.text[token.start : token.end] for token in scored.surprisals) == "The"
    assert (scored.windows, scored.cut, scored.tokens_read, scored.error) == (1, 0, scored.tokens, None)


def test_what_is_in_sight_is_not_scored_and_changes_what_is(make_model: Make) -> None:
    model = unmask.load(make_model())
    (alone,) = model.score("the sea")
    (before,) = model.score("the sea", prefix="My sister paints")
    (behind,) = model.score("the sea", suffix="at night?")
    assert alone.tokens == before.tokens == behind.tokens
    assert before.tokens_read > alone.tokens_read == alone.tokens
    assert len({alone.score, before.score, behind.score}) == 3
    (whole,) = model.score("My sister paints the sea", tokens=True)
    assert before.score == pytest.approx(-log(2) * sum(token.bits for token in whole.surprisals[-2:]), abs=1e-4)


def test_a_long_text_is_read_in_windows_refused_or_cut(make_model: Make) -> None:
    model = unmask.load(make_model())
    (read,) = model.score(LONG, tokens=True)
    assert read.tokens == read.tokens_read == len(read.surprisals) > 62 and read.windows > 2
    (cut,) = model.score(LONG, on_long="cut")
    assert (cut.tokens, cut.windows) == (62, 1) and cut.cut == read.tokens - 62
    with pytest.raises(BadInput, match="but this model takes 62"):
        model.score(LONG, on_long="error")
    with pytest.raises(BadInput, match="ends before the text begins"):
        model.score("the sea", prefix=LONG, on_long="cut")
    (behind,) = model.score("the sea", prefix=LONG)  # in sight as far as a row goes
    assert behind.tokens == 2


def test_scores_do_not_depend_on_what_is_scored_beside_them(make_model: Make) -> None:
    model, texts = unmask.load(make_model("modernbert", "bpe")), ["The king.", LONG, "A stranger hears music!"]
    together = [scored.score for scored in model.score(*texts)]
    assert together == pytest.approx([model.score(text)[0].score for text in texts], abs=2e-3)


def test_texts_come_from_a_file_and_results_go_to_one(make_model: Make, tmp_path: Path) -> None:
    lines = tmp_path / "texts.jsonl"
    lines.write_text("\n".join(json.dumps({"text": text}) for text in ("the sea", "music")), encoding="utf-8")
    (written,) = unmask.score(make_model(), str(lines), out=tmp_path / "scores.jsonl")
    assert isinstance(written, unmask.Written) and written.lines == 2
    kept = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [each["score"] for each in kept] == pytest.approx(
        [scored.score for scored in unmask.score(make_model(), "the sea", "music")], abs=1e-4
    )


def test_a_line_that_cannot_be_scored_is_named_and_the_others_are(make_model: Make, tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text('{"text": "the sea"}\n{"txt": 1}\n{"text": "music"}\n', encoding="utf-8")
    model = unmask.load(make_model())
    assert [isinstance(each, BadInput) for each in model.score_each(["the sea", "\ud800", "music"])] == [
        False,
        True,
        False,
    ]
    with pytest.raises(BadInput, match="2: no field 'text'"):
        unmask.score(make_model(), str(tmp_path / "texts.jsonl"))


def test_settings_that_mean_nothing_are_refused(make_model: Make) -> None:
    with pytest.raises(BadInput, match="--stride 0"):
        unmask.score(make_model(), "the sea", stride=0)
    with pytest.raises(BadInput, match="--draws 1"):
        unmask.score(make_model(), "the sea", draws=1)
    with pytest.raises(BadInput, match="nothing to score"):
        unmask.score(make_model())


def test_a_directory_without_a_run_hides_and_restores(make_model: Make) -> None:
    assert trained_method(make_model()) is None
    assert unmask.load(make_model()).scorer.method == "pseudo"


@pytest.mark.parametrize(
    ("recipe", "method"),
    [("causal-tiny", "likelihood"), ("diffusion-tiny", "bound"), ("bert-tiny", "pseudo")],
)
def test_a_run_says_what_it_was_trained_to_say(data: Path, tmp_path: Path, recipe: str, method: str) -> None:
    run = tmp_path / "run"
    unmask.pretrain(data, out=run, recipe=recipe, steps=2, length=32, batch_size=4, report=False)
    (scored,) = unmask.score(run, "The king sees the sea.", tokens=True)
    assert scored.method == method and np.isfinite(scored.score)
    assert (scored.error is not None) == (method == "bound")
    assert len(scored.surprisals) == scored.tokens
