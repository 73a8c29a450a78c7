"""What a model makes of the tokens it predicts: the loss of each and whether its best guess was right.

In: a model, positions, the tokens that belong there. Out: a loss for each, in nats. Logits exist at these positions
only, and where even those are many they exist a chunk at a time and are made again in the backward pass, so that
memory stays flat however many positions and however large the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F
from transformers import PreTrainedModel

from unmask.models.sparse import decoder_of, states_at
from unmask.records import Integers

ROUND = 64
IGNORED = -100
MAX_LOGITS = 1 << 26  # logits that are computed at once: 256 MB of them
BLOCK = 128  # of logits that the largest is looked for in


Look = Callable[[Tensor], object]  # is shown the probabilities, P×V, a chunk at a time


@dataclass(frozen=True)
class Guesses:
    """What came of each prediction."""

    losses: Tensor  # P, nats
    right: Tensor  # P, whether the best guess was right

    def first(self, count: int) -> Guesses:
        """The first of them."""
        return Guesses(self.losses[:count], self.right[:count])


def predict_tokens(
    model: PreTrainedModel,
    positions: Integers,
    targets: Integers,
    *,
    never: int | None = None,
    look: Look | None = None,
    **inputs: Any,
) -> Guesses:
    """Predict the targets at flat positions of the inputs; `never` is an id that no prediction can be."""
    padded_positions, padded_targets = pad_predictions(positions, targets, model.device)
    last = decoder_of(model)
    bias: Tensor | None = last.bias
    if never is not None:
        barrier = torch.zeros(len(last.weight), device=model.device)
        barrier[never] = -torch.inf
        bias = barrier if bias is None else bias + barrier
    return decode_states(states_at(model, padded_positions, **inputs), last.weight, bias, padded_targets, look).first(
        len(targets)
    )


def decode_states(
    states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, look: Look | None = None
) -> Guesses:
    """What came of predictions by states P×D that are compared with the vectors of the tokens, V×D."""
    kind = states.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):  # an operation of our own is not cast
        states, weight = (tensor.to(torch.get_autocast_dtype(kind)) for tensor in (states, weight))
    losses, right = Decoding.apply(states, weight, bias, targets, look)  # type: ignore[no-untyped-call]
    return Guesses(losses, right)


def positions_at_once(vocabulary: int) -> int:
    """How many positions may have their logits at once."""
    return max(ROUND, MAX_LOGITS // vocabulary // ROUND * ROUND)


def pad_predictions(positions: Integers, targets: Integers, device: torch.device) -> tuple[Tensor, Tensor]:
    """Positions and targets, filled up to a round number with what is ignored.

    oneDNN keeps a kernel for each shape it meets: a number of positions that differs with every step would fill
    gigabytes with them.
    """
    filling = -len(targets) % ROUND
    padded = F.pad(torch.from_numpy(positions), (0, filling))
    return padded.to(device), F.pad(torch.from_numpy(targets), (0, filling), value=IGNORED).to(device)


class Decoding(Function):
    """The cross-entropy of each state's logits with its target.

    logits = h Eᵀ + b          loss = log Σ exp(logits) − logits[target]
    G = softmax(logits) − one-hot(target), by the weight w of each loss:
    ∂h = w G E                 ∂E = Gᵀ (w h)                 ∂b = w G

    The products are as large as they are; the rest is about passing over P×V numbers as seldom as can be. The softmax
    is made where the logits lay; nothing else is as large, and w is put on the narrow factors. torch's own, one
    operation after another, makes three more tensors as large. The price is that it goes backward once, as torch will
    say of a second time.
    """

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, look: Look | None
    ) -> tuple[Tensor, Tensor]:
        """Nats, 0 where the target is ignored, and whether the first largest logit is the target's."""
        is_ignored = targets == IGNORED
        labels = targets.masked_fill(is_ignored, 0).unsqueeze(1)
        size = positions_at_once(len(weight))
        ctx.chunks = [slice(begin, begin + size) for begin in range(0, max(1, len(targets)), size)]
        losses, right, cache = [], [], None
        for chunk in ctx.chunks:
            probabilities, loss, hit = _softmax(states[chunk], weight, bias, labels[chunk], look)
            losses.append(loss.squeeze(1))
            right.append(hit.squeeze(1))
            cache = probabilities if len(ctx.chunks) == 1 else None
            del probabilities  # before the next are made
        ctx.save_for_backward(states, weight, bias, labels, is_ignored, cache)
        hits = torch.cat(right).masked_fill_(is_ignored, False)
        ctx.mark_non_differentiable(hits)
        return torch.cat(losses).masked_fill_(is_ignored, 0.0), hits

    @staticmethod
    def backward(ctx: Any, *of: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of the states, the vectors and the bias."""
        states, weight, bias, labels, is_ignored, cache = ctx.saved_tensors
        weights = of[0].masked_fill(is_ignored, 0.0).unsqueeze(1)
        for_states, for_weight = torch.empty_like(states), None
        for_bias = None if bias is None else torch.zeros_like(bias)
        for chunk in ctx.chunks:
            gradient = _softmax(states[chunk], weight, bias, labels[chunk])[0] if cache is None else cache
            gradient.scatter_add_(1, labels[chunk], -torch.ones_like(weights[chunk]))
            if for_bias is not None:
                for_bias += weights[chunk, 0] @ gradient
            gradient = gradient.to(weight.dtype)
            for_states[chunk] = (gradient @ weight).mul_(weights[chunk])
            narrow = (states[chunk] * weights[chunk]).to(weight.dtype)
            for_weight = gradient.T @ narrow if for_weight is None else for_weight.addmm_(gradient.T, narrow)
        return for_states, for_weight, for_bias, None, None


def _softmax(
    states: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, look: Look | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The softmax of the logits, P×V, the loss of each target, P×1, and whether it is the first largest, P×1.

    The softmax takes the place of the logits in memory.
    """
    logits = _logits(states, weight, bias)
    best = first_largest(logits)
    largest, target_logits = logits.gather(1, best), logits.gather(1, targets)
    if logits.device.type == "cpu":  # one operation, which has read a number when it writes there
        probabilities: Tensor = torch.ops.aten._softmax.out(logits, -1, False, out=logits)
        total = probabilities.gather(1, best).reciprocal_()  # 1 / Σ exp(logits − largest) is the softmax of the largest
    else:
        total = logits.sub_(largest).exp_().sum(-1, keepdim=True)
        probabilities = logits.div_(total)
    if look is not None:
        look(probabilities)
    return probabilities, largest - target_logits + total.log_(), best == targets


def _logits(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """What each state has for each token, P×V, in float32."""
    if bias is not None and bias.dtype == states.dtype:
        return torch.addmm(bias, states, weight.T)
    logits = (states @ weight.T).float()
    return logits if bias is None else logits.add_(bias)


def first_largest(rows: Tensor) -> Tensor:
    """Where the first of the largest numbers of each row is, P×1.

    On a CPU, torch finds how large the largest is several times as fast as where it is: it is asked for the first, in
    blocks, and for the second in the block that has it.

    >>> first_largest(torch.tensor([[1, 3, 3, 2], [4, 0, 0, 4]])).flatten().tolist()
    [1, 0]
    """
    even_size = rows.shape[1] // BLOCK * BLOCK
    if rows.device.type != "cpu" or even_size == 0:
        return rows.argmax(-1, keepdim=True)
    blocks = rows[:, :even_size].view(len(rows), even_size // BLOCK, BLOCK)
    begin = blocks.amax(-1).argmax(-1, keepdim=True) * BLOCK
    best: Tensor = begin + rows.gather(1, begin + torch.arange(BLOCK)).argmax(-1, keepdim=True)
    if even_size == rows.shape[1]:
        return best
    last = even_size + rows[:, even_size:].argmax(-1, keepdim=True)
    return torch.where(rows.gather(1, last) > rows.gather(1, best), last, best)
