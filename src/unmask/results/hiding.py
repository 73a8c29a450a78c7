"""What policies hide, shown and audited."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmask.results.figures import Figure


@dataclass(frozen=True)
class ShownToken:
    """One token: what it is, what is shown of it, and with which others it was hidden."""

    text: str
    shown: str
    kind: str  # shown, masked, random, kept, asked (in an order), or gone (behind the sentinel before it)
    unit: int = 0  # 1, 2, … of what is hidden together; 0 is not hidden
    order: int = 0  # when it is predicted, where there is an order


@dataclass(frozen=True)
class Shown:
    """A text under a policy."""

    policy: str
    pieces: tuple[ShownToken, ...]
    hidden: int
    tokens: int  # that may be hidden
    answer: str = ""  # what a decoder says
    time: float | None = None  # of diffusion


@dataclass(frozen=True, kw_only=True)
class Rolled:
    """A policy on one text, many times over."""

    policy: str  # as it was asked for
    rolls: int  # how often it was hidden in
    tokens: int  # that may be hidden
    rate: float  # hidden / tokens
    rate_low: float  # of the rolls: the 5th percentile …
    rate_high: float  # … and the 95th
    lengths: dict[int, int]  # how many units have how many tokens
    positions: tuple[float, ...]  # how often each token was hidden
    band: tuple[float, float]  # where 95 positions in 100 lie if none is favoured
    outside: int  # positions that do not


@dataclass(frozen=True, kw_only=True)
class Audited:
    """A policy on real blocks, in figures."""

    policy: str  # as it was asked for
    rows: int
    tokens: int  # eligible to be hidden
    hidden: int
    asked: float | None  # the mean of the rows' asked rates; none where each policy of a mixture has its own
    rate: float  # hidden / tokens
    rate_low: float  # of the rows: the 5th percentile …
    rate_high: float  # … and the 95th
    split: dict[str, float]  # how hidden tokens are shown: masked, random, kept, or by a sentinel
    lengths: dict[int, int]  # how many units have how many tokens
    positions: tuple[float, ...]  # the rate in each stretch of the row, from its beginning to its end
    position_p: float | None  # how likely so uneven a result is if no position is favoured; none on too few rows
    position_threshold: float  # below which the verdict is that one is
    position_favoured: bool | None  # the verdict
    specials_hidden: int  # 0, or something is wrong
    specials_shown: int  # random replacements that are special: 0, or something is wrong
    silent: int  # rows with eligible tokens and nothing to predict
    tokens_per_second: float


@dataclass(frozen=True, kw_only=True)
class PolicyHardness:
    """How predictable what a policy hides is from its neighbours, under a bigram model."""

    policy: str  # as it was asked for
    rate: float  # hidden / tokens that may be hidden
    hidden: int
    bits: Figure  # of a hidden token; 0 is given away
    beyond_reference: Figure | None  # bits, minus those of the reference on the same blocks; none of itself
    unigram_bits: Figure  # of the same tokens, by how often they occur alone
    under_one_bit: Figure  # the share of hidden tokens that are as good as given away
    neighbours: float  # how many of its two a hidden token has when it is predicted, on average


@dataclass(frozen=True, kw_only=True)
class Hardness:
    """Policies side by side on the same blocks of held-out text: how predictable what they hide is."""

    data: Path
    rows: int
    length: int  # of a row
    counted: int  # tokens of the training text that the bigram model counted …
    training_tokens: int  # … of so many
    reference: str  # the policy that the others are set beside
    policies: tuple[PolicyHardness, ...]  # the reference first
