"""A masked language model that labels: the label whose words are likeliest in the blanks of its patterns.

In: rows with masks. Out: a score for each label, which the softmax over labels makes a probability:

    z_c = mean over the words of c of  1/n Σ_k log p(piece k of the word at mask k)

Rows have as many masks as the longest word has pieces; a shorter one is judged at the first of them (Schick & Schütze
2021b). Over the rows of a text, which are its patterns and windows, the mean is taken. To everything else this is a
classifier like any other: trained by the same loss, measured, calibrated and asked by the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM, PreTrainedModel

from unmask.models.sparse import logits_at
from unmask.records import Reals
from unmask.results import Predicted
from unmask.tasks.classify.classifier import Classifier, ClassifyCard
from unmask.tasks.few.labelling_model import LabellingModel, RowLogits
from unmask.tasks.few.pattern_rows import PatternReader
from unmask.tasks.few.patterns import LabelPrompt
from unmask.tasks.text_rows import TextRows
from unmask.tasks.tuned_model import read_card

PATTERNS = "patterns"  # the task of its card


class PatternModel(LabellingModel):
    """A masked language model with words for labels."""

    pieces: Tensor
    shares: Tensor
    owners: Tensor

    def __init__(self, inner: PreTrainedModel, mask: int, words: Sequence[tuple[int, tuple[int, ...]]]) -> None:
        super().__init__(inner, max(label for label, _ in words) + 1)
        self.mask, self.masks = mask, most_pieces(words)
        pieces, shares = np.zeros((2, len(words), self.masks))
        for number, (_, ids) in enumerate(words):
            pieces[number, : len(ids)], shares[number, : len(ids)] = ids, 1 / len(ids)
        device = inner.device
        self.register_buffer("pieces", torch.tensor(pieces, dtype=torch.long, device=device), persistent=False)
        self.register_buffer("shares", torch.tensor(shares, dtype=torch.float32, device=device), persistent=False)
        owners = torch.tensor([label for label, _ in words], device=device)
        self.register_buffer("owners", owners, persistent=False)

    def forward(self, input_ids: Tensor, **inputs: Any) -> RowLogits:
        """R C: a score for each label of each row."""
        positions = (input_ids == self.mask).flatten().nonzero().squeeze(1)
        logits = logits_at(self.inner, positions, input_ids=input_ids, **inputs)
        said = logits.float().log_softmax(-1).view(len(input_ids), self.masks, -1)  # R K V
        places = torch.arange(self.masks, device=said.device)
        words = (said[:, places, self.pieces] * self.shares).sum(-1)  # R W, from R W K
        sums = words.new_zeros(len(words), int(self.owners.max()) + 1).index_add(1, self.owners, words)
        return RowLogits(sums / torch.bincount(self.owners))


def most_pieces(words: Sequence[tuple[int, tuple[int, ...]]]) -> int:
    """Tokens of the longest word: so many masks a row has."""
    return max(len(ids) for _, ids in words)


@dataclass(frozen=True, kw_only=True)
class PatternCard(ClassifyCard):
    """What a masked language model needs to be asked for labels."""

    patterns: tuple[str, ...]
    verbalisers: dict[str, tuple[str, ...]]

    @property
    def prompt(self) -> LabelPrompt:
        """The patterns and the words of labels."""
        return LabelPrompt(self.patterns, self.verbalisers)


class PatternClassifier(Classifier):
    """A masked language model that labels texts by patterns."""

    card: PatternCard

    def __init__(self, path: Path, *, device: str | None = None, precision: str = "float32") -> None:
        def make(values: dict[str, Any]) -> PatternCard:
            words = {label: tuple(each) for label, each in values["verbalisers"].items()}
            lists = {name: tuple(values[name]) for name in ("labels", "patterns")}
            return PatternCard(**{**values, **lists, "verbalisers": words})

        self.directory, self.card = read_card(path, PATTERNS, make)
        self.load_weights(AutoModelForMaskedLM, device, precision)
        tokenizer, words = self.reader.tokenizer, self.card.prompt.pieces(self.reader.tokenizer)
        self.reader = PatternReader(tokenizer, self.card.length, self.card.patterns, most_pieces(words))
        self.model = PatternModel(self.model, self.reader.vocabulary.mask, words).train(False)

    def results(
        self, rows: TextRows, probabilities: Reals, texts: Sequence[str], pairs: Sequence[str] | None = None
    ) -> list[Predicted]:
        """What is said of each text; every pattern reads the same windows."""
        said = super().results(rows, probabilities, texts, pairs)
        return [replace(each, windows=-(-each.windows // len(self.card.patterns))) for each in said]
