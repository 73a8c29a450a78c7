"""What the verbs give back: typed, printable, and JSON by `to_json`.

Every dataclass of this module is public under its name: `unmask.Figure`, and so on.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, is_dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any


def to_plain(value: Any) -> Any:
    """A value as JSON has it: paths are strings, and a number that is not finite is null."""
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def to_json(result: Any) -> str:
    """A result as one line of JSON; paths are strings, and a number that is not finite is null."""
    return json.dumps(to_plain(asdict(result)), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class Figure:
    """A measured value with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A data directory: what was read, what was left out and why, and what is there now."""

    path: Path
    files: int
    bytes_read: int
    counts: dict[str, int]  # read, malformed, empty, short, duplicate, train, valid, in that order
    tokenizer: str
    vocabulary: int
    tokens: dict[str, int]  # by split
    spans: dict[str, dict[str, int]] = field(default_factory=dict)  # by split and kind, where some are marked
    pages_without_text: int = 0  # of PDF files: scanned, or blank
    formats: dict[str, int] = field(default_factory=dict)  # how many files were of each, most first
    encodings: dict[str, int] = field(default_factory=dict)  # other than UTF-8: how many files were read in them
    languages: tuple[str, ...] = ()  # by the names of files or folders, if they are told by these
    passed_over: dict[str, int] = field(default_factory=dict)  # files that were not read, by suffix or why, most first
    warnings: tuple[str, ...] = ()  # what to mind
    next: tuple[str, ...] = ()  # commands to go on with
    fingerprint: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Verified:
    """How a directory compares with its manifest."""

    path: Path
    files: int
    bytes: int
    damage: tuple[str, ...]  # one line for each file that is not what it was


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A run that has come to its end."""

    path: Path
    model: Path
    recipe: str
    parameters: int
    steps: int
    tokens: int
    seconds: float
    loss: float  # on the fixed validation masks
    accuracy: float
    precision: str = "float32"  # that products were computed in
    figures: dict[str, float] = field(default_factory=dict)  # what the objective measured of itself on held-out text
    fills: bool = True  # whether the model is one that fills blanks
    next: tuple[str, ...] = ()  # commands to put it to use by
    weights_sha256: str


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
    dependence: Dependence | None = None  # of models that predict one after another too
    calibration: Calibration | None = None  # none where nothing was shown as the mask
    consistency: Consistency | None = None  # where asked for


@dataclass(frozen=True)
class Guess:
    """One candidate for a blank."""

    token: str
    probability: float
    pieces: int = 1  # tokens it has


@dataclass(frozen=True, kw_only=True)
class Written:
    """A file of results, a line of JSON for each."""

    path: Path
    lines: int  # of the texts that were read
    refused: int  # of them, each in the file with its `error`
    continued_after: int = 0  # the line after which a command that was stopped went on


@dataclass(frozen=True)
class Filling:
    """Words for several blanks at once."""

    words: tuple[str, ...]
    log_probability: float  # one after the other, in nats: the mean over orders of revealing them
    spread: float  # between the likeliest of these orders and the least likely, in nats
    probability: float | None = None  # among the pairs of the table, where there are two blanks


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """What blanks that are filled together agree on, the likeliest first."""

    blanks: tuple[int, ...]  # which of the text's, the first being 0
    method: str  # table (two blanks), or beam
    fillings: tuple[Filling, ...]
    independent: Filling  # the best of each blank on its own, judged in the same way
    orders: int  # in which they were revealed
    outside: tuple[float, ...] = ()  # of each blank, the probability of what the table leaves out


@dataclass(frozen=True)
class WordRelevance:
    """What a word of the context did for an answer."""

    word: str
    start: int  # in `completed` of what was filled
    end: int
    relevance: float  # nats: above 0 it made the answer likelier than other words in its place would


@dataclass(frozen=True, kw_only=True)
class Explained:
    """Which words of the context mattered for the answer of a blank, or of blanks that agree."""

    blanks: tuple[int, ...]  # which of the text's
    answer: tuple[str, ...]
    log_probability: float  # of the answer, in nats
    words: tuple[WordRelevance, ...]  # in the order of the text
    replacements: int  # words that were tried in the place of each
    covered: float  # their share of what could stand there, on average
    left_out: int = 0  # words of the row too far away to be tried


@dataclass(frozen=True)
class Filled:
    """A text with its blanks filled: what each blank says on its own, and the text as they agree on it."""

    text: str
    blanks: tuple[tuple[Guess, ...], ...]  # the candidates of each on its own, the others staying blank; best first
    completed: str
    places: tuple[tuple[int, int], ...]  # where each filled word starts and ends in `completed`
    independent: str = ""  # the text completed with the best of each blank on its own
    agreements: tuple[Agreement, ...] = ()  # of blanks that are filled together
    tokens: int = 0  # of the text
    tokens_read: int = 0  # of them within sight of a blank
    windows: int = 1  # in which they were read
    cut: int = 0  # tokens left away, as asked for
    word_lengths: str = ""  # where the share of words of each length is from, if lengths competed
    explained: tuple[Explained, ...] = ()
    notes: tuple[str, ...] = ()


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


@dataclass(frozen=True)
class Phrase:
    """A collocation as text, how often it occurs, and how surprising its least surprising split is."""

    text: str
    count: int
    score: float


@dataclass(frozen=True, kw_only=True)
class Collocated:
    """The collocations of a data directory, and where their list was written."""

    data: Path
    path: Path | None  # none if it was not
    phrases: tuple[Phrase, ...]  # best first
    above: float  # the score that all of them are above
    chance: float  # the score that words side by side by chance alone can reach
    seconds: float


@dataclass(frozen=True)
class FigureTitle:
    """A figure that a run logs: its name in the metrics, what people call it, and which way is better."""

    name: str
    title: str
    better: str = "less"  # or "more"
    percent: bool = False

    def improves(self, value: float, before: float | None) -> bool:
        """Whether a value is better than another, or the first.

        >>> FigureTitle("loss", "Loss").improves(3.0, 4.0), FigureTitle("f1", "F1", "more").improves(0.3, 0.4)
        (True, False)
        """
        if before is None:
            return True
        return value > before if self.better == "more" else value < before

    def spelt(self, value: float) -> str:
        """The value as people read it.

        >>> FigureTitle("loss", "Loss").spelt(4.25), FigureTitle("perplexity", "Perplexity").spelt(1341.33)
        ('4.250', '1,341.3')
        """
        if self.percent:
            return f"{value:.1%}"
        return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3f}"


@dataclass(frozen=True)
class Validation:
    """What a run measured on what it holds out."""

    step: int
    figures: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """A run as it stands."""

    path: Path
    state: str  # running, finished, stopped, damaged, or foreign: of a version whose runs this one does not read
    recipe: str  # what is trained
    titles: tuple[FigureTitle, ...]  # of the figures that people look at; by the first a moment is the best
    step: int
    steps: int | None  # none before they are settled
    tokens: int  # seen
    figures: dict[str, float]  # of the last logged step
    tokens_per_second: float | None  # lately
    seconds: float  # spent on steps
    seconds_left: float | None  # none if it does not run
    best: Validation | None  # by the first of the figures
    last: Validation | None
    validations: tuple[Validation, ...]  # one series: always the same sample of what is held out
    final: Validation | None  # on everything that is held out, of the model that is exported; none before the end
    age: float  # seconds since something was logged
    problem: str = ""  # what is damaged
    stopped_in_order: bool = False  # it was asked to stop, and saved its last step
    next: tuple[str, ...] = ()  # commands that go on with it, follow it or put it to use


@dataclass(frozen=True, kw_only=True)
class RunList:
    """The runs below some folders, the last active first."""

    folders: tuple[Path, ...]
    runs: tuple[RunStatus, ...]


@dataclass(frozen=True, kw_only=True)
class Suggested:
    """What would keep the hardware busy: a micro-batch that fits, a batch of them, rates and precision."""

    micro_batch: int  # blocks
    batch_size: int  # blocks in a step
    learning_rates: dict[str, float]  # by optimizer, raised with the root of the batch
    precision: str  # of products, the fastest there
    fills: int | None = None  # blocks at once from which a GPU computes for longer than it takes to launch its kernels


@dataclass(frozen=True, kw_only=True)
class ProductSpeed:
    """How fast this machine multiplies matrices, measured, and how long a step would take at that speed."""

    precision: str
    threads: int
    flops: float  # a second
    seconds_per_step: float | None = None  # reckoned, but for the first, which is as planned; none without data


@dataclass(frozen=True, kw_only=True)
class PlanVsRun:
    """A plan beside what a run really took."""

    run: Path
    steps: int  # that the run has taken
    planned: float  # seconds for so many steps
    took: float
    tokens_planned: int
    tokens: int
    hardware: str | None = None  # that the run was computed on; none where it does not say
    same_hardware: bool | None = None  # whether that is what was planned for; none where it is not known


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What a training would take."""

    recipe: str
    vocabulary: int
    length: int  # of the blocks, in the beginning
    longest: int  # of the blocks, in the end: what the model takes
    blocks: str  # of a step, in words
    batch_size: int
    micro_batch: int
    hardware: str
    devices: int
    precision: str
    parameters: int
    by_optimizer: dict[str, int]  # parameters
    flops_per_token: float  # forward and backward
    flops_per_step: float  # the optimizer's among them
    memory: dict[str, int]  # bytes on each device, by part
    memory_there: int
    checkpoint: int  # bytes
    peak: float  # operations a second, of each device
    utilisation: float | None  # the part of it that steps come to, reckoned or measured; none if neither
    seconds_per_step: float | None
    steps: int | None  # none without a budget or data
    tokens: int | None
    passes: float | None  # over the data
    flops: float | None
    seconds: float | None  # validations among them
    suggested: Suggested
    launches: int | None = None  # kernels that each GPU is given in a step, an estimate; none for processors
    floor: float | None = None  # seconds of a step that this takes at the least, however little there is to compute
    products: tuple[ProductSpeed, ...] = ()  # of this machine: as planned, in the other precision, on other threads
    compared: PlanVsRun | None = None


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
class Demonstrated:
    """The whole journey: what was prepared, trained and measured, and the fills before and after."""

    prepared: Prepared
    trained: Trained
    evaluated: Evaluated
    before: tuple[Filled, ...]
    after: tuple[Filled, ...]
    shown: str  # the sentence in which a policy's hidden tokens were shown


@dataclass(frozen=True, kw_only=True)
class LibraryStatus:
    """A library that unmask needs, as it is installed."""

    name: str
    version: str | None  # none if it is not there
    wanted: str  # as pip takes it: torch>=2.9
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class ExtraStatus:
    """An extra: what it brings, and what is missing of it."""

    name: str
    brings: str
    missing: tuple[str, ...]  # requirements
    command: str  # that installs what is missing


@dataclass(frozen=True, kw_only=True)
class GpuStatus:
    """A GPU that torch finds."""

    name: str
    memory: int | None  # bytes; none where it shares the machine's


@dataclass(frozen=True, kw_only=True)
class Examined:
    """This machine, what is in the way of working on it, and what to do."""

    python: str
    unmask: str
    system: str
    libraries: tuple[LibraryStatus, ...]
    cores: int
    threads: int | None  # that torch computes with; none if it does not load
    memory: int  # bytes
    memory_free: int | None  # none where the system does not say
    folder: Path
    disk_free: int  # bytes
    gpus: tuple[GpuStatus, ...]
    speeds: dict[str, float]  # of matrix products on the processor, operations a second by precision
    extras: tuple[ExtraStatus, ...]
    problems: tuple[str, ...] = ()  # each with its remedy
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CompletionScript:
    """What a shell sources to complete commands."""

    shell: str
    script: str


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A model written for others, and how it compares with the one it was made of."""

    path: Path
    to: str  # onnx, int8 or sentence-transformers
    output: str  # vectors or fills
    bytes: int
    texts: int = 0  # that were compared
    cosine: float | None = None  # of vectors with the model's own: the least, or in 8 bits the mean
    same_fills: float | None = None  # the share of best fills that are the model's own
    accuracy: tuple[float, float] | None = None  # of the model and of the export, on hidden tokens
    speed: float | None = None  # how many times as fast as torch here, taking turns


@dataclass(frozen=True)
class TokenSurprisal:
    """A token of a text, and how little it was expected."""

    token: str  # as the vocabulary spells it
    start: int  # its first character in the text
    end: int  # and the one after its last
    bits: float


@dataclass(frozen=True, kw_only=True)
class Scored:
    """How likely a model finds a text, in nats; more is likelier."""

    text: str
    method: str  # pseudo, with the stride where there is one; likelihood; bound
    score: float  # the sum over its tokens
    per_token: float
    per_word: float
    bits_per_byte: float  # the sum in bits, less is likelier
    tokens: int  # that were scored
    words: int  # as the tokenizer has them
    unknown: int = 0  # tokens that stand for what is not in the vocabulary
    tokens_read: int  # a prefix's and a suffix's among them
    windows: int
    cut: int = 0  # tokens that were not read
    error: float | None = None  # of a bound: the standard error of the sum, which is an average over draws
    surprisals: tuple[TokenSurprisal, ...] = ()  # where asked for


@dataclass(frozen=True, kw_only=True)
class Rescored:
    """Lists of candidates in a new order: judged on half of them, by a weight that was chosen on the other half."""

    path: Path
    method: str  # of the model's scores
    measure: str  # accuracy, or word error rate
    tuned_on: int  # lists: the first, the third, …
    judged_on: int
    weight: float  # of the model's score, in nats; a candidate's own counts once
    before: Figure  # by the candidates' own scores
    after: Figure  # by both
    model_alone: Figure
    oracle: float  # the best that can be chosen
    fewer_errors: Figure  # before minus after, list by list
    choices: tuple[int, ...]  # the place of the chosen candidate in each list, from 0


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


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """A text as a vector, and how much of it was read."""

    text: str
    vector: tuple[float, ...]
    tokens_read: int
    windows: int  # that it was read in
    cut: int = 0  # tokens that were not read, where cutting was chosen


@dataclass(frozen=True, kw_only=True)
class VectorsWritten:
    """A vectors directory: what was embedded, and how."""

    path: Path
    model: Path
    texts: int
    dimensions: int
    pooling: str
    normalised: bool
    whitened: int  # directions that were taken away, beside the mean; 0 is not whitened
    dtype: str
    tokens_read: int
    windows: int
    cut: int
    continued_after: int = 0  # texts that a command which was stopped had embedded
    seconds: float
    next: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Indexed:
    """A search index, made or changed."""

    path: Path
    model: Path
    documents: int
    passages: int
    added: int  # documents, by this command
    removed: int
    dimensions: int
    tuned: bool  # whether the model was tuned for vectors of sentences
    whitened: int  # directions that are taken away, beside the mean; 0 is not whitened
    faiss_recall: float | None = None  # of the ten nearest, on a sample; none where search is exact
    seconds: float
    next: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A passage that answers a query."""

    id: str
    document: str
    passage: int  # its number in the document, from 1
    score: float  # BM25's, a cosine, or the sum of inverted ranks
    ranks: dict[str, int]  # in each way that it was found
    text: str
    matched: tuple[tuple[int, int], ...]  # where words of the query stand in the text


@dataclass(frozen=True, kw_only=True)
class Searched:
    """The best passages for a query, one of each document, best first."""

    query: str
    index: Path
    by: str  # bm25, dense or fused
    tuned: bool  # whether the index's model was tuned for vectors of sentences
    hits: tuple[Hit, ...]


@dataclass(frozen=True, kw_only=True)
class NearPair:
    """Two texts whose vectors point the same way."""

    first: str  # ids
    second: str
    cosine: float
    excerpts: tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class NearTexts:
    """Near neighbours within a corpus, the nearest pairs first."""

    path: Path
    texts: int
    above: float  # the cosine that all pairs have at the least
    total: int  # pairs above it
    crowded: bool  # so many that nearness says nothing
    pairs: tuple[NearPair, ...]  # as many as were to be listed


@dataclass(frozen=True, kw_only=True)
class Revealed:
    """A token that was written, or masked again, on the way to a text."""

    step: int  # from 1
    place: int  # which of the tokens that were to be written, from 0
    token: str | None  # as the vocabulary spells it; none: it was masked again
    confidence: float | None  # what the model gave it, of all that could stand there


@dataclass(frozen=True, kw_only=True)
class Generated:
    """A text that a model wrote, or whose gaps it filled."""

    text: str  # what was given among it
    places: tuple[tuple[int, int], ...]  # where what was written starts and ends in it
    tokens: tuple[str, ...]  # that were written, as the vocabulary spells them
    ended: int | None  # behind how many of them the model wrote the end; none where it wrote all that were asked for
    steps: int  # how often the model was asked
    method: str  # diffusion, masked, causal or spans
    seed: int
    sample: int  # which of those of the same seed, from 0
    trace: tuple[Revealed, ...] = ()  # in the order in which tokens were revealed; with --trace
    note: str = ""  # what to mind


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """What a tuned model says of a text, or of a pair of texts."""

    text: str
    pair: str | None = None
    label: str  # the likeliest
    probability: float  # of it, calibrated
    labels: tuple[str, ...]  # that are said: the likeliest or, of several, all that reach their thresholds
    probabilities: dict[str, float]
    tokens_read: int
    windows: int


@dataclass(frozen=True, kw_only=True)
class JudgedLabel:
    """How well one label is told."""

    label: str
    examples: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, kw_only=True)
class JudgedBaseline:
    """What a simpler way comes to on the same texts."""

    name: str
    accuracy: Figure
    macro_f1: Figure


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """How often one label was said where another one holds."""

    true: str
    said: str
    count: int


@dataclass(frozen=True, kw_only=True)
class SureError:
    """A text that was labelled wrongly, and how sure of it the model was."""

    line: int
    text: str
    pair: str | None
    true: tuple[str, ...]
    said: tuple[str, ...]
    probability: float


@dataclass(frozen=True, kw_only=True)
class Judged:
    """How well a tuned model labels texts that it was neither tuned nor calibrated on."""

    data: Path
    examples: int
    empty: int  # lines without text, left out
    also_in_train: int  # texts that were learnt from, word for word
    accuracy: Figure  # of several labels: all of them right
    macro_f1: Figure
    loss: float  # nats a text, or a decision
    calibration_error: float | None  # the mean gap between how sure it is and how often it is right; none of several
    baselines: tuple[JudgedBaseline, ...]
    labels: tuple[JudgedLabel, ...]
    confusions: tuple[Confusion, ...]  # the most frequent first; none of several labels
    errors: tuple[SureError, ...]  # the twenty surest


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A model tuned to a task, and how well it does."""

    path: Path
    model: Path
    task: str
    start: Path
    labels: tuple[str, ...]
    several: bool  # whether a text may have any number of labels
    fields: dict[str, str | None]  # that the examples were read from
    train: int  # examples learnt from
    dev: int  # examples that chose the moment, the temperature and the thresholds
    parameters: int
    lr: float
    steps: int
    step: int  # of the moment that is exported
    seconds: float
    precision: str
    temperature: float
    figures: dict[str, float]  # on dev
    test: Judged | None = None
    next: tuple[str, ...] = ()  # commands to go on with
    weights_sha256: str


if not TYPE_CHECKING:  # a type checker sees the classes as they stand, and could not follow this
    __all__ = [name for name, value in globals().items() if is_dataclass(value)]
