"""Rows of tokens to vectors: the one way from a frozen model to what it knows of each token.

In: any encoder or decoder of transformers, from a directory or from memory, and rows of ids. Out: the vectors of its
last layer, or the mean of its last few. `unmask.inference.embed` makes vectors of texts of them, and
`unmask.evaluation.features` what linear probes learn from. Nothing is fetched and nothing is learnt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerFast

from unmask.errors import BadInput, Damaged
from unmask.files import sha256_of
from unmask.inference.ask import TOKENS_IN_CACHE
from unmask.inference.sentence_layout import read_layout
from unmask.models.config import fitting_model
from unmask.models.load import DTYPES, chosen_device
from unmask.models.locate import model_directory
from unmask.models.masked_lm import length_of
from unmask.models.modernbert_rows import RowEncoder
from unmask.models.rows_of_model import row_encoder
from unmask.records import Ids, Integers
from unmask.tokens.bucket import batches_by_length
from unmask.tokens.tokenizer.load import load_tokenizer

TOKENS = 8_192  # in a forward pass, padding among them
ROWS = 256  # and rows
# Tokens from which on a batch ends where its rows get longer: without padding, and so without a mask, attention is
# faster. A GPU waits for launches where batches are small.
LEAST, LEAST_ON_GPU = 256, 4_096
BOUND_FILES = ("config.json", "tokenizer.json")  # beside the weights: what vectors depend on


@dataclass(frozen=True)
class Encoder:
    """The part of a model that turns tokens into vectors, and the tokens it takes."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    length: int | None  # the most tokens in a row, special ones included
    precision: str = "float32"  # what its products are computed in

    @cached_property
    def around(self) -> tuple[list[int], list[int]]:
        """What opens and what closes a row, as the tokenizer has it: of GPT-2 neither, of T5 the end alone."""
        row = self.tokenizer("a", padding=False, return_special_tokens_mask=True)
        ids, inside = list(row["input_ids"]), np.flatnonzero(np.array(row["special_tokens_mask"]) == 0)
        first, last = (inside[0], inside[-1] + 1) if len(inside) else (len(ids), len(ids))
        return ids[:first], ids[last:]

    @property
    def room(self) -> int | None:
        """The most tokens of a text in one row."""
        return None if self.length is None else max(1, self.length - sum(map(len, self.around)))

    @property
    def width(self) -> int:
        """Numbers in a vector."""
        return int(self.model.config.get_text_config().hidden_size)

    @cached_property
    def rows(self) -> RowEncoder | None:
        """A shorter way from rows to vectors, where there is one for this model."""
        return row_encoder(self.model) if self.precision == "float32" else None

    def casting(self) -> torch.autocast:
        """While open, products are computed in the encoder's precision."""
        dtype = DTYPES[self.precision]
        return torch.autocast(self.model.device.type, dtype, enabled=dtype != torch.float32)


def load_encoder(path: Path, *, device: str | None = "cpu", precision: str = "float32") -> Encoder:
    """The encoder of a run or of a model directory: of T5 the encoder, of GPT-2 all there is."""
    place = chosen_device(device)
    if precision not in DTYPES:
        raise BadInput(f"--precision {precision}: choose one of {', '.join(DTYPES)}")
    directory = model_directory(path)
    model, _ = fitting_model(AutoModel, directory)
    encoder = encoder_of(model.to(place), load_tokenizer(directory), precision)
    layout = read_layout(directory)
    lengths = [length for length in (encoder.length, layout and layout.length) if length]
    return replace(encoder, length=min(lengths, default=None))


def encoder_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, precision: str = "float32") -> Encoder:
    """The encoder inside a model that is in memory."""
    inner: Any = model.get_encoder() if model.config.is_encoder_decoder else model.base_model
    return Encoder(inner.eval(), tokenizer, length_of(model, tokenizer), precision)


def encoder_digest(directory: Path) -> str:
    """A digest of all that vectors of a model directory depend on: its weights, its settings, its tokenizer."""
    files = [*sorted(directory.glob("*.safetensors")), *(directory / name for name in BOUND_FILES)]
    return sha256("".join(sha256_of(file) for file in files if file.is_file()).encode()).hexdigest()


@torch.inference_mode()
def row_vectors(encoder: Encoder, rows: Sequence[Ids], *, layers: int = 1) -> Iterator[tuple[Integers, Tensor]]:
    """The numbers of the rows of each batch, and the vectors of their tokens one after the other, T D, on the device.

    Rows of like length are read together. `layers` is over how many of the last layers the mean is taken.
    """
    lengths = [max(1, len(row)) for row in rows]
    short_way = encoder.rows if layers == 1 else None
    if short_way is not None:
        batches = batches_by_length(lengths, tokens=TOKENS_IN_CACHE)
    else:
        least = LEAST if encoder.model.device.type == "cpu" else LEAST_ON_GPU
        batches = batches_by_length(lengths, tokens=TOKENS, rows=ROWS, padding=0.0, least=least)
    for numbers in batches:
        batch = [rows[number] for number in numbers]
        if short_way is None:
            vectors = _padded_vectors(encoder, batch, layers)
        else:
            vectors = short_way.states([row for row in batch if len(row)])
        if not torch.isfinite(vectors).all():
            raise Damaged("the model gives numbers that are not finite; its weights are damaged")
        yield numbers, vectors


def _padded_vectors(encoder: Encoder, batch: Sequence[Ids], layers: int) -> Tensor:
    """One pass of transformers' own; a batch without padding is given no mask, for attention is faster without one."""
    width = max(1, *map(len, batch))
    ids = np.full((len(batch), width), encoder.tokenizer.pad_token_id or 0, dtype=np.int64)
    real = np.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        real[row, : len(tokens)] = 1
    device = encoder.model.device
    inputs: dict[str, Any] = {"input_ids": torch.from_numpy(ids).to(device)}
    if not real.all():
        seen = real.copy()
        seen[:, 0] = 1  # a row without tokens sees itself
        inputs["attention_mask"] = torch.from_numpy(seen).to(device)
    with encoder.casting():
        output = encoder.model(**inputs, output_hidden_states=layers > 1)
    vectors: Tensor = output.last_hidden_state
    if layers > 1:
        vectors = torch.stack(output.hidden_states[-layers:]).mean(0)
    flat = vectors.float().flatten(0, 1)
    return flat if real.all() else flat[torch.from_numpy(real.reshape(-1) > 0).to(device)]
