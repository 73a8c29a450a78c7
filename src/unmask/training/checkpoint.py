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
import re
import shutil
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


@dataclass(frozen=True)
class Checkpoint:
    """A moment of a run."""

    step: int  # how many steps are done
    model: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    state: dict[str, Any]  # what the loop carries besides, as JSON


def save(folder: Path, checkpoint: Checkpoint, *, keep: int = 2) -> Path:
    """Write a checkpoint in one piece and let go of all but the newest `keep`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{checkpoint.step:07d}"
    with whole_directory(path) as aside:
        for name, tensors in zip(FILES, (checkpoint.model, checkpoint.optimizer), strict=True):
            save_file({key: value.contiguous() for key, value in tensors.items()}, aside / name)
        hashes = {name: sha256_of(aside / name) for name in FILES}
        index = {"step": checkpoint.step, "state": checkpoint.state, "sha256": hashes}
        write_json(aside / INDEX, with_seal(index))
    for stale in _checkpoint_paths(folder)[:-keep]:
        shutil.rmtree(stale, ignore_errors=True)  # what cannot be removed is no reason to stop
    return path


def newest(folder: Path) -> Checkpoint | None:
    """The newest undamaged checkpoint, or none where there are none; each damaged one is named."""
    paths = _checkpoint_paths(folder)
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
    return bool(_checkpoint_paths(folder))


def load(path: Path) -> Checkpoint:
    """Read one checkpoint, or say which of its files is not what it was."""
    try:
        text = (path / INDEX).read_text(encoding="utf-8")
        index = json.loads(text)
        if not isinstance(index, dict) or not seal_holds(index) or json_text(index) != text:
            raise Damaged(f"{path / INDEX}: its hash does not hold")
        if not isinstance(index["step"], int) or not isinstance(index["state"], dict):
            raise Damaged(f"{path / INDEX}: its step or its state is not one")
        for name in FILES:
            if sha256_of(path / name) != index["sha256"][name]:
                raise Damaged(f"{path / name}: is not the file that was saved")
        model, optimizer = (load_file(path / name) for name in FILES)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
        raise Damaged(f"{path}: cannot be read ({error})") from error
    return Checkpoint(index["step"], model, optimizer, index["state"])


def _checkpoint_paths(folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first; what was being written when the process died is not one."""
    return sorted(path for path in folder.glob("step-*") if re.fullmatch(r"step-\d{7,}", path.name))
