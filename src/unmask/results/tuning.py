"""What came of tuning, and what tuned models say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmask.results.answering import Answered, JudgedAnswers
from unmask.results.figures import Figure
from unmask.results.retrieval import Expanded, JudgedRetrieval, JudgedSimilarity, Relevance, Similarity
from unmask.results.tagging import JudgedTags, Tagged


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """What a tuned model says of a text, or of a pair of texts."""

    text: str
    pair: str | None = None
    label: str  # the likeliest
    probability: float  # of it, calibrated
    labels: tuple[str, ...]  # that are said: the likeliest or, of several, all that reach their thresholds
    probabilities: dict[str, float]
    label_set: tuple[str, ...] | None = None  # that cannot be ruled out, of a model that was tuned with sets
    tokens_read: int
    windows: int


Prediction = Predicted | Tagged | Answered | Similarity | Relevance | Expanded  # what a tuned model says, by its task


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
class Overlap:
    """How much of held-out texts is in what a model has learnt from, labelled examples or text."""

    part: str  # of the held-out texts: dev or test
    source: str  # train, dev (of test texts), or what a run before it calls its text
    path: Path | None = None
    known: bool  # else nobody can say: the text is gone, or no run of ours made the model
    texts: int = 0  # that were looked for
    exact: int = 0  # with the same words as an example
    near: int = 0  # nearly the same as an example, and not exactly
    runs: int = 0  # with half or more of their runs of eight words there
    touched: int = 0  # with one such run or more
    too_short: int = 0  # of fewer than five words, which runs say nothing of


@dataclass(frozen=True, kw_only=True)
class Judged:
    """How well a tuned model labels texts that it was neither tuned nor calibrated on."""

    data: Path
    examples: int
    empty: int  # lines without text, left out
    accuracy: Figure  # of several labels: all of them right
    macro_f1: Figure
    leaked: int = 0  # texts that were learnt from, exactly, nearly or in runs of words
    clean_accuracy: Figure | None = None  # without those
    clean_macro_f1: Figure | None = None
    loss: float  # nats a text, or a decision
    calibration_error: float | None  # the mean gap between how sure it is and how often it is right; none of several
    baselines: tuple[JudgedBaseline, ...]
    labels: tuple[JudgedLabel, ...]
    confusions: tuple[Confusion, ...]  # the most frequent first; none of several labels
    errors: tuple[SureError, ...]  # the twenty surest
    doubtful: tuple[SureError, ...] = ()  # the examples whose own label is the most doubtful, at most 20
    set_coverage: Figure | None = None  # texts whose label is in its set, where there are sets
    set_size: float | None = None  # labels in a set, on average
    chosen_by: str = "accuracy"  # the figure that chooses: accuracy or, of several labels, macro_f1

    @property
    def headline(self) -> Figure:
        """The figure that dev chooses by."""
        figure: Figure = getattr(self, self.chosen_by)
        return figure

    @property
    def headline_name(self) -> str:
        """What it is called."""
        return {"accuracy": "accuracy", "macro_f1": "macro F1"}[self.chosen_by]

    @property
    def clean_headline(self) -> Figure | None:
        """The same without the texts that leaked, where some did."""
        figure: Figure | None = getattr(self, f"clean_{self.chosen_by}")
        return figure


@dataclass(frozen=True, kw_only=True)
class TunedTrial:
    """One of several runs for a model: another learning rate, another seed, or a fold."""

    name: str
    path: Path
    lr: float
    seed: int
    dev: float  # the figure that chooses
    test: float | None = None  # the same figure on test, where it was measured


@dataclass(frozen=True, kw_only=True)
class SeedSpread:
    """How far a figure on test depends on the seed."""

    seeds: int
    mean: float
    deviation: float  # standard deviation from seed to seed
    least: float
    most: float


AnyJudged = Judged | JudgedTags | JudgedAnswers | JudgedSimilarity | JudgedRetrieval  # how well, by the task


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A model tuned to a task, and how well it does."""

    path: Path
    model: Path
    task: str
    start: Path
    labels: tuple[str, ...]  # where labels are told apart
    several: bool  # whether a text may have any number of them
    fields: dict[str, str | None]  # that the examples were read from
    train: int  # examples learnt from
    dev: int  # examples that chose the moment, the temperature and the thresholds
    parameters: int
    lr: float
    steps: int
    step: int  # of the moment that is exported
    seconds: float
    precision: str
    temperature: float | None  # where probabilities are calibrated
    figures: dict[str, float]  # on dev
    overlaps: tuple[Overlap, ...] = ()  # of dev and test with what was learnt from
    measured_before: int = 0  # other weights that were measured on this test set
    test: AnyJudged | None = None
    test_sha256: str | None = None  # of the test file
    folds: AnyJudged | None = None  # every example judged by a model that has not seen it
    trials: tuple[TunedTrial, ...] = ()  # where several were run
    spread: SeedSpread | None = None  # where there were several seeds, and test examples
    next: tuple[str, ...] = ()  # commands to go on with
    weights_sha256: str


@dataclass(frozen=True, kw_only=True)
class TunedContender:
    """A tuned run among several, on the same test examples."""

    path: Path
    model: Path  # that it started from
    score: Figure  # the mean over examples
    parameters: int


@dataclass(frozen=True, kw_only=True)
class SeedDifference:
    """How much better one way is than another over seeds that both share, and with them order, dropout and head."""

    seeds: tuple[int, ...]
    difference: Figure  # of the test figure that chooses: its mean, with the interval of a paired t
    narrower: float | None  # how many times as wide the interval were, had the seeds not been the same


@dataclass(frozen=True, kw_only=True)
class TunedDifference:
    """How much better one tuned run is than another, example by example."""

    run: Path
    than: Path
    difference: Figure
    only_this: int  # examples that this one does better
    only_other: int  # examples that the other does better
    p: float  # how likely so large a difference is by chance
    narrower: float | None  # how many times as wide the interval were, had the examples not been the same
    over_seeds: SeedDifference | None = None  # where both were tuned with several seeds, two of them the same


@dataclass(frozen=True, kw_only=True)
class TunedComparison:
    """Tuned runs beside each other on one test set."""

    task: str
    measure: str  # what the score of an example is: accuracy, nDCG@10, …
    data: Path
    examples: int
    contenders: tuple[TunedContender, ...]
    differences: tuple[TunedDifference, ...]  # of each to the first
