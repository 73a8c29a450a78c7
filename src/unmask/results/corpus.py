"""What came of preparing text."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from unmask.results.figures import Figure


@dataclass(frozen=True, kw_only=True)
class Decontaminated:
    """What documents had of held-out items: the leak, before the documents that contain one were left out and after."""

    items: int
    too_short: int  # items of fewer than five words, which are not looked for
    removed: int  # documents that contain an item, which are left out
    touched: int  # documents that share eight words in a row with one, and stay
    before: float  # the share of the items' runs of eight words that stood in the documents
    after: float  # … and that stands in those that stay


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A data directory: what was read, what was left out and why, and what is there now."""

    path: Path
    files: int
    bytes_read: int
    counts: dict[str, int]  # read, malformed, empty, short, duplicate, train, valid, in that order
    earlier: dict[str, int] = field(default_factory=dict)  # documents that were there before, by split, with --add
    tokenizer: str
    vocabulary: int
    tokens: dict[str, int]  # by split
    spans: dict[str, dict[str, int]] = field(default_factory=dict)  # by split and kind, where some are marked
    pages_without_text: int = 0  # of PDF files: scanned, or blank
    formats: dict[str, int] = field(default_factory=dict)  # how many files were of each, most first
    encodings: dict[str, int] = field(default_factory=dict)  # other than UTF-8: how many files were read in them
    languages: tuple[str, ...] = ()  # by the names of files or folders, if they are told by these
    passed_over: dict[str, int] = field(default_factory=dict)  # files that were not read, by suffix or why, most first
    dropped: dict[str, int] = field(default_factory=dict)  # documents that each rule left out, most first
    changed: dict[str, int] = field(default_factory=dict)  # documents that each rule changed, most first
    languages_told: dict[str, int] = field(default_factory=dict)  # documents in each, as their text tells, most first
    decontaminated: Decontaminated | None = None  # where there are held-out items to look for
    near_duplicates: str | None = None  # how many of texts made to be such were caught, where they are looked for
    leak: str | None = None  # how much of the held-out text stands in the training text, where it was measured
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


@dataclass(frozen=True, kw_only=True)
class LanguageTokens:
    """What a tokenizer makes of the documents in one language."""

    language: str
    bytes: int
    tokens_per_byte: float
    tokens_per_character: float
    unknown: float  # the share of tokens that stand for what the vocabulary has no piece for


@dataclass(frozen=True, kw_only=True)
class VocabularySize:
    """A vocabulary of one size: what it makes of held-out text, and what a model with it costs."""

    vocabulary: int
    current: bool = False  # the one that the data has
    tokens_per_byte: float
    tokens_per_character: float
    unknown: float  # the share of tokens that stand for what the vocabulary has no piece for
    parameters: int  # of the model
    operations_per_byte: float  # of text, in training
    bits_per_byte: Figure | None = None  # of held-out text, where models were trained
    steps: int | None = None  # that it was trained for, with as much work as the others
    languages: tuple[LanguageTokens, ...] = ()  # where they are kept; the one with most tokens for its bytes first


@dataclass(frozen=True, kw_only=True)
class TokenizerSweep:
    """Vocabularies of several sizes on the same held-out text."""

    data: Path
    kind: str  # wordpiece, bpe or unigram
    recipe: str  # whose model the costs are of
    documents: int  # held out, that were measured on
    bytes: int
    sizes: tuple[VocabularySize, ...]  # the data's own, then ascending
    cheapest: int  # the vocabulary with the fewest operations for a byte
    notes: tuple[str, ...] = ()  # which sizes could not be had, and why
    seconds: float


@dataclass(frozen=True)
class RuleExample:
    """A document that a rule would drop, or has changed: where it stands, what was measured, and how it begins."""

    source: str
    line: int
    value: float | str | None  # none of a rule that changes
    excerpt: str


@dataclass(frozen=True, kw_only=True)
class RuleTrial:
    """What one rule would do to a sample."""

    name: str
    measures: str  # in words; of a rule that drops by a figure
    low: float | None = None  # below which it drops
    high: float | None = None  # above which it drops
    dropped: int = 0
    only: int = 0  # of these, documents that no other rule would drop
    changed: int = 0  # documents of which it would cut or mask something
    examples: tuple[RuleExample, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TrainedSample:
    """What a model learnt from what a rule leaves of a sample."""

    name: str  # of the rule, or that there was none, or all
    documents: int  # that it was trained on
    bytes: int
    steps: int
    bits_per_byte: Figure  # on held-out documents that all rules keep
    beyond_no_rule: Figure | None = (
        None  # so many more than without rules, document by document; none of that one itself
    )


@dataclass(frozen=True, kw_only=True)
class RulesTried:
    """What the rules would do to a sample of a corpus; nothing was written."""

    sources: tuple[str, ...]
    documents: int  # of the sample
    bytes: int
    dropped: int  # documents that any rule would drop
    dropped_bytes: int
    rules: tuple[RuleTrial, ...]  # most first
    languages: dict[str, int] = field(default_factory=dict)  # documents in each, most first, where they are told
    trained: tuple[TrainedSample, ...] = ()  # without rules, with all, and with some of them alone, where asked for
    measured_on: int = 0  # held-out documents
    seconds: float
