"""ModernBERT over rows of any lengths, for asking a model on a CPU: nothing is padded and nothing is computed twice.

In: a model whose layers are transformers' own, and rows of ids. Out: what its last layer says, at every token or only
where something is asked. The states are transformers' own, rounding aside, by less work:

- rows lie one after the other, so that no product is spent on padding; rows of one length attend together;
- before the first attention a token is the same wherever it stands: its query, key and value are computed once;
- the last layer has queries, and all that follows them, only where something is asked: a fifth less work for four
  layers. Nothing of a row is taken from another row that resembles it, which would not be exact;
- masks and angles are made once for each length, and layers are plain products: for one short row, what transformers
  does around them takes longer than they do.

Weights are read as they are, but for those of attention, of which a reordered copy is kept (a third of the layers'
weights). Where a model is not as is written here, or a small one disagrees, transformers' own way is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import Linear, Module
from torch.nn import functional as F
from transformers import PreTrainedModel
from transformers.models.modernbert.modeling_modernbert import (
    ModernBertForMaskedLM,
    ModernBertModel,
    ModernBertRotaryEmbedding,
)

from unmask.models.attention import Seen, attend
from unmask.models.modernbert_cpu import interleaved_rows, is_plain, layers_differ, small_model
from unmask.records import Ids, Integers

FEW = 64  # tokens, below which it takes longer to find those that are alike
VERY_FEW = 12  # tokens, up to which a product is a matter of reading the weights
PIECES = 16  # in which they are read then: MKL takes twice as long over the whole of them


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
        return F.layer_norm(states, self.weight.shape, self.weight, self.bias, self.eps)


class _Layer(NamedTuple):
    """The weights of a layer, as the products below take them."""

    attention_norm: _Norm | None  # the first layer has none
    qkv: Tensor  # D 3D, partners side by side
    attention_out: Tensor  # D D, transposed
    norm: _Norm
    inner: Tensor  # 2F D
    outer: Tensor  # D F
    kind: str  # of its attention
    window: int | None  # tokens on each side that it sees

    def normed(self, states: Tensor) -> Tensor:
        """What attention is given."""
        return states if self.attention_norm is None else self.attention_norm(states)


def row_encoder(model: PreTrainedModel) -> RowEncoder | None:
    """The shorter way through a model, where there is one: ModernBERT in float32 on a CPU."""
    if type(model) is not ModernBertModel or model.device.type != "cpu" or model.dtype != torch.float32:
        return None
    fits = is_plain(model) and layers_differ(model) is None and _agrees()
    return RowEncoder(model) if fits else None


def row_predictor(model: PreTrainedModel) -> RowPredictor | None:
    """The shorter way to a model's logits, where there is one."""
    if type(model) is not ModernBertForMaskedLM:
        return None
    encoder = row_encoder(model.model)
    return None if encoder is None else RowPredictor(encoder, model.head, model.decoder)


class RowPredictor(NamedTuple):
    """A ModernBERT with its head."""

    encoder: RowEncoder
    head: Module
    decoder: Linear

    def logits(self, rows: Sequence[Ids], asked: Sequence[Integers]) -> Tensor:
        """P×V, at the positions that are asked for in each row."""
        states = self.head(self.encoder.states(rows, asked))
        logits = product(states, self.decoder.weight)
        return logits if self.decoder.bias is None else logits.add_(self.decoder.bias)


def product(states: Tensor, weight: Tensor) -> Tensor:
    """T×O of T×I states and an O×I matrix, in the way that is fastest for so many of them."""
    if len(states) > VERY_FEW or len(weight) % PIECES:
        return states @ weight.T
    pieces = weight.unflatten(0, (PIECES, -1))
    return torch.bmm(pieces, states.T.expand(PIECES, -1, -1)).flatten(0, 1).T.contiguous()


class RowEncoder:
    """A ModernBERT whose weights are not changed any more."""

    @torch.inference_mode()
    def __init__(self, model: ModernBertModel) -> None:
        config: Any = model.config
        layers: Any = model.layers
        self.heads = int(config.num_attention_heads)
        self.half = int(config.hidden_size) // self.heads // 2
        self.vectors, self.first_norm = model.embeddings.tok_embeddings.weight, _norm(model.embeddings.norm)
        self.final_norm = _norm(model.final_norm)
        order, _ = interleaved_rows(self.heads, self.half)
        self.layers = [
            _Layer(
                None if number == 0 else _norm(layer.attn_norm),
                layer.attn.Wqkv.weight.T.index_select(1, order),
                layer.attn.Wo.weight.T.contiguous(),
                _norm(layer.mlp_norm),
                layer.mlp.Wi.weight,
                layer.mlp.Wo.weight,
                layer.attention_type,
                int(config.sliding_window) if layer.attention_type == "sliding_attention" else None,
            )
            for number, layer in enumerate(layers)
        ]
        self._rotary = model.rotary_emb
        self._turns: dict[str, Tensor] = {}
        self._bands: dict[int, Tensor] = {}

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
                qkv = layer.normed(states) @ layer.qkv
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
            return states, states @ self.layers[0].qkv
        states = self.first_norm(F.embedding(tokens, self.vectors))
        qkv = states @ self.layers[0].qkv
        return states.index_select(0, places), qkv.index_select(0, places)

    def _go_on(self, layer: _Layer, states: Tensor, context: Tensor) -> Tensor:
        """The rest of a layer behind its attention, GeGLU (Shazeer 2020)."""
        states = torch.addmm(states, context, layer.attention_out)
        a, b = product(layer.norm(states), layer.inner).chunk(2, dim=1)
        return torch.addmm(states, F.gelu(a).mul_(b), layer.outer.T)

    def _attend(self, layer: _Layer, qkv: Tensor, runs: Sequence[EqualRows]) -> Tensor:
        """T×D: every token attends to its row."""
        contexts = []
        for run, part in zip(runs, qkv.split([run.tokens for run in runs]), strict=True):
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
        queries = states.index_select(0, places) @ layer.qkv[:, :width]
        keys = states @ layer.qkv[:, width:]
        turns = self._turns_of(layer.kind, max(run.length for run in runs))
        positions = torch.from_numpy(np.concatenate(asked).astype(np.int64))
        query = queries.view(len(places), self.heads, self.half, 2)
        torch.view_as_complex(query).mul_(turns.index_select(0, positions))
        contexts, row, place = [], 0, 0
        for run, part in zip(runs, keys.split([run.tokens for run in runs]), strict=True):
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
            positions = torch.arange(max(length, 128))[None]
            angles = ModernBertRotaryEmbedding.forward(self._rotary, self.vectors, positions, kind)
            cos, sin = (each[0].chunk(2, dim=-1)[0] for each in angles)
            self._turns[kind] = torch.complex(cos, sin).unsqueeze(1).repeat(1, self.heads, 1)
        return self._turns[kind][:length]

    def _band(self, length: int, window: int) -> Tensor:
        """L L: 0 where a token sees another, −∞ elsewhere; that of a shorter row is a corner of it."""
        if window not in self._bands or len(self._bands[window]) < length:
            place = torch.arange(max(length, 128))
            far = (place[:, None] - place[None, :]).abs() > window
            self._bands[window] = torch.zeros(far.shape).masked_fill_(far, -torch.inf)
        return self._bands[window][:length, :length]


def _norm(module: Any) -> _Norm:
    return _Norm(module.weight, module.bias, module.eps)


def _runs(rows: Sequence[Ids]) -> list[EqualRows]:
    """Rows of one length that follow each other.

    >>> _runs([np.zeros(2), np.zeros(2), np.zeros(3)])
    [EqualRows(rows=2, length=2), EqualRows(rows=1, length=3)]
    """
    lengths = np.array([len(row) for row in rows])
    edges = np.r_[0, np.flatnonzero(np.diff(lengths)) + 1, len(lengths)]
    return [
        EqualRows(int(count), int(length)) for count, length in zip(np.diff(edges), lengths[edges[:-1]], strict=True)
    ]


def _flat_places(rows: Sequence[Ids], asked: Sequence[Integers]) -> Tensor:
    """Positions in rows as places among the tokens of all of them."""
    begins = np.cumsum([0, *(len(row) for row in rows[:-1])])
    places = [begin + np.asarray(each) for begin, each in zip(begins, asked, strict=True)]
    return torch.from_numpy(np.concatenate(places).astype(np.int64))


@cache
def _agrees() -> bool:
    """Whether a small model has the same states both ways. Takes some hundredths of a second."""
    with torch.random.fork_rng(), torch.inference_mode(), torch.autocast("cpu", enabled=False):
        torch.manual_seed(0)
        model = small_model()
        rows = [np.array([5, 6, 7], np.int32), *(np.arange(1, 21, dtype=np.int32),) * 2]
        asked = [np.array([1]), np.array([0, 19]), np.array([7])]
        try:
            expected = [model(input_ids=torch.from_numpy(row).long()[None]).last_hidden_state[0] for row in rows]
            encoder = RowEncoder(model)
            both = encoder.states(rows), encoder.states(rows, asked)
        except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):
            return False
        whole = torch.cat(expected), torch.cat([each[places] for each, places in zip(expected, asked, strict=True)])
        return all(torch.allclose(ours, theirs, rtol=1e-4, atol=1e-4) for ours, theirs in zip(both, whole, strict=True))
