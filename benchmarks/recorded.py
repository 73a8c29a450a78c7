"""What was run is kept in `results/`, a JSON file each, so that nothing is run twice: the files and their names.

A name ends in a digest of what was run, spelt as when the first were made.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unmask.files import json_digest

Figures = dict[str, Any]

# settings have had other names since
SPELT = {"settings": "training", "batch_size": "rows", "micro_batch": "micro", "muon_lr": "muon", "adamw_lr": "adamw"}


def kept(out: Path, name: str, run: Callable[[], Figures]) -> Figures:
    """A run's figures: as they were kept, or of the run itself; a file is whole or not there."""
    file = out / f"{name}.json"
    if not file.exists():
        aside = file.with_suffix(".writing")
        aside.write_text(json.dumps(run(), indent=1) + "\n", encoding="utf-8")
        aside.replace(file)
    return json.loads(file.read_text(encoding="utf-8"))


def key(*things: Any) -> str:
    """Eight digits that tell one run from another."""
    spelt = [_spelt(asdict(each) if hasattr(each, "__dataclass_fields__") else each) for each in things]
    return json_digest(spelt[0] if len(spelt) == 1 else spelt)[:8]


def _spelt(value: Any) -> Any:
    if isinstance(value, dict):
        return {SPELT.get(name, name): _spelt(each) for name, each in value.items()}
    return [_spelt(each) for each in value] if isinstance(value, list | tuple) else value
