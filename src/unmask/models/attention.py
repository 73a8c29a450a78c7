"""Attention over what may be seen, for CPUs: a document's own tokens, and in local layers those of a window.

In: rows of documents, and how far a token sees. Out: masks that are never made: whoever gives one to torch's attention
gets what the dense mask would have given, computed over

- each document by itself, documents of one length that follow each other at once: the work grows with the squares of
  their lengths instead of the square of the row's;
- stretches of a row, each with the window around it, where a layer sees a window only (Longformer, Beltagy et al.
  2020): the work grows with the length.

Where a row is so short that the whole of it takes less time than its parts, the mask is made as ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.utils._pytree import tree_map

from unmask.models import attention_products

STRETCH = 32  # tokens whose windows are looked through at once; as many as the window reaches, where that is more
WINDOWED = 2  # times what a stretch sees: rows that are as long take less time by stretches
A_CALL = 64 * 64  # pairs of tokens that attention looks at in the time that another call of it takes


@dataclass(frozen=True, eq=False)
class Seen:
    """What each token of some rows sees: the tokens of its document, of them those at hand, or before it."""

    documents: Tensor  # B L; each sees its own number in its row, padding padding
    window: int | None = None  # tokens on each side
    causal: bool = False  # none that comes after it

    @property
    def everything(self) -> bool:
        """Whether each token sees its whole row."""
        rows, length = self.documents.shape
        return self.window is None and not self.causal and self.runs == [(rows, length)]

    @property
    def pays(self) -> bool:
        """Whether the parts of the rows take less time than the whole of them."""
        rows, length = self.documents.shape
        if self.window is not None:
            return length >= WINDOWED * (self.stretch + 2 * self.window)
        pairs = sum(count * size * size + A_CALL for count, size in self.runs)
        return pairs < rows * length * length

    @property
    def dense(self) -> Tensor:
        """The mask, B×1×L×L: true where the first sees the second."""
        together = self.documents[:, None, :, None] == self.documents[:, None, None, :]
        if self.causal:
            together = together.tril()
        if self.window is None:
            return together
        place = torch.arange(self.documents.shape[1], device=self.documents.device)
        return together & ((place[:, None] - place[None, :]).abs() <= self.window)

    @property
    def stretch(self) -> int:
        """Tokens of a row whose windows are looked through at once."""
        return max(STRETCH, self.window or 0)

    @cached_property
    def numbers(self) -> Tensor:
        """The documents of all rows one after the other, each with a number of its own."""
        rows = torch.arange(len(self.documents))[:, None]
        return (self.documents + rows * (self.documents.max() + 1)).flatten()

    @cached_property
    def runs(self) -> list[tuple[int, int]]:
        """How many documents of one length follow each other, and how long they are, through all rows.

        >>> Seen(torch.tensor([[1, 1, 2, 2, 0], [1, 1, 1, 1, 1]])).runs
        [(2, 2), (1, 1), (1, 5)]
        """
        sizes = torch.unique_consecutive(self.numbers, return_counts=True)[1].tolist()
        return [(len(list(alike)), size) for size, alike in groupby(sizes)]

    @cached_property
    def bias(self) -> Tensor:
        """What is added where a stretch looks at its window, N×1×S×(S + 2W): 0, or −∞ where a token does not see."""
        assert self.window is not None
        size = self.stretch
        filling = -len(self.numbers) % size  # after the last row, which sees itself: what sees nothing has no softmax
        own = F.pad(self.numbers, (0, filling), value=-1).unflatten(0, (-1, size))
        padded = F.pad(self.numbers, (self.window, filling + self.window), value=-1)
        around = padded.unfold(0, size + 2 * self.window, size)
        distance = torch.arange(size + 2 * self.window)[None, :] - self.window - torch.arange(size)[:, None]
        near = (distance <= (0 if self.causal else self.window)) & (distance >= -self.window)
        sees = (own[:, :, None] == around[:, None, :]) & near
        return torch.zeros(sees.shape).masked_fill_(~sees, -torch.inf).unsqueeze(1)


class SeenMask(Tensor):
    """A mask that is not made, in the shape of one: attention that is given it looks at what is seen only.

    To all else that is done with it, it is the dense mask.
    """

    seen: Seen

    @classmethod
    def of(cls, seen: Seen) -> Tensor | None:
        """The mask, B×1×L×L; the dense one where that takes less time, none where everything is seen."""
        if seen.everything:
            return None
        if not seen.pays:
            return seen.dense
        rows, length = seen.documents.shape
        shape = torch.ones((), dtype=torch.bool).expand(rows, 1, length, length)  # one byte of memory
        mask = shape.as_subclass(cls)
        mask.seen = seen
        return mask

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Attention computes what is seen; shapes and the like are told; the rest is done with the dense mask."""
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            inputs = dict(zip(("query", "key", "value", "attn_mask"), args, strict=False)) | kwargs
            mask = inputs.pop("attn_mask")
            return attend(mask.seen, inputs.pop("query"), inputs.pop("key"), inputs.pop("value"), **inputs)
        with torch._C.DisableTorchFunctionSubclass():
            if getattr(func, "__name__", "") == "__get__":
                return func(*args, **kwargs)
            args, kwargs = tree_map(lambda each: each.seen.dense if isinstance(each, cls) else each, (args, kwargs))
            return func(*args, **kwargs)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, **options: Any) -> Tensor:
    """Torch's attention, B×H×L×D, in the way that takes least time; options are those of `attention_products`."""
    if isinstance(mask, SeenMask):
        return attend(mask.seen, query, key, value, **options)
    return attention_products.attention(query, key, value, mask, **options)


def attend(seen: Seen, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
    """Attention, B×H×L×D, of each token to those that it sees; options are as above."""
    options.pop("is_causal", None)
    attention = partial(attention_products.attention, **options)
    tokens = [states.transpose(1, 2).flatten(0, 1) for states in (query, key, value)]  # T H D
    way = attend_documents if seen.window is None else attend_windows
    states = way(seen, tokens, attention)
    return states.view(*seen.documents.shape, *states.shape[1:]).transpose(1, 2)


def attend_documents(seen: Seen, tokens: list[Tensor], attention: Any) -> Tensor:
    """Attention within each document, T×H×D."""
    sizes = [count * size for count, size in seen.runs]
    outputs = [
        attention(*(part.unflatten(0, run).transpose(1, 2) for part in parts), is_causal=seen.causal)
        for run, *parts in zip(seen.runs, *(states.split(sizes) for states in tokens), strict=True)
    ]
    return torch.cat([output.transpose(1, 2).flatten(0, 1) for output in outputs])


def attend_windows(seen: Seen, tokens: list[Tensor], attention: Any) -> Tensor:
    """Attention of each stretch to the window around it, T×H×D."""
    window, size, count = cast(int, seen.window), seen.stretch, len(tokens[0])
    if filling := -count % size:
        tokens = [F.pad(states, (0, 0, 0, 0, 0, filling)) for states in tokens]
    query, key, value = tokens
    stretches = query.unflatten(0, (-1, size)).transpose(1, 2)
    around_key, around_value = (Windows.apply(states, size, window) for states in (key, value))  # type: ignore[no-untyped-call]
    output = attention(stretches, around_key, around_value, attn_mask=seen.bias.to(query.dtype))
    return cast(Tensor, output.transpose(1, 2).flatten(0, 1)[:count])


class Windows(Function):
    """The window around each stretch: T×H×D to N×H×(S + 2W)×D, a view on one copy; zeros beyond both ends."""

    @staticmethod
    def forward(ctx: Any, tokens: Tensor, size: int, window: int) -> Tensor:
        """Stretches of `size`, with `window` more on each side, which is not above `size`."""
        ctx.size, ctx.window = size, window
        padded = F.pad(tokens, (0, 0, 0, 0, window, window))
        return padded.unfold(0, size + 2 * window, size).transpose(2, 3)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """Each token has its gradient from its own stretch and, near the ends of it, from the next one."""
        size, window = ctx.size, ctx.window
        parts = gradient.transpose(1, 2)
        own = parts[:, window : window + size].clone(memory_format=torch.contiguous_format)
        own[:-1, size - window :] += parts[1:, :window]
        own[1:, :window] += parts[:-1, window + size :]
        return own.flatten(0, 1), None, None
