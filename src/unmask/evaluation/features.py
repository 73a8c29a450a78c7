"""Texts to vectors: what a frozen model knows of a text, and of each word in it.

In: any encoder or decoder of transformers, from a directory or from memory, and texts. Out: the vectors of its last
layer, a mean for each text or the first token's for each word. Nothing is fetched and nothing is learnt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.models.load import from_directory, length_of
from unmask.models.locate import model_directory
from unmask.progress import task
from unmask.records import Integers, Reals
from unmask.tokens.bucket import batches_by_length
from unmask.tokens.tokenizer.encode import EncodedText, encode
from unmask.tokens.tokenizer.load import load_tokenizer

AT_ONCE = 8192  # tokens in a forward pass
ROUND = 16  # rows are padded to multiples: a kernel for each shape would be kept in memory


@dataclass(frozen=True)
class Encoder:
    """The part of a model that turns tokens into vectors, and the tokens it takes."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    length: int | None  # the most tokens in a row, special ones included

    @property
    def around(self) -> tuple[list[int], list[int]]:
        """What opens and what closes a row, where the tokenizer has such tokens."""
        tokenizer = self.tokenizer
        first = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
        last = tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id
        return [] if first is None else [first], [] if last is None else [last]


def load_encoder(path: Path) -> Encoder:
    """The encoder of a run or of a model directory: of T5 the encoder, of GPT-2 all there is."""
    directory = model_directory(path)
    try:
        model, _ = from_directory(AutoModel, directory)
    except (ValueError, KeyError, OSError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise BadInput(f"{directory}: cannot be loaded as a model of transformers: {reason}") from error
    return encoder_of(model, load_tokenizer(directory))


def encoder_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> Encoder:
    """The encoder inside a model that is in memory."""
    inner: Any = model.get_encoder() if model.config.is_encoder_decoder else model.base_model
    return Encoder(inner.eval(), tokenizer, length_of(model, tokenizer))


def text_vectors(encoder: Encoder, texts: Sequence[str]) -> Reals:
    """N D: the mean over the tokens of each text; of a text without tokens, zeros."""
    rows = encode(encoder.tokenizer, texts)
    means: list[Reals] = [np.zeros(0)] * len(rows)
    for number, vectors in _vectors(encoder, rows):
        means[number] = vectors.mean(0) if len(vectors) else np.zeros(vectors.shape[1])
    return np.stack(means)


def word_vectors(encoder: Encoder, sentences: Sequence[Sequence[str]]) -> list[Reals]:
    """W D for each sentence: the first token of each word; of a word beyond what the model takes, zeros.

    Words are joined by a space.
    """
    rows = encode(encoder.tokenizer, [" ".join(words) for words in sentences], offsets=True)
    by_sentence: list[Reals] = [np.zeros((0, 0))] * len(rows)
    for number, vectors in _vectors(encoder, rows):
        first = _first_tokens(sentences[number], rows[number])
        inside = first < len(vectors)
        by_sentence[number] = np.zeros((len(first), vectors.shape[1]))
        by_sentence[number][inside] = vectors[first[inside]]
    return by_sentence


def _first_tokens(words: Sequence[str], row: EncodedText) -> Integers:
    """W: the number of the token that each word begins in; some tokenizers count the space before it in."""
    assert row.offsets is not None
    begins = np.cumsum([0, *(len(word) + 1 for word in words[:-1])])
    first: Integers = np.searchsorted(row.offsets[:, 1], begins, side="right").astype(np.int64)
    return first


@torch.inference_mode()
def _vectors(encoder: Encoder, rows: Sequence[EncodedText]) -> Iterator[tuple[int, Reals]]:
    """The number of each row, and L D vectors of its tokens without those around them; rows of like length together."""
    opening, closing = encoder.around
    room = (encoder.length or max((len(row.ids) for row in rows), default=0) + 2) - len(opening) - len(closing)
    inside = [row.ids[:room].tolist() for row in rows]
    with task("Reading", total=len(rows)) as step:
        for numbers in batches_by_length([len(tokens) + 2 for tokens in inside], tokens=AT_ONCE):
            batch = [[*opening, *inside[number], *closing] or [0] for number in numbers]
            for number, vectors in zip(numbers.tolist(), _forward(encoder, batch), strict=True):
                begin = len(opening)
                yield number, vectors[begin : begin + len(inside[number])].astype(np.float64)
            step(len(numbers))


def _forward(encoder: Encoder, batch: Sequence[Sequence[int]]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """B L D: the last layer."""
    width = -(-max(map(len, batch)) // ROUND) * ROUND
    width = min(width, encoder.length or width)
    pad = encoder.tokenizer.pad_token_id or 0
    ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in batch])
    real = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in batch])
    device = encoder.model.device
    output = encoder.model(input_ids=ids.to(device), attention_mask=real.to(device))
    vectors: np.ndarray[Any, np.dtype[np.float32]] = output.last_hidden_state.float().cpu().numpy()
    return vectors
