"""A trained model as a directory that stock transformers loads offline, with a card that says what it is.

In: a model, its tokenizer and what the run knows. Out: `model/`, whole or not there.
"""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from unmask.files import whole_directory
from unmask.models.load import quietly
from unmask.objectives.text import Card, Export
from unmask.tokens.store.dataset import Dataset

WEIGHTS = "model.safetensors"


def export(given: Export, dataset: Dataset, out: Path, card: str) -> None:
    """Write the model, what belongs beside it, its tokenizer and its card."""
    with whole_directory(out) as aside:
        with quietly():
            given.model.save_pretrained(aside)
        for name, tensors in given.tensors.items():
            save_file({key: tensor.detach().contiguous() for key, tensor in tensors.items()}, aside / name)
        dataset.write_tokenizer(aside)
        (aside / "README.md").write_text(card, encoding="utf-8")


def model_card(
    card: Card, description: dict[str, Any], manifest: dict[str, Any], figures: dict[str, Any], mask: str
) -> str:
    """What the model was made of and how well it does."""
    recipe, training = description["recipe"], description["recipe"]["training"]
    counts = manifest["counts"]
    return f"""---
library_name: transformers
pipeline_tag: {card.pipeline}
tags: [unmask, {recipe["family"]}, {figures["objective"]}]
---
# {recipe["name"]}

{card.what}, trained from scratch by unmask {description["unmask"]}.

| | |
|---|---|
| model | {recipe["family"]}, {figures["parameters"]:,} parameters |
| data | {counts["train"]:,} documents, {manifest["tokens"]["train"]:,} tokens |
| data fingerprint | `{description["data"]}` |
| tokenizer | {manifest["settings"]["tokenizer"]}, {figures["vocabulary"]:,} tokens |
| objective | `{training["objective"]}` |
| hidden | {_hidden(training, figures["hides"])} |
| blocks | {training["length"]} tokens; documents do not see each other |
| seen | {figures["tokens"]:,} tokens in {figures["steps"]:,} steps ({figures["epochs"]:.1f} passes) |
| seed | {description["seed"]} |

{_measured(figures)}

```python
{card.example.replace("[MASK]", mask)}
```

It knows what its text knows and repeats what its text says: measure it on your own text before you rely on it.
"""


def _hidden(training: dict[str, Any], hides: bool) -> str:
    if not hides:
        return "nothing"
    fresh = "the same in each epoch" if training["static_masks"] else "fresh masks each epoch"
    rate = f", rate `{training['rate']}`" if training["rate"] is not None else ""
    return f"policy `{training['policy']}`{rate}, {fresh}"


def _measured(figures: dict[str, Any]) -> str:
    """What was measured on held-out text, as a table."""
    shown = {name.replace("_", " "): f"{value:.3f}" for name, value in figures["own"].items() if isfinite(value)}
    how = f"{figures['predicted']:,} predictions"
    if figures["fixed_masks"]:
        how = f"with fixed masks (15 % of tokens, {figures['predicted']:,} positions)"
        shown["masked-token accuracy"] = f"{figures['accuracy']:.1%}"
    shown = {"loss": f"{figures['loss']:.3f}", "perplexity": f"{figures['perplexity']:.1f}", **shown}
    rows = (shown, ["---"] * len(shown), shown.values())
    return f"On held-out text, {how}:\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows)
