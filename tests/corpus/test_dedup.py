from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from unmask.corpus.dedup import digest_texts, first_of_each

halves = st.sampled_from([0, 1, 2**60 - 1, 2**60, 2**63, 2**64 - 1])


@given(st.lists(st.tuples(halves, halves), max_size=40))
def test_each_text_is_told_the_first_of_its_kind_in_input_order(digests: list[tuple[int, int]]) -> None:
    expected = [digests.index(each) for each in digests]
    assert first_of_each(np.array(digests, dtype=np.uint64).reshape(-1, 2)).tolist() == expected


@given(st.lists(st.text(), max_size=5))
def test_a_digest_is_the_128_bit_blake2b_of_the_utf8(texts: list[str]) -> None:
    expected = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts]
    assert digest_texts(pa.array(texts, type=pa.large_string())).to_pylist() == expected
