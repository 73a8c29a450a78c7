"""The files that hold a model's weights, looked at before any of them is loaded: there, whole, safetensors.

In: a model directory. Out: its files, and what their headers say is in them. Light: no torch, no transformers.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from unmask.errors import BadInput, Damaged

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLES = ("pytorch_model*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
CONVERT = (
    "M.from_pretrained(d, use_safetensors=False).save_pretrained(d)"  # by transformers, where the user trusts the file
)


def weight_files(directory: Path) -> list[Path]:
    """The safetensors files of a directory: one, or the shards that its index names."""
    if (directory / SINGLE).is_file():
        return [directory / SINGLE]
    if (directory / INDEX).is_file():
        return _shards(directory)
    for name in (SINGLE, INDEX):
        if os.path.lexists(directory / name):
            raise Damaged(f"{directory / name}: is a link that leads nowhere; fetch or copy the model again")
    if pickles := sorted(file for pattern in PICKLES for file in directory.glob(pattern)):
        raise BadInput(
            f"{pickles[0]}: pickled weights can run code and are not loaded; convert them to safetensors if you trust "
            f'them: python -c "from transformers import AutoModelForMaskedLM as M; d = {str(directory)!r}; {CONVERT}"'
        )
    raise BadInput(f"{directory}: has no weights, {SINGLE} is missing")


def _shards(directory: Path) -> list[Path]:
    index = directory / INDEX
    try:
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        files = [directory / name for name in names]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Damaged(f"{index}: is no index of weights; fetch or copy the model again") from error
    for file in files:
        if file.parent != directory:
            raise BadInput(f"{index}: names {file}, which is not in this directory")
        if not file.is_file():
            raise Damaged(f"{file}: is missing, and {INDEX} names it; fetch or copy the model again")
    return files


def weight_shapes(directory: Path) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor, by its name, as the headers say; a file that is cut short is named."""
    from safetensors import SafetensorError, safe_open

    shapes: dict[str, tuple[int, ...]] = {}
    for file in weight_files(directory):
        try:
            with safe_open(file, framework="numpy") as tensors:
                shapes |= {name: tuple(tensors.get_slice(name).get_shape()) for name in tensors.keys()}  # noqa: SIM118
        except SafetensorError as error:
            raise Damaged(f"{file}: the weights cannot be read: {error}") from error
    return shapes
