"""How a model is adapted where nobody says: learning rates, what is hidden, how much general text is mixed in."""

from __future__ import annotations

from dataclasses import dataclass

from unmask.errors import BadInput
from unmask.training.optimizer import Optimizing

WIDTH, LR, MOST_LR = 768, 1e-4, 1e-3  # of base-size encoders; narrower ones bear more, up to this
TASK_EPOCHS = 10.0  # a task has little text
REPLAY_SHARE = 0.05  # of the blocks, where there is general text


@dataclass(frozen=True, kw_only=True)
class AdaptSettings:
    """How a model is adapted; what is none is found out from the model."""

    objective: str | None = None  # what is learnt, as `objectives.curriculum` reads it; none: what fits the model
    policy: str | None = None  # what is hidden; none: what the objective was published with
    rate: str | None = None  # none: 15 %, or the policy's own
    length: int | None = None  # tokens in a block; none: 128, or what the model takes
    batch_size: int = 32  # blocks in a step
    micro_batch: int = 32
    lr: float | None = None
    replay_share: float = REPLAY_SHARE
    forget: float | None = None  # nats that the loss on general text may rise by
    extend: str | None = None  # words to add to the vocabulary: how many, auto, or a file that lists them
    task_epochs: float = TASK_EPOCHS  # passes over the text of the task
    warm_steps: int = 300  # that what is new in the model learns alone
    similarity: str | None = None  # a file of scored pairs, on which vectors are measured before and after
    whole_budget: bool = False  # take every step, whatever the validations say

    def __post_init__(self) -> None:
        if not 0 <= self.replay_share < 1:
            raise BadInput(f"--replay-share {self.replay_share}: give a share from 0 to below 1, such as 0.05")
        if self.forget is not None and self.forget < 0:
            raise BadInput(f"--forget {self.forget}: give the nats that the general loss may rise by, such as 0.05")
        if self.lr is not None and not 0 < self.lr < 1:
            raise BadInput(f"--lr {self.lr}: give a number above 0 and below 1, such as 1e-4")
        if self.extend is not None and self.extend.isdecimal() and int(self.extend) < 1:
            raise BadInput(f"--extend {self.extend}: give 1 or more, auto, or leave it out")
        for name in ("batch_size", "micro_batch", "warm_steps"):
            if (value := getattr(self, name)) < 1:
                raise BadInput(f"--{name.replace('_', '-')} {value}: give 1 or more")


def adapt_lr(width: int) -> float:
    """The learning rate of an encoder of this width: 1e-4 at 768, with the inverse square of the width, at most 1e-3.

    >>> [f"{adapt_lr(width):.1e}" for width in (1024, 768, 256, 64)]
    ['5.6e-05', '1.0e-04', '9.0e-04', '1.0e-03']
    """
    return min(MOST_LR, LR * (WIDTH / width) ** 2)


def adapt_optimizing(lr: float) -> Optimizing:
    """AdamW on every weight; the rate rises for a twentieth of the steps and falls over the second half."""
    return Optimizing(muon_lr=0.0, adamw_lr=lr, betas=(0.9, 0.98), weight_decay=0.01, warmup=0.05, decay=0.5)
