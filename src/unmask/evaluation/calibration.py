"""Whether a model is as sure of its fills as it is right.

In: for each blank the probability of the model's best guess, and whether that was the token that stood there. Out:
`Calibration`: the expected calibration error (Guo et al. 2017) and the bins of a reliability diagram. Of guesses that a
calibrated model gives 0.7, seven of ten are right.

    ECE = Σ_b (n_b/n) |accuracy_b − confidence_b|,   b over ten bins of equal width
"""

from __future__ import annotations

import numpy as np

from unmask.records import Flags, Integers, Reals
from unmask.results import Calibration, Figure, ReliabilityBin

BINS = 10
RESAMPLES = 1_000  # of documents, for the interval


def measure_calibration(confidences: Reals, right: Flags, documents: Integers) -> Calibration:
    """The error with its interval, over documents drawn again, and the bins that have a blank."""
    bins = np.minimum((confidences * BINS).astype(np.int64), BINS - 1)
    _, groups = np.unique(documents, return_inverse=True)
    size = groups.max() + 1
    tables = np.zeros((3, size, BINS))  # by document and bin: blanks, the sum of confidences, right guesses
    for table, values in zip(tables, (np.ones(len(bins)), confidences, right), strict=True):
        np.add.at(table, (groups, bins), values)
    draws = np.random.default_rng(0).multinomial(size, np.full(size, 1 / size), RESAMPLES)
    resampled = np.einsum("rd,tdb->trb", draws, tables)
    errors = np.abs(resampled[2] - resampled[1]).sum(-1) / resampled[0].sum(-1)
    counts, sure, hits = tables.sum(1)
    return Calibration(
        blanks=len(bins),
        error=Figure(float(np.abs(hits - sure).sum() / len(bins)), *np.quantile(errors, (0.025, 0.975)).tolist()),
        confidence=float(confidences.mean()),
        bins=tuple(
            ReliabilityBin(
                low=number / BINS,
                high=(number + 1) / BINS,
                blanks=int(counts[number]),
                confidence=float(sure[number] / counts[number]),
                accuracy=float(hits[number] / counts[number]),
            )
            for number in range(BINS)
            if counts[number]
        ),
    )
