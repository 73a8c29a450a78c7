"""What an adaptation starts from: a masked language model of transformers, ours or not, and data in its own tokens.

In: a model directory and a data directory. Out: the model, ready to be trained; data in other tokens is refused with
the command that prepares it right.
"""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import AutoModelForMaskedLM, PreTrainedModel

from unmask.errors import BadInput
from unmask.models.load import length_of, whole_model
from unmask.runs.commands import quoted_path
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.load import load_tokenizer

USUAL_LENGTH = 128  # tokens in a block


def start_masked_lm(directory: Path) -> PreTrainedModel:
    """The masked language model of a directory, with every weight it has."""
    with torch.random.fork_rng():
        return whole_model(AutoModelForMaskedLM, directory, "masked language model", torch.device("cpu"))


def check_tokenizer(directory: Path, dataset: Dataset) -> None:
    """Refuse data that is encoded in other tokens than the model reads."""
    own, other = load_tokenizer(directory), dataset.tokenizer()
    if own.get_vocab() != other.get_vocab():
        command = f"unmask prepare TEXT --out DATA --tokenizer {quoted_path(directory)}"
        raise BadInput(f"{dataset.path}: is in other tokens than {directory} reads; `{command}` prepares it right")


def block_length(directory: Path, model: PreTrainedModel, asked: int | None) -> int:
    """Tokens in a block: as asked for, at most what the model takes; 128 where nobody says."""
    longest = length_of(model, load_tokenizer(directory))
    if asked is not None and longest is not None and asked > longest:
        raise BadInput(f"--length {asked}: this model takes rows of {longest:,} tokens at the most")
    return asked or min(USUAL_LENGTH, longest or USUAL_LENGTH)
