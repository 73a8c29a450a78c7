"""A directory to an encoder-decoder that spells out gaps: T5 and its like, ours or not.

In: a model directory. Out: a `LoadedModel` whose vocabulary has sentinels. Nothing is fetched from a network, nothing
is unpickled, and no code that came with the weights is run.
"""

from __future__ import annotations

from pathlib import Path

from transformers import AutoModelForSeq2SeqLM

from unmask.models.load import LoadedModel, check_precision, chosen_device
from unmask.models.masked_lm import whole_model
from unmask.models.weights import weight_files
from unmask.tokens.tokenizer.load import load_tokenizer
from unmask.tokens.tokenizer.sentinels import sentinel_vocabulary


def load_spans(directory: Path, *, device: str | None = None, precision: str = "float32") -> LoadedModel:
    """Load the encoder-decoder of a model directory; relative positions let it take texts of any length."""
    place = chosen_device(device)
    check_precision(precision)
    weight_files(directory)
    tokenizer = load_tokenizer(directory)
    vocabulary = sentinel_vocabulary(tokenizer)
    model = whole_model(AutoModelForSeq2SeqLM, directory, "encoder-decoder", place)
    return LoadedModel.of(directory, model, tokenizer, vocabulary, None, precision)
