"""A tuned model as a directory that stock transformers loads offline, with what asking it takes beside it.

In: a learner, and what was held out, on which it is calibrated. Out: `model/`, whole or not there, with a card.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from torch.nn import Module
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from unmask.tasks.classify.calibration import choose_thresholds, fit_sets, fit_temperature, probabilities_of
from unmask.tasks.classify.classifier import ClassifyCard
from unmask.tasks.classify.validation import LabelledValidation
from unmask.tasks.write_model import write_tuned_model
from unmask.training.job import FinishedRun

SHOWN = 20  # labels that are named


def export_classifier(
    learner: Module,
    finished_run: FinishedRun,
    *,
    card: ClassifyCard,
    held_out: LabelledValidation,
    tokenizer: PreTrainedTokenizerFast,
    start: Path,
) -> None:
    """Write the model, its tokenizer, its README and what asking it takes, calibrated on what is held out."""
    assert isinstance(learner, PreTrainedModel)
    card = calibrated(card, learner, held_out)
    write_tuned_model(learner, finished_run, card, tokenizer, classifier_readme(card, start, finished_run))


def calibrated(card: ClassifyCard, learner: PreTrainedModel, held_out: LabelledValidation) -> ClassifyCard:
    """The card with the temperature and the thresholds that serve the held-out texts best."""
    logits = held_out.logits(learner)
    temperature = fit_temperature(logits, held_out.targets, several=card.several)
    if not card.several:
        probabilities = probabilities_of(logits, several=False, temperature=temperature)
        least = None if card.sets is None else fit_sets(probabilities, held_out.targets, card.sets)
        return replace(card, temperature=temperature, least=least)
    probabilities = probabilities_of(logits, several=True, temperature=temperature)
    return replace(
        card, temperature=temperature, thresholds=tuple(choose_thresholds(probabilities, held_out.targets).tolist())
    )


def classifier_readme(card: ClassifyCard, start: Path, finished_run: FinishedRun) -> str:
    """What the model was made of, what it knows and how well it does on what was held out."""
    description, figures = finished_run.description, finished_run.figures
    names = ", ".join(f"`{label}`" for label in card.labels[:SHOWN])
    others = f" and {len(card.labels) - SHOWN} more" if len(card.labels) > SHOWN else ""
    thresholds = "; each label has its own threshold" if card.several else ""
    return f"""---
library_name: transformers
pipeline_tag: text-classification
tags: [unmask, classification]
---
# {start.parent.name if start.name == "model" else start.name}, tuned to classify

Tuned by unmask {description["unmask"]}: {len(card.labels)} labels ({names}{others}), \
{"any number of them" if card.several else "one"} for each {"pair of texts" if card.pair_field else "text"}.

| | |
|---|---|
| parameters | {finished_run.parameters:,} |
| steps | {finished_run.steps:,}, exported as of step {finished_run.step:,} |
| seed | {description["seed"]} |
| held-out accuracy | {figures["accuracy"]:.1%} |
| held-out macro F1 | {figures["macro_f1"]:.1%} |
| temperature | {card.temperature:.3f}{thresholds} |

```python
from transformers import pipeline

pipeline("text-classification", model=".")("A text.")
```

transformers reads at most {card.length} tokens and knows nothing of `task.json`; `unmask predict` reads longer texts in
windows, and divides logits by the temperature above: probabilities of the pipeline are not calibrated.
"""
