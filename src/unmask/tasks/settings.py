"""How a task is learnt where nobody says: learning rate by width, epochs by data size.

In: what was asked for, and the sizes of model and data. Out: numbers, each a stated function of those.
"""

from __future__ import annotations

from dataclasses import dataclass

from unmask.errors import BadInput

PRETRAINED, SCRATCH = "pretrained", "scratch"  # what a run starts from
WIDTH, LR, MOST_LR = 768, 3e-5, 1e-3  # of base-size encoders; narrower ones bear more, up to this
STEPS, EPOCHS = 500, (3, 50)  # a run has about so many steps, and between so many epochs
BATCH_SIZE = 32
LAYER_DECAY = 0.9  # where nobody says; deep models: less for their lowest layers
REPRODUCIBLE = 8  # micro-batches in a step that is to be the same on any number of processes up to this


@dataclass(frozen=True, kw_only=True)
class TuneSettings:
    """How a task is learnt; what is none is found out from the model and the data."""

    start: str = PRETRAINED  # or scratch: the same architecture with fresh weights
    lr: float | None = None
    batch_size: int = BATCH_SIZE
    micro_batch: int | None = None
    length: int | None = None
    seed: int = 0
    sets: float | None = None  # the share of texts whose label a set of labels is to have in it
    layer_decay: float | None = None  # by how much a layer learns slower than the one above it
    lora: int | None = None  # the rank of what is learnt beside each matrix, which then stays as it is

    def __post_init__(self) -> None:
        if self.lr is not None and not 0 < self.lr < 1:
            raise BadInput(f"--lr {self.lr}: give a number above 0 and below 1, such as 1e-4")
        if self.sets is not None and not 0.5 <= self.sets < 1:
            raise BadInput(f"--sets {self.sets}: give a share from 0.5 to below 1, such as 0.9")
        if self.layer_decay is not None and not 0 < self.layer_decay <= 1:
            raise BadInput(f"--layer-decay {self.layer_decay}: give a number above 0, at most 1 (no decay)")
        for name in ("batch_size", "micro_batch", "length", "lora"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise BadInput(f"--{name.replace('_', '-')} {value}: give 1 or more")


def lr_for(width: int) -> float:
    """The learning rate of an encoder of this width: 3e-5 at 768, with the inverse cube of the width, at most 1e-3.

    The inverse square left a model of 256 behind its own fresh weights (SST-2 76.8 % at 2.7e-4, 80.9 % at 7e-4).

    >>> [f"{lr_for(width):.1e}" for width in (1024, 768, 384, 256, 64)]
    ['1.3e-05', '3.0e-05', '2.4e-04', '8.1e-04', '1.0e-03']
    """
    return min(MOST_LR, LR * (WIDTH / width) ** 3)


def epochs_for(examples: int, batch_size: int) -> float:
    """Passes over the examples: about 500 steps, but 3 passes at the least and 50 at the most.

    >>> [epochs_for(examples, 32) for examples in (100, 1_000, 6_920, 400_000)]
    [50.0, 16.0, 3.0, 3.0]
    """
    fewest, most = EPOCHS
    return float(min(most, max(fewest, round(STEPS * batch_size / max(1, examples)))))


def micro_batch_for(batch_size: int, processes: int, *, reproducible: bool) -> int:
    """Examples in a micro-batch where nobody says: a step is cut among processes, or in eight to be reproducible."""
    return max(1, -(-batch_size // (max(REPRODUCIBLE, processes) if reproducible else processes)))
