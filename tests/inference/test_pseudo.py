from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import unmask
from unmask.inference.passages import Passage, read_passages
from unmask.inference.pseudo import pseudo_rows
from unmask.models.load import LoadedModel, load_model
from unmask.tokens.windows import read_windows

Make = Callable[..., Path]
TEXTS = [
    "Nobody understands the kinggardens of breadcloud!",
    "The king.",
    "Grandmother repairs a wooden bridge in winter.",
]
FAMILIES = [
    ("bert", "wordpiece"),
    ("roberta", "bpe"),
    ("deberta-v2", "unigram"),
    ("electra", "wordpiece"),
    ("modernbert", "bpe"),
    ("xlm-roberta", "unigram"),
]


def one_at_a_time(lm: LoadedModel, text: str) -> list[float]:
    """The definition: hide a token and the later pieces of its word, look at one probability, go on."""
    passage = read_passages(lm, [text])[0]
    assert isinstance(passage, Passage)
    ids, values = passage.ids.tolist(), []
    words = np.cumsum(passage.starts)
    for place, token in enumerate(ids):
        later = [at >= place and words[at] == words[place] for at in range(len(ids))]
        hidden = [lm.vocabulary.mask if hide else each for hide, each in zip(later, ids, strict=True)]
        row = torch.tensor([[lm.vocabulary.start, *hidden, lm.vocabulary.end]])
        with torch.no_grad():
            logits = lm.model(row, attention_mask=torch.ones_like(row)).logits[0, place + 1]
        values.append(float(logits.log_softmax(-1)[token]))
    return values


@pytest.mark.parametrize(("family", "kind"), FAMILIES)
def test_scores_are_those_of_hiding_one_token_after_the_other(make_model: Make, family: str, kind: str) -> None:
    path = make_model(family, kind)
    lm = load_model(path)
    scored = unmask.load(path).score(*TEXTS, tokens=True)
    for text, result in zip(TEXTS, scored, strict=True):
        expected = one_at_a_time(lm, text)
        assert [-token.bits * np.log(2) for token in result.surprisals] == pytest.approx(expected, abs=1e-4)
        assert result.score == pytest.approx(sum(expected), abs=1e-3)
        assert result.method == "pseudo"


def test_scores_are_minicons_within_word_l2r(make_model: Make) -> None:
    scorer = pytest.importorskip("minicons.scorer")
    path = make_model("bert", "wordpiece")
    theirs = scorer.MaskedLMScorer(str(path), "cpu")
    theirs.tokenizer.batch_encode_plus = theirs.tokenizer.__call__  # which transformers 5 has no longer
    expected = theirs.sequence_score(TEXTS, reduction=lambda x: x.sum().item(), PLL_metric="within_word_l2r")
    ours = [result.score for result in unmask.load(path).score(*TEXTS)]
    assert ours == pytest.approx(expected, abs=1e-4)


def test_a_piece_is_hidden_with_the_later_pieces_of_its_word(make_model: Make) -> None:
    lm = load_model(make_model())
    (passage,) = read_passages(lm, TEXTS[:1])
    assert isinstance(passage, Passage)
    rows = list(pseudo_rows(0, passage, read_windows(len(passage.ids), lm.room), lm.vocabulary))
    words = np.cumsum(passage.starts)
    assert max(np.bincount(words)) > 1  # or nothing is tested
    for place, row in enumerate(rows):
        inside = row.ids[1:-1]
        later = (words == words[place]) & (np.arange(len(words)) >= place)
        assert (inside[later] == lm.vocabulary.mask).all() and (inside[~later] == passage.ids[~later]).all()
        assert row.targets.tolist() == [passage.ids[place]] and row.asked.tolist() == [place + 1]


@pytest.mark.parametrize("stride", [1, 2, 3, 50])
def test_a_stride_asks_for_every_token_once_and_hides_every_so_many_th_word(make_model: Make, stride: int) -> None:
    lm = load_model(make_model())
    (passage,) = read_passages(lm, TEXTS[:1])
    assert isinstance(passage, Passage)
    rows = list(pseudo_rows(0, passage, read_windows(len(passage.ids), lm.room), lm.vocabulary, stride))
    asked = sorted(place for row in rows for place in row.places.tolist())
    assert asked == list(range(len(passage.ids)))
    words = np.cumsum(passage.starts) - 1
    for row in rows:
        assert len({words[place] % stride for place in row.places}) == 1
        for place, target in zip(row.asked, row.targets, strict=True):
            assert row.ids[place] == lm.vocabulary.mask and passage.ids[place - 1] == target
    pieces = int(np.bincount(words).max())
    assert len(rows) <= min(stride, words[-1] + 1) * pieces


def test_a_stride_that_hides_one_word_at_a_time_is_exact(make_model: Make) -> None:
    model = unmask.load(make_model("modernbert", "bpe"))
    exact, strided = model.score(*TEXTS), model.score(*TEXTS, stride=50)
    assert [each.score for each in strided] == pytest.approx([each.score for each in exact], abs=1e-3)
    assert strided[0].method == "pseudo, stride 50"
    assert [each.score for each in model.score(*TEXTS, stride=2)] != pytest.approx([each.score for each in exact])


MEMORY = """
import re, sys
from pathlib import Path
import unmask
(scored,) = unmask.load(sys.argv[1]).score("the king sees the sea . " * 1000)
most = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())  # getrusage counts who started it too
print(scored.tokens, scored.windows, int(most[1]) / 1e6)
"""


@pytest.mark.slow
def test_a_text_of_five_thousand_tokens_stays_under_one_and_a_half_gigabytes(make_model: Make) -> None:
    path = make_model("bert", "wordpiece", max_position_embeddings=128)
    done = subprocess.run([sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, check=True)
    tokens, windows, gigabytes = map(float, done.stdout.split())
    assert tokens > 5000 and windows > 1
    assert gigabytes < 1.5
