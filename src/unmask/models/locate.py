"""A path to the directory that holds a model or its tokenizer: a run's, one that came from elsewhere, or the hub's.

In: what the user named. Out: where `config.json` is, or `tokenizer.json`. Light, so that a wrong path is told at once.
"""

from __future__ import annotations

from pathlib import Path

from unmask.errors import BadInput
from unmask.files import missing_path, path_kind
from unmask.models.hub import fetch_model, fetch_tokenizer, hub_name
from unmask.runs.commands import PRETRAIN, resume_command, train_command
from unmask.runs.directory import MODEL, SHAPE, read_description

TASK = "task.json"  # of a tuned model: what it was tuned for, and what asking it takes
TOKENIZERS = ("tokenizer.json", "tokenizer_config.json")  # the second where a tokenizer has files of another kind


def model_directory(path: Path, revision: str | None = None) -> Path:
    """The directory that holds the model: the path itself, `model` in a run, or that of a name on the hub.

    What is here always wins over a name; `unmask.models.hub.hub_name` says what is one.
    """
    if not path.exists():
        if (name := hub_name(path)) is not None:
            return fetch_model(name, revision)
        named = f"hf:{path}" if path.name == str(path) else "org/name"
        raise missing_path(path, f"give a run, a model directory, or a name on the hub, such as {named}")
    _refuse_revision(path, revision)
    if not path.is_dir():
        raise BadInput(
            f"{path}: is a file; give a run or a model directory (`unmask runs` lists the runs below a folder)"
        )
    if (path / "run.json").exists():
        description = read_description(path)
        if not (path / "model").is_dir():
            again = resume_command(path, description.get("kind", PRETRAIN))
            raise BadInput(f"{path}: has no model yet; {again} trains it to its end")
    for directory in (path, path / "model"):
        if (directory / "config.json").is_file():
            return directory
    kind = path_kind(path)
    remedy = "give a run or a model directory (`unmask runs` lists the runs below a folder)"
    if kind == "a data directory":
        remedy = f"`{train_command(path)}` trains one on it"
    raise BadInput(f"{path}: holds no model, it is {kind}; {remedy}")


def moment_directory(path: Path, revision: str | None = None) -> Path:
    """Where it is said what a run's model is like, whose checkpoints are asked for; it may still be trained."""
    if path.is_dir() and (path / SHAPE / "config.json").is_file() and not (path / MODEL).is_dir():
        _refuse_revision(path, revision)
        return path / SHAPE
    return model_directory(path, revision)


def _refuse_revision(path: Path, revision: str | None) -> None:
    if revision is not None:
        raise BadInput(f"--revision {revision}: {path} is here, and only a name on the hub has revisions; leave it out")


def tokenizer_directory(path: Path, revision: str | None = None) -> Path:
    """The directory that holds the tokenizer: of a run, a model, a data directory or a name on the hub, or the path."""
    if not path.exists():
        if (name := hub_name(path)) is not None:
            return fetch_tokenizer(name, revision)
        raise missing_path(path, "give a run, a model, a tokenizer, a data directory, or a name on the hub")
    _refuse_revision(path, revision)
    if not path.is_dir():
        raise BadInput(f"{path}: is a file; give a run, a model, a tokenizer or a data directory")
    if (path / "run.json").exists():
        return model_directory(path)
    for directory in (path, path / "model", path / "tokenizer"):
        if any((directory / name).is_file() for name in TOKENIZERS):
            return directory
    raise BadInput(
        f"{path}: holds no tokenizer, it is {path_kind(path)}; give a data directory, a run, a model or a tokenizer"
    )
