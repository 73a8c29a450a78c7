"""Classification by vectors as a job: an encoder that learns from pairs of texts, and a regression on its vectors.

In: an encoder and a few labelled texts. Out: a run directory whose `model/` is the encoder as transformers loads it,
with the regression in `head.safetensors` beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

from transformers import MODEL_MAPPING, AutoModel, PreTrainedConfig, PreTrainedModel

from unmask.objectives.label_pairs import LabelPairs
from unmask.tasks.classify.classifier import ClassifyCard
from unmask.tasks.classify.learning import Classifying
from unmask.tasks.few.export import export_few
from unmask.tasks.few.vector_model import PAIRS, VectorModel, VectorValidation
from unmask.tasks.start import HeadKind, start_config


@dataclass(frozen=True)
class Pairing(Classifying):
    """A few labelled examples and the encoder that learns their pairs."""

    head = HeadKind(AutoModel, MODEL_MAPPING, "encoder")

    @cached_property
    def config(self) -> PreTrainedConfig:
        """The configuration of the encoder as it is."""
        return start_config(self.start, self.head)

    @cached_property
    def objective(self) -> LabelPairs:  # type: ignore[override]
        """Pairs of the examples."""
        return LabelPairs()

    @cached_property
    def held_out(self) -> VectorValidation:
        """Measures a regression on the vectors of the examples."""
        plain = super().held_out
        return VectorValidation(plain.rows, plain.targets, False, self.batches.rows, self.batches.targets)

    def learner(self, *, fresh: bool = True) -> PreTrainedModel:
        """The encoder before its first step."""
        return VectorModel(super().learner(fresh=fresh), len(self.labels))

    @property
    def card(self) -> ClassifyCard:
        """What asking the model takes, before it is calibrated."""
        return replace(super().card, task=PAIRS)

    def exporter(self) -> Callable[..., None]:
        """Writes the encoder and the regression, calibrated on what is held out."""
        how = "by a logistic regression on its vectors, which pairs of the examples have taught"
        return partial(
            export_few,
            card=self.card,
            held_out=self.held_out,
            tokenizer=self.reader.tokenizer,
            start=self.start,
            how=how,
        )

    @property
    def uses(self) -> tuple[str, ...]:
        """transformers' pipeline knows no regression."""
        return super().uses[:1]
