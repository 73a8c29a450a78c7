"""How a model directory says that its vectors are to be made, where it was tuned for sentences.

In: a model directory. Out: the pooling, the normalisation and the length that sentence-transformers wrote beside it
(`modules.json`), or nothing where nobody did: then the model was not tuned for vectors.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.errors import BadInput, Damaged

MODULES = "modules.json"
EXPORTED = "export.json"  # which `unmask export` writes
POOLINGS = {"cls": "first", "mean": "mean"}  # as they are called there and here


@dataclass(frozen=True)
class SentenceLayout:
    """What belongs to a sentence encoder beside its weights."""

    pooling: str | None  # mean or first; none where it is another that is not computed here
    normalise: bool
    length: int | None  # tokens it was tuned with, special ones included
    beyond: str = ""  # what it has that is not computed here
    tuned: bool = True  # false of a model that `unmask export` wrote so, whatever it was


def read_layout(directory: Path) -> SentenceLayout | None:
    """The layout of a directory, if it has one."""
    if not (directory / MODULES).is_file():
        return None
    pooling, normalise, beyond = None, False, ""
    for module in _read(directory / MODULES):
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind == "Pooling":
            mode = _pooling_mode(_read(directory / module["path"] / "config.json"))
            pooling, beyond = POOLINGS.get(mode), beyond if mode in POOLINGS else f"the pooling {mode}"
        elif kind == "Normalize":
            normalise = True
        elif kind != "Transformer":
            beyond = f"the layer {kind}"
    settings = directory / "sentence_bert_config.json"
    length = _read(settings).get("max_seq_length") if settings.is_file() else None
    return SentenceLayout(pooling, normalise, length, beyond, tuned=not (directory / EXPORTED).is_file())


def is_tuned(directory: Path) -> bool:
    """Whether somebody tuned the model for vectors of sentences, as far as its directory says."""
    layout = read_layout(directory)
    return layout is not None and layout.tuned


def chosen_pooling(directory: Path, asked: str | None) -> str:
    """The pooling that was asked for, or the directory's own; the mean where it has none."""
    if asked is not None:
        return asked
    layout = read_layout(directory)
    if layout is not None and layout.beyond:
        raise BadInput(
            f"{directory}: its vectors need {layout.beyond}, which is not computed here; "
            "--pooling mean or first takes the encoder without it"
        )
    return (layout and layout.pooling) or "mean"


def _pooling_mode(settings: dict[str, Any]) -> str:
    """The mode, as versions from 5 on write it in one field and those before in one for each mode."""
    if isinstance(mode := settings.get("pooling_mode"), str):
        return mode
    modes = [name.removeprefix("pooling_mode_") for name, on in settings.items() if on is True and "_mode_" in name]
    return "+".join(mode.removesuffix("_tokens").removesuffix("_token") for mode in modes)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Damaged(f"{path}: cannot be read as JSON: {error}") from error
