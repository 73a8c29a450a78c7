"""A model that learnt a few labels without a head of transformers' own, as a directory.

In: a learner, and what was held out, on which it is calibrated. Out: `model/`, whole or not there: the model inside as
stock transformers loads it, with what `predict` needs beside it.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

from torch.nn import Module
from transformers import PreTrainedTokenizerFast

from unmask.files import whole_directory
from unmask.models.config import quiet_transformers
from unmask.records import Reals
from unmask.tasks.classify.calibration import fit_sets, probabilities_of
from unmask.tasks.classify.classifier import ClassifyCard
from unmask.tasks.classify.export import calibrated
from unmask.tasks.classify.validation import LabelledValidation
from unmask.tasks.few.labelling_model import LabellingModel
from unmask.tasks.few.vector_model import VectorModel, VectorValidation, save_head
from unmask.tokens.tokenizer.load import save_tokenizer
from unmask.training.job import FinishedRun


def export_few(
    learner: Module,
    finished_run: FinishedRun,
    *,
    card: ClassifyCard,
    held_out: LabelledValidation,
    tokenizer: PreTrainedTokenizerFast,
    start: Path,
    how: str,
) -> None:
    """Write the model, its tokenizer, its README and what asking it takes, calibrated on what is held out."""
    assert isinstance(learner, LabellingModel)
    if isinstance(learner, VectorModel):
        assert isinstance(held_out, VectorValidation)
        held_out.fit_head(learner)
    card = modest(calibrated(card, learner, held_out), held_out.logits(learner), held_out.targets)
    with whole_directory(finished_run.path / "model") as aside:
        with quiet_transformers():
            learner.inner.save_pretrained(aside)
        if isinstance(learner, VectorModel):
            save_head(learner, aside)
        tokenizer = copy.deepcopy(tokenizer)
        tokenizer.model_max_length = card.length
        save_tokenizer(tokenizer, aside)
        card.write(aside)
        (aside / "README.md").write_text(few_readme(card, start, finished_run, how), encoding="utf-8")


def modest(card: ClassifyCard, logits: Reals, targets: Reals) -> ClassifyCard:
    """The card with a temperature of 1 at the least: a few texts cannot show that a model is surer than it says."""
    if card.temperature >= 1:
        return card
    least = None if card.sets is None else fit_sets(probabilities_of(logits, several=False), targets, card.sets)
    return replace(card, temperature=1.0, least=least)


def few_readme(card: ClassifyCard, start: Path, finished_run: FinishedRun, how: str) -> str:
    """What the model was made of, and how it is asked."""
    names = ", ".join(f"`{label}`" for label in card.labels)
    return f"""---
library_name: transformers
tags: [unmask, classification, few-shot]
---
# {start.parent.name if start.name == "model" else start.name}, tuned to classify on few examples

It tells {len(card.labels)} labels ({names}) apart {how}. Tuned by unmask {finished_run.description["unmask"]}, \
seed {finished_run.description["seed"]}; held-out accuracy {finished_run.figures["accuracy"]:.1%}, on as few texts as \
it learnt from.

`unmask predict` labels texts with it; what that takes is in `task.json`. transformers loads the model itself, and \
knows nothing of labels.
"""
