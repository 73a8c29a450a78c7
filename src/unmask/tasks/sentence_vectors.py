"""The vectors of texts by a model that is being tuned or was: what evaluation measures and what is said of texts.

In: a model and texts as rows. Out: N D, the mean over the tokens of each, by the function that training learns with.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import distributed
from transformers import PreTrainedModel

from unmask.objectives.text_vectors import mean_vectors
from unmask.progress import Step
from unmask.records import Reals
from unmask.tasks.sentence_batches import SentenceRows
from unmask.tokens.bucket import batches_by_length
from unmask.training.machine.distributed import ALONE, World

TOKENS, ROWS = 8_192, 128  # in a forward pass at the most, padding among them, or one text


@torch.no_grad()
def vectors_of(
    model: PreTrainedModel, rows: SentenceRows, *, world: World = ALONE, step: Step | None = None
) -> NDArray[np.float32]:
    """N D: the vectors of texts; those of like length are computed together, and processes share them out."""
    width = int(model.config.get_text_config().hidden_size)
    vectors = np.zeros((len(rows.tokens), width), np.float32)
    was_training = model.training
    model.eval()
    try:
        for numbers, is_mine in world.padded_share(batches_by_length(rows.work, tokens=TOKENS, rows=ROWS)):
            made = mean_vectors(model, rows.batch(numbers))
            if is_mine:
                vectors[numbers] = made.cpu().numpy()
            if step is not None:
                step(len(numbers))
    finally:
        model.train(was_training)
    if world.size > 1:
        distributed.all_reduce(torch.from_numpy(vectors))  # whose rows are zeros where others computed them
    return vectors


def cosines_of(first: NDArray[np.float32], second: NDArray[np.float32]) -> Reals:
    """N: the cosine of each row with the one beside it; 0 where a vector has no length."""
    products = np.einsum("nd,nd->n", first.astype(np.float64), second.astype(np.float64))
    lengths = np.linalg.norm(first.astype(np.float64), axis=1) * np.linalg.norm(second.astype(np.float64), axis=1)
    cosines: Reals = products / np.where(lengths > 0, lengths, 1.0)
    return cosines
