"""Checkpoints: everything needed to go on, in directories that are whole or not there.

    checkpoints/step-0000400/
      model.safetensors       the weights
      optimizer.safetensors   the optimizer's state, a name for each tensor
      checkpoint.json         the step and what belongs to it, the hash of every file, and a hash of itself

In: a step, tensors, a small state. Out: the newest checkpoint that is undamaged. Nothing is ever unpickled, so a
crafted checkpoint can be wrong but cannot run code.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from unmask.errors import Damaged
from unmask.files import json_text, seal_holds, sha256_of, whole_directory, with_seal, write_json
from unmask.progress import say
from unmask.runs.directory import CHECKPOINT_INDEX as INDEX
from unmask.runs.directory import CHECKPOINT_TENSORS as FILES
from unmask.runs.moments import checkpoint_paths


@dataclass(frozen=True)
class Checkpoint:
    """A moment of a run."""

    step: int  # how many steps are done
    model: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    state: dict[str, Any]  # what the loop carries besides, as JSON


def save(folder: Path, checkpoint: Checkpoint, *, keep: int | None = 2) -> Path:
    """Write a checkpoint in one piece and let go of all but the newest `keep`; of none where that is none."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{checkpoint.step:07d}"
    with whole_directory(path) as aside:
        for name, tensors in zip(FILES, (checkpoint.model, checkpoint.optimizer), strict=True):
            save_file({key: value.contiguous() for key, value in tensors.items()}, aside / name)
        hashes = {name: sha256_of(aside / name) for name in FILES}
        index = {"step": checkpoint.step, "state": checkpoint.state, "sha256": hashes}
        write_json(aside / INDEX, with_seal(index))
    for stale in [] if keep is None else checkpoint_paths(folder)[:-keep]:
        shutil.rmtree(stale, ignore_errors=True)  # what cannot be removed is no reason to stop
    return path


def newest(folder: Path) -> Checkpoint | None:
    """The newest undamaged checkpoint, or none where there are none; each damaged one is named."""
    paths = checkpoint_paths(folder)
    for path in reversed(paths):
        try:
            return load(path)
        except Damaged as error:
            say(f"[yellow]damaged checkpoint passed over:[/] {escape(str(error))}")
    if paths:
        raise Damaged(f"{folder}: every checkpoint is damaged; start again with another --out")
    return None


def any_in(folder: Path) -> bool:
    """Whether anything was saved there, damaged or not."""
    return bool(checkpoint_paths(folder))


def load(path: Path) -> Checkpoint:
    """Read one checkpoint, or say which of its files is not what it was."""
    index, (model, optimizer) = _read(path, FILES)
    return Checkpoint(index["step"], model, optimizer, index["state"])


def load_weights(path: Path) -> dict[str, Tensor]:
    """Read the weights of one checkpoint alone, as undamaged as `load` has them."""
    _, (model,) = _read(path, FILES[:1])
    return model


def _read(path: Path, names: Sequence[str]) -> tuple[dict[str, Any], list[dict[str, Tensor]]]:
    """The index of a checkpoint, and the tensors of some of its files."""
    try:
        text = (path / INDEX).read_text(encoding="utf-8")
        index = json.loads(text)
        if not isinstance(index, dict) or not seal_holds(index) or json_text(index) != text:
            raise Damaged(f"{path / INDEX}: its hash does not hold")
        if not isinstance(index["step"], int) or not isinstance(index["state"], dict):
            raise Damaged(f"{path / INDEX}: its step or its state is not one")
        for name in names:
            if sha256_of(path / name) != index["sha256"][name]:
                raise Damaged(f"{path / name}: is not the file that was saved")
        return index, [load_file(path / name) for name in names]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
        raise Damaged(f"{path}: cannot be read ({error})") from error
