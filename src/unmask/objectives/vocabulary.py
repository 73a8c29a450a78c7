"""What a model makes of the tokens it predicts: the loss of each and whether its best guess was right.

In: a model, positions, the tokens that belong there. Out: a loss for each, in nats. Logits exist at these positions
only, and where even those are many they exist a chunk at a time: the head is run again in the backward pass, a chunk
at a time too, so that memory stays flat however many positions and however large the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from unmask.models.sparse import head, logits_at, states_at
from unmask.records import Integers

ROUND = 64
IGNORED = -100
WHOLE = 1 << 26  # logits that are computed at once: 256 MB of them


@dataclass(frozen=True)
class Guesses:
    """What came of each prediction."""

    losses: Tensor  # P, nats
    right: Tensor  # P, whether the best guess was right


def predict(
    model: PreTrainedModel, positions: Integers, targets: Integers, *, never: int | None = None, **inputs: Any
) -> Guesses:
    """Predict the targets at flat positions of the inputs; `never` is an id that no prediction can be."""
    count = len(targets)
    where, what = rounded(positions, targets, model.device)
    if len(where) <= at_once(model.config.vocab_size):
        losses, right = judge(logits_at(model, where, **inputs), what, never)
        return Guesses(losses[:count], right[:count])
    states = states_at(model, where, **inputs)
    return judged(lambda chunk: head(model, states[chunk]), what, count, model.config.vocab_size, never)


def judged(
    logits: Callable[[slice], Tensor], targets: Tensor, count: int, vocabulary: int, never: int | None = None
) -> Guesses:
    """What came of `count` predictions whose logits can be had for any slice of them, as many at once as may be."""
    size = at_once(vocabulary)

    def part(begin: int) -> tuple[Tensor, Tensor]:
        chunk = slice(begin, begin + size)
        return judge(logits(chunk), targets[chunk], never)

    if len(targets) <= size:
        losses, right = part(0)
        return Guesses(losses[:count], right[:count])
    parts = [checkpoint(part, begin, use_reentrant=False) for begin in range(0, len(targets), size)]
    losses, right = (torch.cat(each) for each in zip(*parts, strict=True))
    return Guesses(losses[:count], right[:count])


def at_once(vocabulary: int) -> int:
    """How many positions may have their logits at once."""
    return max(ROUND, WHOLE // vocabulary // ROUND * ROUND)


def rounded(positions: Integers, targets: Integers, device: torch.device) -> tuple[Tensor, Tensor]:
    """Positions and targets, filled up to a round number with what is ignored.

    oneDNN keeps a kernel for each shape it meets: a number of positions that differs with every step would fill
    gigabytes with them.
    """
    filling = -len(targets) % ROUND
    where = F.pad(torch.from_numpy(positions), (0, filling))
    return where.to(device), F.pad(torch.from_numpy(targets), (0, filling), value=IGNORED).to(device)


def judge(logits: Tensor, targets: Tensor, never: int | None = None) -> tuple[Tensor, Tensor]:
    """The loss of each row of logits, and whether its largest is the target's."""
    logits = logits.float()
    if never is not None:
        barred = torch.zeros(logits.shape[-1], device=logits.device)
        barred[never] = -torch.inf
        logits = logits + barred
    losses = F.cross_entropy(logits, targets, reduction="none", ignore_index=IGNORED)
    return losses, logits.detach().argmax(-1) == targets
