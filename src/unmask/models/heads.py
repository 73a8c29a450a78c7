"""Heads that transformers has no class for: they are kept as tensors beside the model they belong to.

In: a model's hidden states. Out: vocabulary logits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import Embedding, LayerNorm, Linear, Module, Parameter
from torch.nn import functional as F
from transformers import PreTrainedModel

from unmask.errors import BadInput, Damaged

BOUNDARY = "boundary.safetensors"
PLACE_WIDTH = 200  # of the vector of a place in a span (SpanBERT's code)
PLACES = 64  # beyond which the last is shared; of 36,250 hidden tokens of wiki_en none was farther than 25 in its run


class SpanBoundaryHead(Module):
    """A hidden token from the two tokens around its span and its place in it (SpanBERT, Joshi et al. 2020, §3.2).

    x = [h_before; h_after; p_place]
    y = LayerNorm(GELU(W₂ LayerNorm(GELU(W₁ x))))
    logits = E y + b,   E the embeddings of the model's own decoder
    """

    def __init__(self, width: int, vocabulary: int, *, places: int = PLACES, spread: float = 0.02) -> None:
        super().__init__()
        self.place = Embedding(places, PLACE_WIDTH)
        self.narrow = Linear(2 * width + PLACE_WIDTH, width)
        self.narrow_norm = LayerNorm(width, eps=1e-12)
        self.dense = Linear(width, width)
        self.dense_norm = LayerNorm(width, eps=1e-12)
        self.bias = Parameter(torch.zeros(vocabulary))
        for module in (self.place, self.narrow, self.dense):
            torch.nn.init.normal_(module.weight, std=spread)
        for layer in (self.narrow, self.dense):
            torch.nn.init.zeros_(layer.bias)

    def forward(self, before: Tensor, after: Tensor, place: Tensor, embeddings: Tensor) -> Tensor:
        """P×V logits from P×D states before and after the span, and the place in it, counted from 0."""
        return F.linear(self.states(before, after, place), embeddings, self.bias)

    def states(self, before: Tensor, after: Tensor, place: Tensor) -> Tensor:
        """What is compared with the embeddings, y."""
        places = self.place(place.clamp_max(self.place.num_embeddings - 1))
        states = self.narrow_norm(F.gelu(self.narrow(torch.cat((before, after, places), dim=-1))))
        output: Tensor = self.dense_norm(F.gelu(self.dense(states)))
        return output


def load_boundary_head(directory: Path | str) -> SpanBoundaryHead:
    """The boundary head that lies beside a model of ours."""
    file = Path(directory) / BOUNDARY
    if not file.is_file():
        raise BadInput(f"{directory}: has no {BOUNDARY}; the recipe spanbert makes one")
    try:
        tensors = load_file(file)
        width, vocabulary, places = len(tensors["dense.bias"]), len(tensors["bias"]), len(tensors["place.weight"])
        head = SpanBoundaryHead(width, vocabulary, places=places)
        head.load_state_dict(tensors)
    except (SafetensorError, KeyError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise Damaged(f"{file}: is not a boundary head ({reason})") from error
    return head.eval()


@contextmanager
def states_kept(model: PreTrainedModel) -> Iterator[list[Tensor]]:
    """While open, the encoder's hidden states, B×L×D, are put in the list, whatever the model's own head is given."""
    states: list[Tensor] = []

    def keep(_module: Any, _args: Any, output: Any) -> None:
        states.append(output[0])

    hook = model.base_model.register_forward_hook(keep)
    try:
        yield states
    finally:
        hook.remove()
