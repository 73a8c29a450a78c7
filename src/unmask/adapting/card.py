"""What an adapted model says of itself: its README."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unmask.tokens.store.dataset import Dataset
from unmask.training.job import FinishedRun


def adapted_card(start: Path, domain: Dataset, finished_run: FinishedRun, result: dict[str, Any]) -> str:
    """From what to what, and how both losses moved."""
    description, before, after = finished_run.description, result["before"], result["after"]
    names = {"loss": "domain loss", "accuracy": "domain accuracy", "general_loss": "general loss"}
    rows = "\n".join(
        f"| {title} | {before[name]:.3f} | {after[name]:.3f} |" for name, title in names.items() if name in before
    )
    said = " ".join(f"{each[0].upper()}{each[1:]}." for each in (result["ended"], result["why"]) if each)
    origin = start.parent.name if start.name == "model" else start.name
    return f"""---
library_name: transformers
pipeline_tag: fill-mask
tags: [unmask, adapted]
---
# {origin}, adapted to {domain.path.name}

Adapted by unmask {description["unmask"]}: {finished_run.steps:,} steps, {finished_run.tokens:,} tokens, seed \
{description["seed"]}, {description["computing"]["precision"]}. {said}

| on held-out text | before | after |
|---|---|---|
{rows}

Losses are nats a hidden token, on fixed masks (15 % of tokens).
"""
