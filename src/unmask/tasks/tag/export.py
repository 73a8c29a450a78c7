"""A tagger as a directory that stock transformers loads offline, with what asking it takes beside it.

In: a learner, and what was held out, on which it is calibrated. Out: `model/`, whole or not there, with a card.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from torch.nn import Module
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from unmask.tasks.classify.calibration import fit_temperature
from unmask.tasks.tag.tagger import TagCard
from unmask.tasks.tag.validation import TaggedValidation
from unmask.tasks.write_model import write_tuned_model
from unmask.training.job import FinishedRun

SHOWN = 20  # labels that are named


def export_tagger(
    learner: Module,
    finished_run: FinishedRun,
    *,
    card: TagCard,
    held_out: TaggedValidation,
    tokenizer: PreTrainedTokenizerFast,
    start: Path,
) -> None:
    """Write the model, its tokenizer, its README and what asking it takes, calibrated on what is held out."""
    assert isinstance(learner, PreTrainedModel)
    card = replace(card, temperature=tag_temperature(learner, held_out))
    write_tuned_model(learner, finished_run, card, tokenizer, tagger_readme(card, start, finished_run))


def tag_temperature(learner: PreTrainedModel, held_out: TaggedValidation) -> float:
    """The temperature at which the tags of the held-out words are likeliest."""
    logits = held_out.logits(learner)
    judged = held_out.words.judged
    targets = np.eye(logits.shape[1])[held_out.targets[judged]]
    return fit_temperature(logits[judged], targets, several=False)


def tagger_readme(card: TagCard, start: Path, finished_run: FinishedRun) -> str:
    """What the model was made of, what it knows and how well it does on what was held out."""
    description, figures = finished_run.description, finished_run.figures
    names = ", ".join(f"`{label}`" for label in card.labels[:SHOWN])
    others = f" and {len(card.labels) - SHOWN} more" if len(card.labels) > SHOWN else ""
    return f"""---
library_name: transformers
pipeline_tag: token-classification
tags: [unmask, token-classification]
---
# {start.parent.name if start.name == "model" else start.name}, tuned to find entities

Tuned by unmask {description["unmask"]}: {len(card.labels)} kinds of entities ({names}{others}), with tags in IOB2 at \
the first piece of each word.

| | |
|---|---|
| parameters | {finished_run.parameters:,} |
| steps | {finished_run.steps:,}, exported as of step {finished_run.step:,} |
| seed | {description["seed"]} |
| held-out F1 of entities | {figures["f1"]:.1%} |
| temperature | {card.temperature:.3f} |

```python
from transformers import pipeline

pipeline("token-classification", model=".", aggregation_strategy="first")("A text.")
```

transformers reads at most {card.length} tokens, takes the likeliest tag of each word alone and knows nothing of
`task.json`; `unmask predict` reads longer texts in windows and takes the likeliest of all well-formed tags together.
"""
