"""How good models are, measured, probed and compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from unmask.results.figures import Figure


@dataclass(frozen=True, kw_only=True)
class Breakdown:
    """The same figures over a part of the hidden positions."""

    positions: int
    loss: Figure
    top1: Figure


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """Blanks whose best guess has a probability between two bounds."""

    low: float
    high: float
    blanks: int
    confidence: float  # the mean of those probabilities
    accuracy: float  # how many of the guesses were right


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Whether a model is as sure of its fills as it is right."""

    blanks: int  # shown as the mask
    error: Figure  # expected calibration error, of ten bins
    confidence: float  # the mean probability of the best guess
    bins: tuple[ReliabilityBin, ...]  # that have a blank
    plot: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Consistency:
    """How far answers depend on the order of asking; all in nats a hidden token."""

    rows: int
    tokens: int  # hidden in them
    spread: Figure  # the standard deviation, over orders, of the log-probability of a row's hidden tokens
    widest: Figure  # the best order beside the worst
    loss: Figure  # the mean over orders
    at_once: Figure  # the loss where no hidden token sees another
    by_order: dict[str, Figure]  # the loss in each order


@dataclass(frozen=True, kw_only=True)
class Dependence:
    """Nats a hidden token, predicted both ways: what it is worth to a model to know of each other what is hidden."""

    independent: Figure  # each on its own, from what is not hidden
    dependent: Figure  # one after another in a random order, from those before it too
    gain: Figure  # the first minus the second, token by token


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """How well a model restores hidden tokens of held-out text."""

    model: str
    data: str
    positions: int  # hidden, and so predicted
    documents: int  # that they lie in
    loss: Figure  # nats per hidden token
    perplexity: Figure
    top1: Figure
    top5: Figure
    bits_per_byte: Figure
    context_bits: Figure  # unigram entropy − loss: a lower bound on what the context tells, in bits
    most_frequent_top1: float  # the baseline that always says the most frequent token
    unigram_loss: float  # the baseline that knows only how frequent each token is
    by_kind: dict[str, Breakdown]  # masked, random, kept; of XLNet nothing, which is what it sees there
    by_frequency: dict[str, Breakdown]
    by_language: dict[str, Breakdown] = field(default_factory=dict)  # where the data says it, most hidden tokens first
    by_source: dict[str, Breakdown] = field(default_factory=dict)  # where there are several: names of the mix, or files
    dependence: Dependence | None = None  # of models that predict one after another too
    calibration: Calibration | None = None  # none where nothing was shown as the mask
    consistency: Consistency | None = None  # where asked for
    notes: tuple[str, ...] = ()  # what the figures have to be read with


@dataclass(frozen=True, kw_only=True)
class Probed:
    """How well a linear probe on a model's frozen vectors answers a question."""

    kind: str  # classification: accuracy; tagging: F1 of the words that have a tag
    score: Figure
    untrained: Figure  # the same model before its first step
    majority: float  # always the most frequent label
    learnt: int  # texts or sentences the probe learnt from
    tested: int


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """One recipe or model of a comparison; what is not defined for it, or not known of it, is none."""

    name: str  # in tables: a recipe's, or the end of a path
    recipe: str | None
    run: Path  # or a model directory
    trained_here: bool = True  # under the comparison's budget; else it existed before
    same_data: bool | None = True  # whether it was trained on this data; none where that is not known
    parameters: int
    steps: int | None
    tokens: int | None
    seconds: float | None  # of training
    tokens_per_second: float | None
    precision: str | None = None  # that its products were computed in
    same_tokenizer: bool = True  # as the others; if not, bits per byte alone compare
    masked_loss: Figure | None  # on the fixed masks, nats a hidden token
    masked_accuracy: Figure | None
    beyond_first: Figure | None = None  # the masked loss beyond the first one's, document by document
    hidden_bits_per_byte: Figure | None  # what hidden tokens cost given the others: no likelihood of the text
    text_bits_per_byte: Figure | None  # what the whole text costs
    text_bound: bool  # whether that is a bound from above
    figures: dict[str, float]  # what the objective measured of itself
    probes: dict[str, Probed]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Recipes under the same budget, and models that existed before, measured alike."""

    path: Path
    data: Path
    budget: dict[str, float]  # of each recipe; empty where nothing was trained
    seed: int
    length: int  # of the rows that tokens were hidden in
    runs: tuple[ComparedRun, ...]
    notes: tuple[str, ...] = ()  # what keeps some of it from being compared
    plot: Path


@dataclass(frozen=True, kw_only=True)
class ProbedItem:
    """What a model preferred in one item."""

    phenomenon: str
    text: str | None  # with its blank; none where sentences were chosen among
    answer: str  # the right choice
    choice: str | None = None  # the model's
    scores: dict[str, float] = field(default_factory=dict)  # nats, of each choice
    right: bool | None = None  # none where it could not be scored
    tie: bool = False  # equal scores, which is not right
    rank: int | None = None  # of the answer among all tokens, where there were no candidates
    exact: bool = True  # rather than decided by a stride
    problem: str = ""  # why it could not be scored


@dataclass(frozen=True, kw_only=True)
class ProbedPhenomenon:
    """How often a model preferred what is right."""

    items: int
    accuracy: Figure  # of those that could be scored
    chance: float  # what guessing comes to: one of the candidates, or none where the whole vocabulary was open
    ties: int
    unscorable: int


@dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """What a model knows of a language and of the world, by items with a right answer."""

    model: Path
    items: Path
    method: str  # of its scores
    overall: ProbedPhenomenon
    mean: float | None  # of the accuracies of phenomena, each counting once
    phenomena: dict[str, ProbedPhenomenon]
    exact: int  # items that were scored exactly; the others were clear with a stride
    out: Path | None = None  # where the items are, each with its scores
