"""How far a model's answers depend on the order in which it is asked.

In: a masked language model and held-out rows with hidden tokens. Out: `Consistency`. The hidden tokens of a row are
restored one after the other, each given those before it in the order; their sum is the log-probability of a chain:

    log q_σ(x_H) = Σ_j log q(x_σ(j) | shown, x_σ(1) … x_σ(j−1)),   σ an order of the hidden tokens H

A model whose conditionals come from one joint distribution gives every order the same sum. Masked models do not, and
how far apart the sums are, in nats a token, is how much of an answer is the order's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from unmask.errors import BadInput
from unmask.inference.hidden_rows import HiddenRow, answer_rows
from unmask.intervals import ratio_figure
from unmask.models.load import LoadedModel
from unmask.records import Ids, Integers, Reals
from unmask.results import Consistency, Figure
from unmask.tokens.held_out import HeldOutSet

ORDERS = ("left to right", "right to left", "random 1", "random 2", "random 3")
ROWS = 100  # of the held-out text, evenly taken: each is asked for every hidden token in every order


class ChainRow(NamedTuple):
    """A row whose hidden tokens are restored one after the other."""

    ids: Ids  # L, as the text is
    hidden: Integers  # P, columns
    document: int


def measure_consistency(lm: LoadedModel, examples: HeldOutSet, *, rows: int = ROWS) -> Consistency:
    """The chain of each row in every order, and all hidden tokens at once for comparison."""
    chains = list(_rows(examples, rows))
    if not chains:
        raise BadInput("no held-out row has two hidden tokens; prepare the data from more text, or raise --rate")
    sums = np.zeros((len(chains), len(ORDERS) + 1))  # the last: all at once
    made = (
        row
        for number, chain in enumerate(chains)
        for row in _chain_rows(lm, chain, number, len(ORDERS) + 1, examples.seed)
    )
    for row, values in answer_rows(lm, made, title="Asking in several orders"):
        sums[divmod(row.passage, len(ORDERS) + 1)] += values.sum()
    return summarize_chains(
        sums, np.array([len(chain.hidden) for chain in chains]), np.array([chain.document for chain in chains])
    )


def _rows(examples: HeldOutSet, rows: int) -> Iterator[ChainRow]:
    """Rows with something to order, the text put back where it was hidden."""
    pieces = examples.packing.pieces
    limit = max(1, round(examples.tokens * rows / len(pieces.lengths)))
    for held_out in examples.batches(limit=limit):
        batch = held_out.batch
        whole = batch.ids.reshape(-1).copy()
        whole[batch.predicted] = batch.targets
        places, columns = np.divmod(batch.predicted, batch.ids.shape[1])
        for place, number in enumerate(batch.numbers.tolist()):
            if (places == place).sum() > 1:
                real = batch.documents[place] > 0
                ids = whole.reshape(batch.ids.shape)[place][real].astype(np.int32)
                yield ChainRow(ids, columns[places == place], int(pieces.documents[number]))


def _chain_rows(lm: LoadedModel, chain: ChainRow, number: int, ways: int, seed: int) -> Iterator[HiddenRow]:
    hidden, mask = chain.hidden, lm.vocabulary.mask
    everything = chain.ids.copy()
    everything[hidden] = mask
    yield HiddenRow(number * ways + len(ORDERS), everything, hidden, chain.ids[hidden], hidden)
    generator = np.random.default_rng([seed, number])
    orders = [hidden, hidden[::-1], *(generator.permutation(hidden) for _ in ORDERS[2:])]
    for way, order in enumerate(orders):
        ids = everything.copy()
        for place in order.tolist():
            asked = np.array([place])
            yield HiddenRow(number * ways + way, ids.copy(), asked, chain.ids[asked], asked)
            ids[place] = chain.ids[place]


def summarize_chains(sums: Reals, counts: Integers, documents: Integers) -> Consistency:
    """Figures of sums of log-probabilities, a row for each chain and a column for each order, the last all at once."""
    ordered = sums[:, : len(ORDERS)]
    _, groups = np.unique(documents, return_inverse=True)
    tokens = np.bincount(groups, weights=counts)

    def per_token(values: Reals) -> Figure:
        return ratio_figure(np.bincount(groups, weights=values), tokens)  # type: ignore[arg-type]

    return Consistency(
        rows=len(sums),
        tokens=int(counts.sum()),
        spread=per_token(ordered.std(axis=1, ddof=1)),
        widest=per_token(np.ptp(ordered, axis=1)),
        loss=per_token(-ordered.mean(axis=1)),
        at_once=per_token(-sums[:, -1]),
        by_order={name: per_token(-ordered[:, way]) for way, name in enumerate(ORDERS)},
    )
