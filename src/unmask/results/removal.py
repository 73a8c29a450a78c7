"""What became of a document that was read for a data directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class KeptDocument:
    """A document that is in the data."""

    number: int  # among all that were read, from 1
    source: str
    line: int
    split: str  # train or valid
    excerpt: str  # how it begins


@dataclass(frozen=True, kw_only=True)
class RemovedDocument:
    """A document that was left out, and why."""

    number: int  # among all that were read, from 1
    source: str
    line: int
    step: str  # empty, short, rule, duplicate or near-duplicate
    rule: str | None  # its name, of a rule
    value: float | None  # what the rule measured
    limit: float | None  # … and what it allows
    detail: str | None  # what the rule says where it does not measure
    similarity: float | None  # of a duplicate with its twin: the exact Jaccard similarity of their shingles
    twin: KeptDocument | None  # the one that was kept instead
    bytes: int  # of its clean text
    excerpt: str  # how it begins


@dataclass(frozen=True, kw_only=True)
class UnreadLine:
    """What could not be read at all."""

    source: str
    line: int  # 0: the whole file
    reason: str
    excerpt: str


@dataclass(frozen=True, kw_only=True)
class Fate:
    """What became of the documents at a place."""

    path: Path  # of the data directory
    asked: str
    removed: tuple[RemovedDocument, ...]
    kept: tuple[KeptDocument, ...]
    unread: tuple[UnreadLine, ...]
