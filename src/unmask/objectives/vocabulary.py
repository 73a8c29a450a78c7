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
from torch.autograd import Function
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
    losses: Tensor = CrossEntropy.apply(logits, targets)  # type: ignore[no-untyped-call]
    return losses, _largest(logits.detach(), targets)


class CrossEntropy(Function):
    """`F.cross_entropy` of each row; its gradient, softmax − one-hot, is made where the logarithms lay.

    torch's own takes two more tensors as large as the logits, one of them zeros: 3 % of a step of mini on a CPU, and
    a quarter of its memory. The price is that it goes backward once, as torch will say of a second time.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor) -> Tensor:
        """Nats, 0 where the target is ignored."""
        logs = F.log_softmax(logits, -1)
        ctx.save_for_backward(logs, targets)
        return -logs.gather(1, _some_target(targets)).squeeze(1).masked_fill(targets == IGNORED, 0.0)

    @staticmethod
    def backward(ctx: Any, *losses: Tensor) -> tuple[Tensor, None]:
        """Softmax − one-hot, by the weight of each loss."""
        logs, targets = ctx.saved_tensors
        weights = losses[0].masked_fill(targets == IGNORED, 0.0).unsqueeze(1)
        gradient = logs.exp_().mul_(weights).scatter_add_(1, _some_target(targets), -weights)
        return gradient, None


def _some_target(targets: Tensor) -> Tensor:
    """P×1 ids to gather at, those of ignored targets being any."""
    return targets.masked_fill(targets == IGNORED, 0).unsqueeze(1)


def _largest(logits: Tensor, targets: Tensor) -> Tensor:
    """Whether a row's first largest logit is its target's; on a CPU asked of the few rows where none is larger."""
    if logits.device.type != "cpu":
        return logits.argmax(-1) == targets
    own = logits.gather(1, _some_target(targets)).squeeze(1)
    right = (own >= logits.amax(-1)) & (targets != IGNORED)
    rows = right.nonzero().squeeze(1)
    right[rows] = logits[rows].argmax(-1) == targets[rows]
    return right
