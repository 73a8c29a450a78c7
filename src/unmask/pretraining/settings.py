"""How masked text is trained on: everything but the model's size, the data and the budget."""

from __future__ import annotations

from dataclasses import dataclass

from unmask.errors import BadInput, did_you_mean
from unmask.pretraining.lengths import LengthSchedule, as_many_tokens, parse_lengths
from unmask.training.optimizer import Optimizing


@dataclass(frozen=True, kw_only=True)
class Init:
    """What a fresh model begins with; the rest is as its family draws it."""

    frequencies: bool = False  # the output bias is the log-frequency of each token
    vectors: bool = False  # token embeddings are vectors of co-occurrence in the training text
    neighbours: bool = False  # heads of the first layer look at the words beside each word


INITS = {
    "informed": Init(frequencies=True, vectors=True, neighbours=True),
    "vectors": Init(frequencies=True, vectors=True),
    "neighbours": Init(frequencies=True, neighbours=True),
    "frequencies": Init(frequencies=True),
    "random": Init(),  # as published
}


# tried at mini for 400 and 1,600 steps (docs/performance.md): late steps are small in long runs
OPTIMIZING = Optimizing(full_steps=240, decay=0.4, fall="linear")


@dataclass(frozen=True, kw_only=True)
class PretrainSettings:
    """How a model is trained on text of which something is hidden."""

    length: int | str = 128  # tokens in a block, as `pretraining.lengths` reads it: "128 until 0.9; 1024"
    batch_size: int = 16  # blocks in a step; of the first length, where others follow
    micro_batch: int = 16  # blocks in a micro-batch, the unit of work
    objective: str = "mlm"  # what is learnt, as `objectives.curriculum` reads it: "causal until 0.5; mlm"
    policy: str | None = "token"  # what is hidden, as `corruption.schedule` reads it: "span 0.7, token 0.3"
    rate: str | None = "linear 0.3 0.15"  # falling, which beats constant (Ankner et al. 2024); none: the policy's own
    phrases: str | None = None  # a list of what entity, phrase and collocation hide whole; none: what the data has
    smoothing: float | None = None  # languages are sampled with their shares to this power; none: as the text has them
    static_masks: bool = False  # the same blocks and the same hidden tokens in every epoch
    init: str = "informed"  # what the model knows before the first step: one of `INITS`
    dropout: float = 0.0  # none for a single pass over the data
    skip_spikes: bool = False  # leave out steps whose loss or gradient is far above the ones before
    optimizing: Optimizing = OPTIMIZING

    def __post_init__(self) -> None:
        if self.init not in INITS:
            near = did_you_mean(self.init, INITS)
            raise BadInput(f"--init {self.init}: give {', '.join(INITS)}{near and f'; {near}'}")
        for name in ("batch_size", "micro_batch"):
            if (value := getattr(self, name)) < 1:
                raise BadInput(f"--{name.replace('_', '-')} {value}: give 1 or more")
        parse_lengths(self.length)

    @property
    def lengths(self) -> LengthSchedule:
        """How long blocks are over the training."""
        return parse_lengths(self.length)

    @property
    def fewest_blocks(self) -> int:
        """In a step where blocks are longest."""
        return as_many_tokens(self.batch_size, self.lengths.first, self.lengths.longest)

    @property
    def tokens_a_step(self) -> int:
        """Tokens of a step's blocks, padding included: as many at each length."""
        return self.batch_size * self.lengths.first


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A model and how it is trained."""

    name: str
    family: str
    size: str
    settings: PretrainSettings
