"""Laws of batches by length: every row once, none over the budget unless it is one row, the shortest first."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unmask.tokens.bucket import batches_by_length


@given(
    lengths=st.lists(st.integers(0, 50), max_size=60),
    tokens=st.integers(1, 200),
    rows=st.none() | st.integers(1, 10),
)
def test_every_row_comes_once_and_no_batch_is_over_the_budget_unless_it_is_one_row(
    lengths: list[int], tokens: int, rows: int | None
) -> None:
    batches = [batch.tolist() for batch in batches_by_length(lengths, tokens=tokens, rows=rows)]
    assert sorted(number for batch in batches for number in batch) == list(range(len(lengths)))
    for batch in batches:
        assert batch
        assert len(batch) == 1 or len(batch) * max(lengths[number] for number in batch) <= tokens
        assert rows is None or len(batch) <= rows
    order = [number for batch in batches for number in batch]
    assert order == np.argsort(lengths, kind="stable").tolist()


@given(lengths=st.lists(st.integers(1, 50), min_size=1, max_size=60), tokens=st.integers(1, 200))
def test_a_batch_ends_only_where_the_next_row_has_no_room(lengths: list[int], tokens: int) -> None:
    batches = [batch.tolist() for batch in batches_by_length(lengths, tokens=tokens)]
    for batch, following in pairwise(batches):
        assert (len(batch) + 1) * lengths[following[0]] > tokens
