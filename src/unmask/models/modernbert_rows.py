"""ModernBERT over rows of any lengths, for asking a model on a CPU: nothing is padded and nothing is computed twice.

In: the weights of a model by their names, and rows of ids. Out: what its last layer says, at every token or only where
something is asked. The states are transformers' own, rounding aside, by less work:

- rows lie one after the other, so that no product is spent on padding; rows of one length attend together;
- before the first attention a token is the same wherever it stands: its query, key and value are computed once;
- the last layer has queries, and all that follows them, only where something is asked: a fifth less work for four
  layers. Nothing of a row is taken from another row that resembles it, which would not be exact;
- masks and angles are made once for each length, and layers are plain products: for one short row, what transformers
  does around them takes longer than they do.

In bfloat16 (`RowPredictor.in_precision`) the products are computed in it; the states they are added to, norms, turns
and attention stay in float32.

Weights are read as they are, but for those of attention, of which a reordered copy is kept (a third of the layers'
weights). They come from the files of a model (`read_predictor`), without transformers, which takes seconds to import;
or from a model of transformers (`unmask.models.rows_of_model`). One that is not as is written here has no such way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from unmask.models.attention import Seen, attend
from unmask.models.modernbert_shape import ModernBertShape
from unmask.models.products import plus_times, product, times
from unmask.models.weights import weight_files, weight_shapes
from unmask.records import Ids, Integers

FEW = 64  # tokens, below which it takes longer to find those that are alike


class EqualRows(NamedTuple):
    """Rows of one length that follow each other."""

    rows: int
    length: int

    @property
    def tokens(self) -> int:
        """Of all of them."""
        return self.rows * self.length


class _Norm(NamedTuple):
    weight: Tensor
    bias: Tensor | None
    eps: float

    def __call__(self, states: Tensor) -> Tensor:
        return torch.layer_norm(states, self.weight.shape, self.weight, self.bias, self.eps)


class _Layer(NamedTuple):
    """The weights of a layer, as the products below take them."""

    attention_norm: _Norm | None  # the first layer has none
    qkv: Tensor  # D 3D, partners side by side
    attention_out: Tensor  # D D, transposed
    norm: _Norm
    inner: Tensor  # 2F D
    outer: Tensor  # F D, transposed
    kind: str  # of its attention
    window: int | None  # tokens on each side that it sees

    def normed(self, states: Tensor) -> Tensor:
        """What attention is given."""
        return states if self.attention_norm is None else self.attention_norm(states)

    def in_precision(self, dtype: torch.dtype) -> _Layer:
        """The same, with products in another precision."""
        names = ("qkv", "attention_out", "inner", "outer")
        return self._replace(**{name: getattr(self, name).to(dtype) for name in names})


def read_predictor(directory: Path, settings: Mapping[str, Any]) -> RowPredictor | None:
    """The way from rows to logits by the files of a model, where they hold just what is written here."""
    shape = ModernBertShape.of(settings)
    if shape is None or settings.get("architectures") != ["ModernBertForMaskedLM"] or "auto_map" in settings:
        return None
    if weight_shapes(directory) != shape.tensors(settings):
        return None
    from safetensors.torch import load_file

    weights: dict[str, Tensor] = {}
    for file in weight_files(directory):
        weights |= {name: tensor.float() for name, tensor in load_file(file).items()}
    return RowPredictor.of(shape, weights)


class RowPredictor(NamedTuple):
    """A ModernBERT with its head."""

    encoder: RowEncoder
    dense: Tensor  # D D
    norm: _Norm
    vectors: Tensor  # V D, of tokens; those that rows begin with, where they are tied
    bias: Tensor | None  # V

    @classmethod
    def of(cls, shape: ModernBertShape, weights: Mapping[str, Tensor]) -> RowPredictor:
        """By the weights of a ModernBertForMaskedLM."""
        trunk = {name.removeprefix("model."): weight for name, weight in weights.items() if name.startswith("model.")}
        encoder = RowEncoder(shape, trunk)
        vectors = weights.get("decoder.weight", encoder.vectors)
        norm = _norm(weights, "head.norm", shape)
        return cls(encoder, weights["head.dense.weight"], norm, vectors, weights.get("decoder.bias"))

    @property
    def bytes_of_number(self) -> int:
        """That a product is computed of."""
        return self.vectors.element_size()

    @torch.inference_mode()
    def in_precision(self, dtype: torch.dtype) -> RowPredictor:
        """The same model, with products in another precision."""
        encoder = self.encoder.in_precision(dtype)
        return self._replace(encoder=encoder, dense=self.dense.to(dtype), vectors=self.vectors.to(dtype))

    @torch.inference_mode()
    def logits(self, rows: Sequence[Ids], asked: Sequence[Integers]) -> Tensor:
        """P×V, at the positions that are asked for in each row."""
        states = self.norm(F.gelu(times(self.encoder.states(rows, asked), self.dense.T)))
        logits = product(states, self.vectors)
        return logits if self.bias is None else logits.add_(self.bias)


class RowEncoder:
    """A ModernBERT whose weights are not changed any more."""

    @torch.inference_mode()
    def __init__(self, shape: ModernBertShape, weights: Mapping[str, Tensor]) -> None:
        self.shape, self.heads, self.half = shape, shape.heads, shape.half
        self.vectors, self.first_norm = (
            weights["embeddings.tok_embeddings.weight"],
            _norm(weights, "embeddings.norm", shape),
        )
        self.final_norm = _norm(weights, "final_norm", shape)
        order, _ = interleaved_rows(self.heads, self.half)
        self.layers = [
            _Layer(
                None if number == 0 else _norm(weights, f"layers.{number}.attn_norm", shape),
                weights[f"layers.{number}.attn.Wqkv.weight"].T.index_select(1, order),
                weights[f"layers.{number}.attn.Wo.weight"].T.contiguous(),
                _norm(weights, f"layers.{number}.mlp_norm", shape),
                weights[f"layers.{number}.mlp.Wi.weight"],
                weights[f"layers.{number}.mlp.Wo.weight"].T,
                kind,
                shape.window if kind == "sliding_attention" else None,
            )
            for number, kind in enumerate(shape.kinds)
        ]
        self._turns: dict[str, Tensor] = {}
        self._bands: dict[int, Tensor] = {}

    def in_precision(self, dtype: torch.dtype) -> RowEncoder:
        """The same, with products in another precision."""
        other = copy(self)
        other.layers = [layer.in_precision(dtype) for layer in self.layers]
        return other

    @torch.inference_mode()
    def states(self, rows: Sequence[Ids], asked: Sequence[Integers] | None = None) -> Tensor:
        """T×D, the tokens of all rows one after the other; or P×D, those that are asked for in each row.

        Rows of one length are read together where they follow each other.
        """
        if not rows:
            return self.vectors.new_zeros(0, self.vectors.shape[1])
        runs = _runs(rows)
        ids = torch.from_numpy(np.concatenate(rows).astype(np.int64))
        states, qkv = self._begin(ids)
        last = len(self.layers) - (asked is not None)
        for number, layer in enumerate(self.layers[:last]):
            if number:
                qkv = times(layer.normed(states), layer.qkv)
            states = self._go_on(layer, states, self._attend(layer, qkv, runs))
        if asked is not None:
            layer, places = self.layers[-1], _flat_places(rows, asked)
            context = self._attend_at(layer, layer.normed(states), runs, asked, places)
            states = self._go_on(layer, states.index_select(0, places), context)
        return self.final_norm(states)

    def _begin(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """The states before the first layer, and its queries, keys and values: of each different token once."""
        if len(ids) >= FEW:
            tokens, places = torch.unique(ids, return_inverse=True)
        if len(ids) < FEW or 2 * len(tokens) > len(ids):
            states = self.first_norm(F.embedding(ids, self.vectors))
            return states, times(states, self.layers[0].qkv)
        states = self.first_norm(F.embedding(tokens, self.vectors))
        qkv = times(states, self.layers[0].qkv)
        return states.index_select(0, places), qkv.index_select(0, places)

    def _go_on(self, layer: _Layer, states: Tensor, context: Tensor) -> Tensor:
        """The rest of a layer behind its attention, GeGLU (Shazeer 2020)."""
        states = plus_times(states, context, layer.attention_out)
        a, b = product(layer.norm(states).to(layer.inner.dtype), layer.inner).chunk(2, dim=1)
        return plus_times(states, F.gelu(a).mul_(b), layer.outer)

    def _attend(self, layer: _Layer, qkv: Tensor, runs: Sequence[EqualRows]) -> Tensor:
        """T×D: every token attends to its row."""
        contexts = []
        for run, part in zip(runs, _parts(qkv, runs), strict=True):
            turned = self._turned(layer, part, run, kinds=3)
            query, key, value = turned.flatten(-2).transpose(1, 3).unbind(2)  # B H L D
            context = self._look(layer, run, query, key, value)
            contexts.append(context.transpose(1, 2).reshape(run.tokens, -1))
        return contexts[0] if len(contexts) == 1 else torch.cat(contexts)

    def _turned(self, layer: _Layer, part: Tensor, run: EqualRows, *, kinds: int) -> Tensor:
        """B L K H half 2: queries and keys (or keys alone, where there are two kinds) turned by their positions."""
        shaped = part.view(run.rows, run.length, kinds, self.heads, self.half, 2)
        turns = self._turns_of(layer.kind, run.length)
        torch.view_as_complex(shaped[:, :, : kinds - 1]).mul_(turns.unsqueeze(1))
        return shaped

    def _look(self, layer: _Layer, run: EqualRows, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attention within rows of one length, B×H×L×D."""
        if layer.window is None or layer.window >= run.length - 1:
            return F.scaled_dot_product_attention(query, key, value)
        seen = Seen(torch.ones(run.rows, run.length, dtype=torch.long), layer.window)
        if seen.pays:
            return attend(seen, query, key, value)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=self._band(run.length, layer.window))

    def _attend_at(
        self, layer: _Layer, states: Tensor, runs: Sequence[EqualRows], asked: Sequence[Integers], places: Tensor
    ) -> Tensor:
        """P×D: the tokens that are asked for attend to their rows; nothing else has a query."""
        width = len(layer.qkv)
        queries = times(states.index_select(0, places), layer.qkv[:, :width])
        keys = times(states, layer.qkv[:, width:])
        turns = self._turns_of(layer.kind, max(run.length for run in runs))
        positions = torch.from_numpy(np.concatenate(asked).astype(np.int64))
        query = queries.view(len(places), self.heads, self.half, 2)
        torch.view_as_complex(query).mul_(turns.index_select(0, positions))
        contexts, row, place = [], 0, 0
        for run, part in zip(runs, _parts(keys, runs), strict=True):
            counts = [len(each) for each in asked[row : row + run.rows]]
            taken = slice(place, place + sum(counts))
            key, value = self._turned(layer, part, run, kinds=2).flatten(-2).transpose(1, 3).unbind(2)
            contexts.append(self._look_at(layer, run, query[taken].flatten(-2), positions[taken], counts, key, value))
            row, place = row + run.rows, place + sum(counts)
        return contexts[0] if len(contexts) == 1 else torch.cat(contexts)

    def _look_at(
        self,
        layer: _Layer,
        run: EqualRows,
        query: Tensor,
        positions: Tensor,
        counts: list[int],
        key: Tensor,
        value: Tensor,
    ) -> Tensor:
        """P×D: some tokens of rows of one length attend; rows with fewer of them than others repeat their last."""
        most, alike = max(counts), min(counts) == max(counts)
        if not alike:
            begins = np.cumsum([0, *counts[:-1]])[:, None]
            repeated = np.minimum(np.arange(most)[None], np.array(counts)[:, None] - 1) + begins
            order = torch.from_numpy(repeated.reshape(-1))
            query, positions = query[order], positions[order]
        mask = None
        if layer.window is not None and layer.window < run.length - 1:
            far = (positions.view(run.rows, 1, most, 1) - torch.arange(run.length)).abs() > layer.window
            mask = torch.zeros(far.shape).masked_fill_(far, -torch.inf)  # B 1 P L
        shaped = query.view(run.rows, most, *query.shape[1:]).transpose(1, 2)
        context = F.scaled_dot_product_attention(shaped, key, value, attn_mask=mask)
        tokens = context.transpose(1, 2).reshape(run.rows * most, -1)
        if alike:
            return tokens
        kept = np.concatenate([number * most + np.arange(count) for number, count in enumerate(counts)])
        return tokens.index_select(0, torch.from_numpy(kept))

    def _turns_of(self, kind: str, length: int) -> Tensor:
        """L H half: the rotary angles of positions as complex numbers, the same for each head."""
        if kind not in self._turns or len(self._turns[kind]) < length:
            positions = torch.arange(max(length, 128))[:, None]
            frequencies = 1.0 / self.shape.bases[kind] ** (torch.arange(0, 2 * self.half, 2).float() / (2 * self.half))
            angles = positions.float() * frequencies
            self._turns[kind] = torch.complex(angles.cos(), angles.sin()).unsqueeze(1).repeat(1, self.heads, 1)
        return self._turns[kind][:length]

    def _band(self, length: int, window: int) -> Tensor:
        """L L: 0 where a token sees another, −∞ elsewhere; that of a shorter row is a corner of it."""
        if window not in self._bands or len(self._bands[window]) < length:
            place = torch.arange(max(length, 128))
            far = (place[:, None] - place[None, :]).abs() > window
            self._bands[window] = torch.zeros(far.shape).masked_fill_(far, -torch.inf)
        return self._bands[window][:length, :length]


def _norm(weights: Mapping[str, Tensor], name: str, shape: ModernBertShape) -> _Norm:
    return _Norm(weights[f"{name}.weight"], weights.get(f"{name}.bias"), shape.eps)


@cache
def interleaved_rows(heads: int, half: int) -> tuple[Tensor, Tensor]:
    """The order of rows that brings partners of queries and keys together and leaves values, and the order back.

    >>> [each.tolist() for each in interleaved_rows(1, 2)]
    [[0, 2, 1, 3, 4, 6, 5, 7, 8, 9, 10, 11], [0, 2, 1, 3, 4, 6, 5, 7, 8, 9, 10, 11]]
    """
    order = torch.arange(3 * heads * 2 * half).view(3, heads, 2, half)
    order = torch.cat((order[:2].mT.flatten(), order[2].flatten()))
    return order, order.argsort()


def _runs(rows: Sequence[Ids]) -> list[EqualRows]:
    """Rows of one length that follow each other.

    >>> _runs([np.zeros(2), np.zeros(2), np.zeros(3)])
    [EqualRows(rows=2, length=2), EqualRows(rows=1, length=3)]
    """
    if len(rows) == 1:
        return [EqualRows(1, len(rows[0]))]
    lengths = np.array([len(row) for row in rows])
    edges = np.r_[0, np.flatnonzero(np.diff(lengths)) + 1, len(lengths)]
    return [
        EqualRows(int(count), int(length)) for count, length in zip(np.diff(edges), lengths[edges[:-1]], strict=True)
    ]


def _parts(states: Tensor, runs: Sequence[EqualRows]) -> Sequence[Tensor]:
    """What belongs to each run."""
    return (states,) if len(runs) == 1 else states.split([run.tokens for run in runs])


def _flat_places(rows: Sequence[Ids], asked: Sequence[Integers]) -> Tensor:
    """Positions in rows as places among the tokens of all of them."""
    begins = np.cumsum([0, *(len(row) for row in rows[:-1])])
    places = [begin + np.asarray(each) for begin, each in zip(begins, asked, strict=True)]
    return torch.from_numpy(np.concatenate(places).astype(np.int64))
