"""Under which names runs are recorded in `results/`: a digest of what was run, spelt as when the first were made."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from unmask.files import json_digest

# settings have had other names since
SPELT = {"settings": "training", "batch_size": "rows", "micro_batch": "micro", "muon_lr": "muon", "adamw_lr": "adamw"}


def key(*things: Any) -> str:
    """Eight digits that tell one run from another."""
    spelt = [_spelt(asdict(each) if hasattr(each, "__dataclass_fields__") else each) for each in things]
    return json_digest(spelt[0] if len(spelt) == 1 else spelt)[:8]


def _spelt(value: Any) -> Any:
    if isinstance(value, dict):
        return {SPELT.get(name, name): _spelt(each) for name, each in value.items()}
    return [_spelt(each) for each in value] if isinstance(value, list | tuple) else value
