"""What `config.json` says, read without transformers, and none of it that would have something else run or computed.

In: a model directory. Out: its settings. Light, so that what a model is for is known before anything is loaded.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from unmask.errors import BadInput, Damaged

HUB_KERNEL = re.compile(r'_implementation[^"]*": [^,}]*/')  # code on the hub, which transformers would fetch and run
SPAN_MODELS = ("t5", "mt5", "umt5", "longt5")  # that learn by sentinels


def model_type(directory: Path) -> str:
    """What transformers calls the architecture of a model directory."""
    try:
        settings = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise Damaged(f"{directory / 'config.json'} is not JSON: {error}") from error
    return str(settings.get("model_type")) if isinstance(settings, dict) else "None"


def is_span_model(directory: Path) -> bool:
    """Whether a model directory is of a kind that spells out what sentinels stand for."""
    try:
        return model_type(directory) in SPAN_MODELS
    except (Damaged, OSError):  # whoever loads it says what is wrong with it
        return False


def read_settings(directory: Path) -> dict[str, Any]:
    """What config.json says, and none of it that would have something else run or computed."""

    def refuse(constant: str) -> float:
        if constant == "NaN":
            raise ValueError("NaN is no number")
        return float(constant)

    file = directory / "config.json"
    try:
        settings = json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{file} is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise Damaged(f"{file}: holds no settings of a model")
    if HUB_KERNEL.search(json.dumps(settings)):
        raise BadInput(f"{file}: attn_implementation names code on the hub, which is not run; take that line out")
    if "quantization_config" in settings:
        raise BadInput(f"{directory}: its weights are quantized; give the model that it was made from")
    return settings
