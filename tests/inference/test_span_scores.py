from __future__ import annotations

from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from span_cases import as_stock, transformers_log_probability, wide_t5
from writing_cases import Make

import unmask
from unmask.errors import BadInput
from unmask.evaluation.probe import judge_items
from unmask.evaluation.probe_items import read_item
from unmask.inference.model import Model
from unmask.inference.span_row import opening
from unmask.tokens.tokenizer.encode import encode


@pytest.fixture(scope="module", params=["wordpiece", "unigram"])
def model(request: pytest.FixtureRequest, make_model: Make, tmp_path_factory: pytest.TempPathFactory) -> Model:
    path = wide_t5(make_model, tmp_path_factory.mktemp("t5") / "model", request.param)
    return unmask.load(as_stock(path) if request.param == "unigram" else path)


def _by_hand(model: Model, text: str) -> list[float]:
    """Each word behind a sentinel, by transformers' own loss."""
    lm, (row,) = model.writer, encode(model.writer.tokenizer, [text])
    first, second, *_ = lm.vocabulary.sentinels
    values = []
    for word in np.split(np.arange(len(row.ids)), np.flatnonzero(row.word_starts)[1:]):
        ids = row.ids.tolist()
        pieces = [ids[place] for place in word]
        source = [*opening(lm), *ids[: word[0]], first, *ids[word[-1] + 1 :], lm.vocabulary.end]
        ends = [
            transformers_log_probability(lm, source, [first, *pieces, end], 1) for end in (lm.vocabulary.end, second)
        ]
        values.append(log(sum(map(exp, ends))))
    return values


def test_a_score_is_the_sum_over_words_of_what_transformers_own_loss_gives_them(model: Model) -> None:
    text = "The kinggardens see music."
    (scored,) = model.score(text, tokens=True)
    words = _by_hand(model, text)
    assert scored.method == "spans" and scored.words == len(words) < scored.tokens
    assert scored.score == pytest.approx(sum(words), abs=1e-3)
    assert scored.score == pytest.approx(-log(2) * sum(token.bits for token in scored.surprisals), abs=1e-4)
    assert (scored.windows, scored.cut, scored.error) == (1, 0, None)


def test_what_is_in_sight_is_not_scored_and_changes_what_is(model: Model) -> None:
    (alone,), (behind,) = model.score("the sea"), model.score("the sea", prefix="My sister paints", suffix="at night?")
    assert alone.tokens == behind.tokens and behind.tokens_read > alone.tokens_read
    assert alone.score != behind.score
    whole = _by_hand(model, "My sister paints the sea at night?")
    assert behind.score == pytest.approx(sum(whole[3:5]), abs=1e-3)


def test_scores_do_not_depend_on_what_is_scored_beside_them(model: Model) -> None:
    texts = ["The king.", "Nobody likes the small house . " * 8, "A stranger hears music!"]
    together = [scored.score for scored in model.score(*texts)]
    assert together == pytest.approx([model.score(text)[0].score for text in texts], abs=2e-3)


def test_a_stride_is_refused_and_pairs_and_fillers_can_be_probed(model: Model) -> None:
    with pytest.raises(BadInput, match="--stride 2: for masked language models; the method of this one is spans"):
        model.score("The sea.", stride=2)
    lines = (
        '{"sentence_good": "The king sees.", "sentence_bad": "The king see."}',
        '{"text": "The [MASK] sees.", "answer": "king", "candidates": ["king", "sea"]}',
        '{"masked_sentences": ["The [MASK] sees."], "obj_label": "king"}',
    )
    pair, filler, open_blank = judge_items(model.scorer, map(read_item, lines))
    assert pair.scores is not None and len(pair.scores) == 2
    guesses = {
        guess.token: guess.probability for guess in model.fill("The [MASK] sees.", targets=["king", "sea"])[0].blanks[0]
    }
    assert {word: exp(score) for word, score in filler.scores.items()} == pytest.approx(guesses, rel=1e-2)
    assert "no single token has a rank" in open_blank.problem


def test_a_t5_run_of_ours_is_scored(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    unmask.pretrain(data, out=run, recipe="t5-tiny", steps=2, length=32, batch_size=4, report=False)
    (scored,) = unmask.score(run, "The king sees the sea.")
    assert scored.method == "spans" and np.isfinite(scored.score)
