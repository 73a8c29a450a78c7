"""What held-out text costs in bits, for models that say how likely a whole text is.

In: a learner, trained, and how it is measured. Out: bits per byte of text with their interval, exact for a
left-to-right model, a bound from above for masked diffusion. A model that only restores hidden tokens gives a text no
probability, and none here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from torch.nn import Module

from unmask.intervals import ratio_figure
from unmask.pretraining.validation import MaskedValidation, measure_objective
from unmask.progress import task
from unmask.records import Integers
from unmask.results import Figure
from unmask.tokens.pack import Packing

GROUPS = 40  # of documents, at the most, whose costs tell how sure their mean is


def bits_per_byte(learner: Module, validation: MaskedValidation) -> Figure | None:
    """The bits that a byte of the held-out text costs; none where the objective does not say."""
    examples = validation.own_examples
    if examples is None:
        return None
    packing = examples.packing
    group = packing.pieces.documents % GROUPS
    bits, tokens = [], []
    with task("Weighing", total=GROUPS) as step:
        for number in np.unique(group):
            members = np.flatnonzero(group == number)
            # each group has draws of its own, or their costs would be alike by chance
            apart = replace(examples, packing=_select_pieces(packing, members), seed=examples.seed + int(number))
            sums = measure_objective(learner, validation.objective, apart)
            if "bits_per_token" not in sums.figures:
                return None
            tokens.append(int(packing.pieces.lengths[members].sum()))
            bits.append(sums.figures["bits_per_token"] * tokens[-1])
            step(1)
    per_byte = validation.dataset.tokens_per_byte
    cost = ratio_figure(np.array(bits), np.array(tokens, dtype=np.float64))
    return Figure(cost.value * per_byte, cost.low * per_byte, cost.high * per_byte)


def _select_pieces(packing: Packing, numbers: Integers) -> Packing:
    """Some pieces of a packing in which each is alone in its row."""
    pieces = packing.pieces
    pieces = replace(
        pieces, starts=pieces.starts[numbers], lengths=pieces.lengths[numbers], documents=pieces.documents[numbers]
    )
    count = np.arange(len(numbers) + 1)
    return replace(packing, pieces=pieces, order=count[:-1], edges=count)
