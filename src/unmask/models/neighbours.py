"""What a fresh model may do beforehand: look at the words beside each word.

In: a fresh model. Out: the same, the heads of its first layer beginning at fixed offsets: one looks at the token
before, one at the token after, the next at two before, and so on. Only initial values change: it stays the stock model.

Attention that starts flat has to find out that neighbours matter before it can learn anything from them, and until then
a model says how frequent each word is, whatever its context. A tiny BERT sits on that plateau for 500 steps and more;
one that starts by looking beside itself leaves it at once (docs/performance.md has the trials). The idea is akin to
mimetic initialisation (Trockman & Kolter 2023), which starts from what trained attention looks like.

How a head is told an offset depends on how the architecture tells positions:

    learned    BERT, RoBERTa, ELECTRA, GPT-2   sines and cosines in features of their own, rotated by the query
    rotary     ModernBERT                      a feature that all tokens share, read with the phase of the offset
    relative   DeBERTa                         the same feature, read as the code of one relative position
    bias       T5, MPNet                       a number for each distance and head
    sines      XLNet                           the bias of the position, which is the code of one relative position
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear
from transformers import PreTrainedModel

from unmask.models.families.architectures import architecture

FREQUENCIES = 16  # that a position is told by: twice as many features, and rows of a head
FAST, SLOW = 2.5, 0.05  # radians a token, the first and the last of them


@dataclass(frozen=True)
class Beginning:
    """How heads begin at their offsets."""

    peak: float  # how much higher the offset's logit is than those of distant tokens
    share: float = 1.0  # of a layer's heads
    part: float = 0.5  # of a token's norm that tells its position, or that all tokens share
    others: float = 0.3  # how much the rest of such a head's query and key keep of their usual draw
    layers: int = 1  # whose heads begin so, of encoders with learned or rotary positions


@torch.no_grad()
def look_at_neighbours(model: PreTrainedModel, beginning: Beginning | None = None) -> None:
    """Let the heads of the first layer begin at their offsets, where the model's kind of positions is known."""
    start = STARTS.get(model.config.model_type)
    if start is not None:
        start.begin(model, beginning or start.usual)


def position_features(model: PreTrainedModel) -> int:
    """How many of an embedding's last features such heads need for themselves."""
    start = STARTS.get(model.config.model_type)
    return 0 if start is None else start.features


def head_offsets(heads: int, share: float = 1.0, *, left_to_right: bool = False) -> list[tuple[int, ...]]:
    """Where each head begins, for those that do: the nearest first, to both sides in turn where both are seen.

    >>> head_offsets(4), head_offsets(3, left_to_right=True), head_offsets(1)
    ([(-1,), (1,), (-2,), (2,)], [(-1,), (-2,), (-3,)], [(-1, 1)])
    """
    if left_to_right:
        return [(-1 - nth,) for nth in range(max(1, round(share * heads)))]
    if heads == 1:  # which looks to both sides at once
        return [(-1, 1)]
    return [((1 if nth % 2 else -1) * (1 + nth // 2),) for nth in range(max(2, round(share * heads)))]


def _offsets(model: PreTrainedModel, heads: int, beginning: Beginning) -> list[tuple[int, ...]]:
    """Where the heads of a model begin."""
    left_to_right = architecture(model.config.model_type).left_to_right
    return head_offsets(heads, beginning.share, left_to_right=left_to_right)


def _position_code(positions: Tensor) -> Tensor:
    """N×32: sines, then cosines of some positions; the product of two codes falls off with their distance."""
    angles = positions[:, None].float() * torch.logspace(0, 1, FREQUENCIES) ** _POWER * FAST
    return torch.cat((angles.sin(), angles.cos()), dim=1)


_POWER = torch.log10(torch.tensor(SLOW / FAST))  # which takes the last frequency to the slow end


def _turn_back(offset: int) -> Tensor:
    """32×32: takes the code of a position to that of the position which is so far from it."""
    sine, cosine = _position_code(torch.tensor([offset]))[0].diag_embed().chunk(2)
    sine, cosine = sine[:, :FREQUENCIES], cosine[:, FREQUENCIES:]
    return torch.cat((torch.cat((cosine, sine), dim=1), torch.cat((-sine, cosine), dim=1)))


def _rows(query: Tensor, key: Tensor, head: int, width: int, beginning: Beginning) -> tuple[Tensor, Tensor]:
    """The rows of a head's query and key that are to tell the offset, emptied, the head's other rows made small."""
    inside = slice(head * width, (head + 1) * width)
    for weight in (query, key):
        weight[inside] *= beginning.others
    code = slice(head * width, head * width + 2 * FREQUENCIES)
    for weight in (query, key):
        weight[code] = 0
    return query[code], key[code]


def _norm_beside(weights: list[Tensor], part: float) -> float:
    """How long a vector has to be to make up this part of the norm beside the rows of these embeddings, on average."""
    others = sqrt(sum(float(weight.square().sum(1).mean()) for weight in weights))
    return others * part / sqrt(1 - part**2)


def begin_by_learned_positions(model: PreTrainedModel, beginning: Beginning) -> None:
    """The last features of an embedding belong to the position: q(i) is the code of i + offset, k(j) that of j."""
    base: Any = model.base_model
    if model.config.model_type == "gpt2":
        tokens, positions, segments = base.wte.weight, base.wpe.weight, None
        projections = [base.h[0].attn.c_attn.weight.T.chunk(3)[:2]]  # views: its layers are stored turned round
    else:
        embeddings = base.embeddings
        tokens, positions = embeddings.word_embeddings.weight, embeddings.position_embeddings.weight
        segments = embeddings.token_type_embeddings.weight
        attentions = [layer.attention.self for layer in base.encoder.layer[: beginning.layers]]
        projections = [(attention.query.weight, attention.key.weight) for attention in attentions]
    beside = [tokens] if segments is None else [tokens, segments]
    for weight in (positions, *beside):
        weight[:, -2 * FREQUENCIES :] = 0
    positions[:] = 0
    length = _norm_beside(beside, beginning.part)
    code = _position_code(torch.arange(len(positions)))
    positions[:, -2 * FREQUENCIES :] = code * (length / sqrt(FREQUENCIES))

    width, size = positions.shape[1], model.config.hidden_size
    narrow: Linear | None = getattr(base, "embeddings_project", None)  # ELECTRA's generator has layers of another width
    if narrow is not None:
        _pass_through(narrow.weight)
    heads = model.config.num_attention_heads
    norm = beginning.part * sqrt(width)  # of the position in a vector that was normed
    strength = sqrt(beginning.peak * sqrt(size // heads)) / norm
    for query, key in projections:
        for head, offsets in enumerate(_offsets(model, heads, beginning)):
            to_query, to_key = _rows(query, key, head, size // heads, beginning)
            to_query[:, -2 * FREQUENCIES :] = strength * sum(map(_turn_back, offsets))
            to_key[:, -2 * FREQUENCIES :] = strength * torch.eye(2 * FREQUENCIES)


def _pass_through(weight: Tensor) -> None:
    """Let a layer between two widths hand on the position's features as they are."""
    weight[-2 * FREQUENCIES :] = 0
    weight[:, -2 * FREQUENCIES :] = 0
    weight[-2 * FREQUENCIES :, -2 * FREQUENCIES :] = torch.eye(2 * FREQUENCIES)


def begin_by_rotary_positions(model: PreTrainedModel, beginning: Beginning) -> None:
    """The last feature is the same for all tokens; the query reads it with the phase that the offset turns it by."""
    base: Any = model.base_model
    heads, size = model.config.num_attention_heads, model.config.hidden_size
    width = size // heads
    value = _share_feature(base.embeddings.tok_embeddings.weight, -1, beginning.part)
    strength = sqrt(beginning.peak * sqrt(width) / PAIRS) / value
    for layer, kind in zip(base.layers[: beginning.layers], model.config.layer_types, strict=False):
        frequencies = getattr(base.rotary_emb, f"{kind}_inv_freq")[:PAIRS]
        query, key, _ = layer.attn.Wqkv.weight.chunk(3)
        for head, offsets in enumerate(_offsets(model, heads, beginning)):
            real = torch.arange(head * width, head * width + PAIRS)
            imaginary = real + width // 2
            for weight in (query, key):
                weight[real] = weight[imaginary] = 0
            query[real, -1] = strength * sum((offset * frequencies).cos() for offset in offsets)
            query[imaginary, -1] = strength * sum((offset * frequencies).sin() for offset in offsets)
            key[real, -1] = strength


PAIRS = 10  # the fastest of the rotations, which tell neighbours apart


def _share_feature(tokens: Tensor, column: int, part: float) -> float:
    """Make a feature the same for all tokens, this part of their norm; its value in a vector that was normed."""
    tokens[:, column] = 0
    tokens[:, column] = _norm_beside([tokens], part)
    return part * sqrt(tokens.shape[1])


def begin_by_relative_codes(model: PreTrainedModel, beginning: Beginning) -> None:
    """Relative positions have codes; the query reads a feature that all tokens share as the code of its offset."""
    base: Any = model.base_model
    heads, size = model.config.num_attention_heads, model.config.hidden_size
    shared = -2 * FREQUENCIES - 1
    tokens, positions = base.embeddings.word_embeddings.weight, base.encoder.rel_embeddings.weight
    tokens[:, -2 * FREQUENCIES :] = 0
    value = _share_feature(tokens, shared, beginning.part)
    positions[:, shared:] = 0
    length = _norm_beside([positions], beginning.part)
    distances = torch.arange(len(positions)) - len(positions) // 2  # of the token that looks from the one looked at
    positions[:, -2 * FREQUENCIES :] = _position_code(distances) * (length / sqrt(FREQUENCIES))

    attention = base.encoder.layer[0].attention.self
    query, key = attention.query_proj.weight, attention.key_proj.weight
    norm = beginning.part * sqrt(size)
    strength = sqrt(beginning.peak * sqrt(size // heads * 3))  # 3: its logits are sums of three products
    for head, offsets in enumerate(_offsets(model, heads, beginning)):
        to_query, to_key = _rows(query, key, head, size // heads, beginning)
        code = _position_code(-torch.tensor(offsets)).sum(0)
        to_query[:, shared] = code * (strength / value / sqrt(FREQUENCIES))
        to_key[:, -2 * FREQUENCIES :] = strength / norm * torch.eye(2 * FREQUENCIES)


def begin_by_biases(model: PreTrainedModel, beginning: Beginning) -> None:
    """A head's bias for the distance of its offset; T5's layers share it, and its decoder looks to the left."""
    stacks: Any = (model.get_encoder(), model.get_decoder())
    for stack in stacks:
        attention = stack.block[0].layer[0].SelfAttention
        bias = attention.relative_attention_bias.weight
        heads = head_offsets(bias.shape[1], beginning.share, left_to_right=attention.is_decoder)
        for head, offsets in enumerate(heads):
            bucket = attention._relative_position_bucket(
                torch.tensor(offsets),
                bidirectional=not attention.is_decoder,
                num_buckets=attention.relative_attention_num_buckets,
                max_distance=attention.relative_attention_max_distance,
            )
            bias[bucket, head] = beginning.peak


def begin_by_shared_bias(model: PreTrainedModel, beginning: Beginning) -> None:
    """The same for MPNet, whose encoder has one such table besides learned positions, which stay as they are drawn."""
    encoder: Any = model.base_model.encoder
    bias = encoder.relative_attention_bias.weight
    for head, offsets in enumerate(_offsets(model, bias.shape[1], beginning)):
        bias[encoder.relative_position_bucket(torch.tensor(offsets)), head] = beginning.peak


def begin_by_sines(model: PreTrainedModel, beginning: Beginning) -> None:
    """The bias that every query adds for the position is the code of the offset's distance, in XLNet's own sines."""
    base: Any = model.base_model
    attention = base.layer[0].rel_attn
    width, size = attention.d_head, attention.d_model
    frequencies = 10000 ** (-torch.arange(FREQUENCIES) * 2.0 / size)
    strength = sqrt(beginning.peak * sqrt(width) / FREQUENCIES)
    features = torch.cat((torch.arange(FREQUENCIES), size // 2 + torch.arange(FREQUENCIES)))  # sines, then cosines
    for head, offsets in enumerate(_offsets(model, attention.n_head, beginning)):
        attention.q[:, head] *= beginning.others
        attention.r[:, head, : 2 * FREQUENCIES] = 0
        attention.r[features, head, torch.arange(2 * FREQUENCIES)] = strength
        angles = -torch.tensor(offsets)[:, None] * frequencies
        attention.r_r_bias[head, : 2 * FREQUENCIES] = strength * torch.cat((angles.sin(), angles.cos()), dim=1).sum(0)


@dataclass(frozen=True)
class Start:
    """How the heads of an architecture begin."""

    begin: Callable[[PreTrainedModel, Beginning], None]
    usual: Beginning
    features: int = 0  # of an embedding, its last, that are not the tokens' own


LEARNED = Start(begin_by_learned_positions, Beginning(peak=9.0), features=2 * FREQUENCIES)
STARTS: dict[str, Start] = {
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "xlm-roberta-xl", "ernie", "electra", "gpt2"), LEARNED),
    "modernbert": Start(begin_by_rotary_positions, Beginning(peak=9.0, share=0.5, part=0.25), features=1),
    "deberta-v2": Start(begin_by_relative_codes, Beginning(peak=9.0), features=2 * FREQUENCIES + 1),
    "t5": Start(begin_by_biases, Beginning(peak=4.0)),
    "mpnet": Start(begin_by_shared_bias, Beginning(peak=4.0)),
    "xlnet": Start(begin_by_sines, Beginning(peak=9.0)),
}
