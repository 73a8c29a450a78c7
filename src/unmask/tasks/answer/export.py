"""A model that answers as a directory that stock transformers loads offline, with what asking it takes beside it.

In: a learner, and what was held out, on which threshold and temperature are chosen. Out: `model/`, whole or not there,
with a card.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from torch.nn import Module
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from unmask.tasks.answer.answerer import AnswerCard
from unmask.tasks.answer.validation import AnswerValidation, temperature_for, threshold_for
from unmask.tasks.write_model import write_tuned_model
from unmask.training.job import FinishedRun


def export_answerer(
    learner: Module,
    finished_run: FinishedRun,
    *,
    card: AnswerCard,
    held_out: AnswerValidation,
    tokenizer: PreTrainedTokenizerFast,
    start: Path,
) -> None:
    """Write the model, its tokenizer, its README and what asking it takes, calibrated on what is held out."""
    assert isinstance(learner, PreTrainedModel)
    scores = held_out.all_scores(learner)
    threshold = threshold_for(scores) if held_out.nullable else None
    card = replace(card, threshold=threshold, temperature=temperature_for(scores, threshold))
    write_tuned_model(learner, finished_run, card, tokenizer, answerer_readme(card, start, finished_run))


def answerer_readme(card: AnswerCard, start: Path, finished_run: FinishedRun) -> str:
    """What the model was made of and how well it does on what was held out."""
    description, figures = finished_run.description, finished_run.figures
    none = "always gives an answer" if card.threshold is None else f"none above odds of {card.threshold:.3f} nats"
    return f"""---
library_name: transformers
pipeline_tag: question-answering
tags: [unmask, question-answering]
---
# {start.parent.name if start.name == "model" else start.name}, tuned to answer questions

Tuned by unmask {description["unmask"]}: the stretch of a context that answers a question.

| | |
|---|---|
| parameters | {finished_run.parameters:,} |
| steps | {finished_run.steps:,}, exported as of step {finished_run.step:,} |
| seed | {description["seed"]} |
| held-out F1 of words | {figures["f1"]:.1%} |
| held-out exact match | {figures["exact"]:.1%} |
| no answer | {none} |
| temperature | {card.temperature or 1.0:.3f}, of the odds that an answer is right |

```python
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

model, tokenizer = AutoModelForQuestionAnswering.from_pretrained("."), AutoTokenizer.from_pretrained(".")
answer = model(**tokenizer("A question?", "A context.", return_tensors="pt"))
print(answer.start_logits.argmax(), answer.end_logits.argmax())  # tokens; the first of a row stands for no answer
```

transformers reads at most {card.length} tokens and knows nothing of `task.json`; `unmask predict` reads longer contexts
in windows, ranks the stretches of all windows together and knows when there is no answer.
"""
