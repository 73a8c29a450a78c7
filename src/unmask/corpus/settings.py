"""What counts as a document, and how much of the corpus is held out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from unmask.corpus.read.encodings import UTF8, check_encoding
from unmask.corpus.read.find import WHOLE, check_html
from unmask.errors import BadInput

if TYPE_CHECKING:
    from unmask.corpus.rules.settings import RuleSettings


@dataclass(frozen=True, kw_only=True)
class CollectConfig:
    """What counts as a document, and how much of the corpus is held out."""

    field: str = "text"  # where JSONL, CSV and parquet have their text
    min_characters: int = 20  # shorter documents are left out
    valid: float = 0.01  # the fraction held out for validation
    encoding: str = UTF8  # of what is not UTF-8 among text, JSONL, CSV, Markdown and HTML
    rules: RuleSettings | None = None  # what else changes texts, or leaves them out
    max_losses: float = 0.01  # the share of documents that may be unreadable, and `FEW` always
    leaks: bool = False  # measure how much of the held-out text stands in the training text
    html: str = WHOLE  # what is read of HTML pages: all of their prose, or the main text
    near_duplicates: float | None = None  # the similarity from which on a document is left out; none: only equal ones

    def __post_init__(self) -> None:
        if not 0 < self.valid < 1:
            raise BadInput(f"valid is {self.valid}: give a fraction between 0 and 1, such as 0.01")
        if self.min_characters < 1:
            raise BadInput(f"min_characters is {self.min_characters}: give 1 or more")
        if not 0 <= self.max_losses <= 1:
            raise BadInput(f"max_losses is {self.max_losses}: give a fraction between 0 and 1, such as 0.01")
        if self.near_duplicates is not None and not 0.5 <= self.near_duplicates <= 1:
            raise BadInput(
                f"near_duplicates is {self.near_duplicates}: give a similarity between 0.5 and 1, such as 0.8"
            )
        check_encoding(self.encoding)
        check_html(self.html)

    def of_documents(self) -> dict[str, Any]:
        """What decides over a document alone: a part that was read under the same of these need not be read again."""
        rules = asdict(self.rules) if self.rules is not None else None
        near = self.near_duplicates is not None  # whatever the similarity, the keys are the same
        return {
            "field": self.field,
            "min_characters": self.min_characters,
            "rules": rules,
            "near": near,
            "html": self.html,
        }
