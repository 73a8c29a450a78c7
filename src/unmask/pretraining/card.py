"""A trained model as a directory that stock transformers loads offline, with a card that says what it is.

In: a model, its tokenizer and what the run knows. Out: `model/`, whole or not there.
"""

from __future__ import annotations

from copy import deepcopy
from math import isfinite
from pathlib import Path

from safetensors.torch import save_file
from transformers import PreTrainedModel

from unmask.files import whole_directory
from unmask.models.config import quiet_transformers
from unmask.objectives.text import Card, Export
from unmask.pretraining.settings import PretrainSettings, Recipe
from unmask.tokens.example import BLANK, NEUTRAL
from unmask.tokens.store.dataset import Dataset
from unmask.training.job import FinishedRun

WEIGHTS = "model.safetensors"


def export_model(export: Export, dataset: Dataset, out: Path, card: str, *, length: int) -> None:
    """Write the model, what belongs beside it, its tokenizer, which allows rows of `length`, and its card."""
    with whole_directory(out) as aside:
        with quiet_transformers():
            export.model.save_pretrained(aside)
        for name, tensors in export.tensors.items():
            save_file({key: tensor.detach().contiguous() for key, tensor in tensors.items()}, aside / name)
        dataset.write_tokenizer(aside, length)
        (aside / "README.md").write_text(card, encoding="utf-8")


def export_shape(model: PreTrainedModel | None, dataset: Dataset, out: Path, *, length: int) -> None:
    """Write what a masked model is like without its weights, and its tokenizer; of none, nothing."""
    if model is None:
        return
    config = deepcopy(model.config)
    config.architectures = [type(model).__name__.removeprefix("FSDP")]  # what shards a model puts before its name
    with whole_directory(out) as aside, quiet_transformers():
        config.save_pretrained(aside)
        dataset.write_tokenizer(aside, length)


def model_card(
    card: Card,
    recipe: Recipe,
    dataset: Dataset,
    finished_run: FinishedRun,
    *,
    objective: str,
    epochs: float,
    fixed_masks: bool,
) -> str:
    """What the model was made of and how well it does."""
    manifest, settings, description = dataset.manifest, recipe.settings, finished_run.description
    example = card.example.replace(NEUTRAL, description.get("example") or NEUTRAL)
    return f"""---
library_name: transformers
pipeline_tag: {card.pipeline}
tags: [unmask, {recipe.family}, {objective}]
---
# {recipe.name}

{card.what}, trained from scratch by unmask {description["unmask"]}.

| | |
|---|---|
| model | {recipe.family}, {finished_run.parameters:,} parameters |
| data | {manifest["counts"]["train"]:,} documents, {manifest["tokens"]["train"]:,} tokens |
| data fingerprint | `{dataset.fingerprint}` |
| tokenizer | {manifest["settings"]["tokenizer"]}, {dataset.vocabulary.size:,} tokens |
| objective | `{settings.objective}` |
| hidden | {_masking_line(settings)} |
| blocks | {settings.length} tokens; documents do not see each other |
| seen | {finished_run.tokens:,} tokens in {finished_run.steps:,} steps ({epochs:.1f} passes) |
| precision | {description["computing"]["precision"]} |
| seed | {description["seed"]} |

{_figures_table(finished_run, fixed_masks)}

```python
{example.replace(BLANK, dataset.tokenizer().mask_token)}
```

It knows what its text knows and repeats what its text says: measure it on your own text before you rely on it.
"""


def _masking_line(settings: PretrainSettings) -> str:
    if settings.policy is None:
        return "nothing"
    redrawn = "the same in each epoch" if settings.static_masks else "fresh masks each epoch"
    rate = f", rate `{settings.rate}`" if settings.rate is not None else ""
    return f"policy `{settings.policy}`{rate}, {redrawn}"


def _figures_table(finished_run: FinishedRun, fixed_masks: bool) -> str:
    """What was measured on held-out text, as a table."""
    figures = {name: value for name, value in finished_run.figures.items() if isfinite(value)}
    predictions = f"{figures.pop('predictions'):,.0f}"
    cells = {"loss": f"{figures.pop('loss'):.3f}", "perplexity": f"{figures.pop('perplexity'):.1f}"}
    how = f"{predictions} predictions"
    if fixed_masks:
        how = f"with fixed masks (15 % of tokens, {predictions} positions)"
        cells["masked-token accuracy"] = f"{figures.pop('accuracy'):.1%}"
    cells |= {name.replace("_", " "): f"{value:.3f}" for name, value in figures.items()}
    rows = (cells, ["---"] * len(cells), cells.values())
    moment = "" if finished_run.step == finished_run.steps else f" the best moment, step {finished_run.step:,},"
    return f"On held-out text,{moment} {how}:\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows)
