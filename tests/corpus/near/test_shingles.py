from __future__ import annotations

import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.corpus.near import shingles
from unmask.corpus.near.shingles import jaccard, shingles_of

words = st.lists(
    st.sampled_from(["one", "two", "Three,", "four.", "5", "6", "…", "ünder", "ét", "東京", "ไทย", "--", "[x]"]),
    max_size=14,
)


def reference(text: str) -> list[tuple[str, ...]]:
    """The shingles of a text, spelt out."""
    folded = unicodedata.normalize("NFKC", text).lower()
    spelt = "".join(character if unicodedata.category(character)[0] in "LNM" else " " for character in folded)
    tokens = re.findall(
        r"[\u0e01-\u0eff\u3021-\u312f\u3400-\u9fff]|[^\s\u0e01-\u0eff\u3021-\u312f\u3400-\u9fff]+", spelt
    )
    return [tuple(tokens[n : n + 5]) for n in range(max(1, len(tokens) - 4))] if tokens else []


@given(st.lists(words.map(" ".join), min_size=1, max_size=6))
def test_equal_runs_of_five_words_have_equal_hashes_and_others_have_others(texts: list[str]) -> None:
    found = shingles_of(texts)
    spelt = [reference(text) for text in texts]
    assert np.diff(found.ends, prepend=0).tolist() == [len(runs) for runs in spelt]
    numbers = {run: number for runs in spelt for run, number in zip(runs, range(10**6), strict=False)}
    hashes = dict(zip([run for runs in spelt for run in runs], found.hashes.tolist(), strict=True))
    assert [hashes[run] for runs in spelt for run in runs] == found.hashes.tolist()
    assert len(set(hashes.values())) == len(numbers)


def test_where_groups_end_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"some words of the text number {n}, and 東京 too" for n in range(50)] + ["", "."]
    one = shingles_of(texts)
    monkeypatch.setattr(shingles, "GROUP", 64)
    two = shingles_of(texts)
    assert one.hashes.tolist() == two.hashes.tolist() and one.ends.tolist() == two.ends.tolist()


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_jaccard_is_that_of_the_sets(one: set[int], other: set[int]) -> None:
    expected = len(one & other) / max(1, len(one | other))
    assert jaccard(*(np.array(sorted(each), np.uint64) for each in (one, other))) == expected
