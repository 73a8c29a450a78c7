"""Classification by patterns as a job: a masked language model that goes on filling blanks, and learns which words.

In: a masked language model, a few labelled texts, patterns and the words of labels. Out: a run directory whose `model/`
is an ordinary masked language model of transformers; its `task.json` has the patterns, which `predict` asks by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import Any

from transformers import MODEL_FOR_MASKED_LM_MAPPING, AutoModelForMaskedLM, PreTrainedConfig, PreTrainedModel

from unmask.tasks.classify.learning import Classifying
from unmask.tasks.few.export import export_few
from unmask.tasks.few.pattern_model import PATTERNS, PatternCard, PatternModel, most_pieces
from unmask.tasks.few.pattern_rows import PatternReader
from unmask.tasks.few.patterns import LabelPrompt
from unmask.tasks.start import HeadKind, start_config
from unmask.tokens.tokenizer.load import load_tokenizer


@dataclass(frozen=True)
class Prompting(Classifying):
    """A few labelled examples and the masked language model that learns them by patterns."""

    prompt: LabelPrompt = field(default_factory=lambda: LabelPrompt((), {}))

    head = HeadKind(AutoModelForMaskedLM, MODEL_FOR_MASKED_LM_MAPPING, "masked language model")

    @cached_property
    def config(self) -> PreTrainedConfig:
        """The configuration of the model as it is."""
        return start_config(self.start, self.head)

    @property
    def same_labels(self) -> bool:
        """The head goes on, whatever the labels are."""
        return True

    @cached_property
    def words(self) -> list[tuple[int, tuple[int, ...]]]:
        """The tokens of the words of labels."""
        return self.prompt.pieces(load_tokenizer(self.start))

    @cached_property
    def reader(self) -> PatternReader:
        """The tokenizer with the patterns."""
        plain = super().reader
        return PatternReader(plain.tokenizer, plain.length, self.prompt.patterns, most_pieces(self.words))

    def learner(self, *, fresh: bool = True) -> PreTrainedModel:
        """The masked language model before its first step, with the words of labels."""
        return PatternModel(super().learner(fresh=fresh), self.reader.vocabulary.mask, self.words)

    @property
    def card(self) -> PatternCard:
        """What asking the model takes, before it is calibrated."""
        plain = super().card
        values = {each.name: getattr(plain, each.name) for each in fields(plain)}
        words = dict(self.prompt.verbalisers)
        return PatternCard(**{**values, "task": PATTERNS}, patterns=self.prompt.patterns, verbalisers=words)

    def exporter(self) -> Callable[..., None]:
        """Writes the masked language model, calibrated on what is held out."""
        how = "by the words that fill the blanks of its patterns"
        return partial(
            export_few,
            card=self.card,
            held_out=self.held_out,
            tokenizer=self.reader.tokenizer,
            start=self.start,
            how=how,
        )

    @property
    def recorded(self) -> dict[str, Any]:
        """The patterns and words beside the examples."""
        words = {label: list(each) for label, each in self.prompt.verbalisers.items()}
        return {**super().recorded, "patterns": list(self.prompt.patterns), "verbalisers": words}

    @property
    def uses(self) -> tuple[str, ...]:
        """transformers' pipeline knows no patterns."""
        return super().uses[:1]
