"""Models to write with: small, random weights, as directories and as runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from unmask.files import write_json
from unmask.models.families.family import build_model
from unmask.runs.directory import DESCRIPTION, FORMAT, with_seal
from unmask.tokens.tokenizer.load import load_tokenizer, save_tokenizer, vocabulary_of
from unmask.tokens.tokenizer.sentinels import add_sentinels

Make = Callable[..., Path]


def as_run(model: Path, run: Path, objective: str) -> Path:
    """The model as the one of a run that was trained so."""
    shutil.copytree(model, run / "model")
    description = {"format": FORMAT, "recipe": {"settings": {"objective": objective}}}
    write_json(run / DESCRIPTION, with_seal(description))
    return run


def sequential_model(make_model: Make, path: Path, family: str, kind: str = "wordpiece") -> Path:
    """A GPT-2 or a T5 with the tokenizer of another."""
    tokenizer = load_tokenizer(make_model(kind=kind))
    if family == "t5":
        add_sentinels(tokenizer, 4)
    save_tokenizer(tokenizer, path)
    model = build_model(family, "tiny", vocabulary_of(tokenizer), length=64, dropout=0.0, seed=0)
    model.save_pretrained(path)
    return path
