"""Logits to probabilities that can be believed, and to decisions.

In: logits and labels of held-out texts. Out: a temperature by which logits are divided (Guo et al. 2017) and, where a
text may have several labels, a threshold for each: both chosen on what is held out, and kept.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax

from unmask.records import Flags, Reals

TEMPERATURES = (0.05, 20.0)  # between which one is looked for
THRESHOLDS = np.arange(0.05, 0.96, 0.05)
BINS = 15  # of the calibration error


def probabilities_of(logits: Reals, *, several: bool, temperature: float = 1.0) -> Reals:
    """N C: the probabilities of labels: of one they add up to 1, several are each for itself."""
    scaled = logits / temperature
    probabilities: Reals = expit(scaled) if several else softmax(scaled, axis=1)
    return probabilities


def mean_loss(logits: Reals, targets: Reals, *, several: bool, temperature: float = 1.0) -> float:
    """Cross-entropy, nats a text or, where there are several labels, nats a decision."""
    scaled = logits / temperature
    if several:
        return float(np.mean(np.logaddexp(0, np.where(targets > 0, -scaled, scaled))))
    return float(-np.mean((log_softmax(scaled, axis=1) * targets).sum(1)))


def fit_temperature(logits: Reals, targets: Reals, *, several: bool) -> float:
    """The temperature at which the held-out labels are likeliest: above 1 where a model is too sure of itself.

    Where all of them are right nothing tells how sure to be, and the surest would be likeliest: then it is 1.
    """
    if not len(logits) or _all_right(logits, targets, several=several):
        return 1.0

    def loss(log_temperature: float) -> float:
        return mean_loss(logits, targets, several=several, temperature=float(np.exp(log_temperature)))

    best = minimize_scalar(loss, bounds=tuple(np.log(TEMPERATURES)), method="bounded")
    return float(np.exp(best.x))


def _all_right(logits: Reals, targets: Reals, *, several: bool) -> bool:
    said = logits > 0 if several else logits.argmax(1)
    return bool((said == (targets > 0 if several else targets.argmax(1))).all())


def choose_thresholds(probabilities: Reals, targets: Reals) -> Reals:
    """C: for each label the threshold with the best F1; 0.5, or the one nearest to it, where several are as good.

    >>> choose_thresholds(np.array([[0.9], [0.4], [0.2]]), np.array([[1.0], [1.0], [0.0]])).round(2).tolist()
    [0.4]
    """
    chosen = np.full(targets.shape[1], 0.5)
    nearest_first = THRESHOLDS[np.argsort(np.abs(THRESHOLDS - 0.5), kind="stable")]
    for label in range(targets.shape[1]):
        true = targets[:, label] > 0
        scores = [_one_f1(probabilities[:, label] >= threshold - 1e-9, true) for threshold in nearest_first]
        if max(scores) > 0:
            chosen[label] = nearest_first[int(np.argmax(scores))]
    return chosen


def fit_sets(probabilities: Reals, targets: Reals, share: float) -> float:
    """The least probability of a label that is in a set, so that the true label is in it for so many unseen texts.

    Split-conformal (Vovk et al. 2005): the ⌈(n + 1)·share⌉-th smallest of 1 − p(true label) on n held-out texts; with
    too few of them every label is in every set.

    >>> fit_sets(np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2]]), np.eye(2)[[0, 0, 0]], 0.5).__round__(6)
    0.8
    """
    scores = np.sort(1 - (probabilities * targets).sum(1))
    rank = int(np.ceil((len(scores) + 1) * share))
    return 0.0 if rank > len(scores) else float(1 - scores[rank - 1])


def label_sets(probabilities: Reals, least: float) -> Flags:
    """N C: the labels of each set; the likeliest label is always in it."""
    flags: Flags = probabilities >= least - 1e-9
    flags[np.arange(len(flags)), probabilities.argmax(1)] = True
    return flags


def decide(probabilities: Reals, thresholds: Reals | None) -> Flags:
    """N C: the likeliest label or, with thresholds, every label that reaches its own."""
    if thresholds is not None:
        flags: Flags = probabilities >= thresholds - 1e-9
        return flags
    best: Flags = np.arange(probabilities.shape[1]) == probabilities.argmax(1)[:, None]
    return best


def macro_f1(decisions: Flags, true: Flags) -> float:
    """The mean of the F1 of all labels that are there or were said, each as important as the others."""
    counts = np.stack([decisions & true, decisions & ~true, ~decisions & true]).sum(1).astype(np.float64)
    return float(mean_f1(counts, counts))


def mean_f1(counts: Reals, whole: Reals) -> Reals:
    """From right, wrong and missed of each label, … 3 C, the mean of their F1.

    Counts are of samples of the whole. Labels that the whole has not are left out; one that a sample alone has not
    counts there as in the whole, or intervals would lie beside the figure that they are of.

    >>> whole = np.array([[8.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    >>> mean_f1(whole, whole).round(3), mean_f1(np.array([[9.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), whole)
    (np.float64(0.471), np.float64(0.5))
    """
    here, there = _f1(counts), _f1(whole)
    scores = np.where(np.isnan(here), there, here)[..., ~np.isnan(there)]
    mean: Reals = scores.sum(-1) / max(1, scores.shape[-1])
    return mean


def _f1(counts: Reals) -> Reals:
    """… C of … 3 C; not a number where a label is neither there nor said."""
    right, total = counts[..., 0, :], 2 * counts[..., 0, :] + counts[..., 1, :] + counts[..., 2, :]
    scores: Reals = np.where(total > 0, 2 * right / np.maximum(total, 1), np.nan)
    return scores


def calibration_error(probabilities: Reals, true: Flags) -> float:
    """How far the sureness of what is said is from how often it is right, on average (ECE, 15 bins).

    >>> calibration_error(np.array([[0.8, 0.2]] * 5), np.array([[True, False]] * 4 + [[False, True]])).__round__(6)
    0.0
    """
    return sureness_error(probabilities.max(1), true[np.arange(len(true)), probabilities.argmax(1)])


def sureness_error(sureness: Reals, right: Flags) -> float:
    """The same, from how sure each answer is and whether it is right."""
    bins = np.minimum((sureness * BINS).astype(int), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    gaps = np.bincount(bins, weights=sureness - right, minlength=BINS)
    return float(np.abs(gaps).sum() / max(1, counts.sum()))


def _one_f1(said: Flags, true: Flags) -> float:
    return 2 * float((said & true).sum()) / max(1.0, float(said.sum() + true.sum()))
