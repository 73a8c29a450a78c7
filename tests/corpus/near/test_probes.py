from __future__ import annotations

import numpy as np
import pytest

from unmask.corpus.near.probes import Recall, probe_of
from unmask.corpus.near.shingles import jaccard, shingles_of

TEXTS = {
    "spaced": " ".join(f"word{n * n % 89} and, then {n}." for n in range(120)),
    "unspaced": "".join(chr(0x4E00 + n * n * 7 % 3000) for n in range(400)),
}


@pytest.mark.parametrize("script", TEXTS)
@pytest.mark.parametrize("level", [0.6, 0.85])
def test_a_probe_is_just_as_similar_as_it_should_be(script: str, level: float) -> None:
    probe = probe_of(TEXTS[script], level, seed=3)
    assert probe is not None
    one, other = (np.unique(shingles_of([text]).hashes) for text in (TEXTS[script], probe))
    assert level <= jaccard(one, other) < level + 0.05
    assert probe == probe_of(TEXTS[script], level, seed=3) != probe_of(TEXTS[script], level, seed=4)


def test_a_text_that_is_too_short_makes_none() -> None:
    assert probe_of("only five words of text", 0.85, seed=1) is None


def test_recall_is_said_with_its_interval() -> None:
    assert str(Recall(level=0.85, probes=200, caught=198)) == "caught 0.99 (0.96–1.00) at 0.85"
