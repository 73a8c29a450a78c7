"""A tuned model that answers: what evaluation measures and what `predict` says are one object of this kind.

In: a model directory that tuning wrote. Out: answers. Beside what transformers reads, the directory has `task.json`:
the task, the fields of its data, the length of rows, and what the task needs besides.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import torch
from transformers import PreTrainedModel

from unmask.errors import BadInput, Damaged
from unmask.files import free_place, write_json
from unmask.models.config import from_directory
from unmask.models.first_token import leave_out_unread
from unmask.models.kernels import use_cpu_kernels
from unmask.models.load import DTYPES, chosen_device
from unmask.models.locate import TASK, model_directory
from unmask.results import Prediction
from unmask.runs.commands import quoted_path
from unmask.tasks.rows import RowReader
from unmask.tokens.tokenizer.load import load_tokenizer

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class TaskCard:
    """What a tuned model needs to be asked, beside its weights."""

    task: str
    text_field: str
    pair_field: str | None  # the second text, where there are two
    length: int  # of a row
    temperature: float | None = None  # by which logits are divided, where probabilities are calibrated
    format: int = FORMAT

    def write(self, directory: Path) -> None:
        """Put it beside the model."""
        write_json(directory / TASK, asdict(self))


Card = TypeVar("Card", bound=TaskCard)


Line = str | tuple[str, str] | list[str]  # a text, a pair of texts, or a text's words


class TunedModel(ABC):
    """A tuned model, ready to be asked."""

    card: TaskCard
    directory: Path
    model: PreTrainedModel
    reader: RowReader
    precision: str
    takes_words: ClassVar[bool] = False  # whether a text may come as a list of its words

    @abstractmethod
    def __init__(self, path: Path, *, device: str | None = None, precision: str = "float32") -> None: ...

    @abstractmethod
    def predict(self, texts: Sequence[str], pairs: Sequence[str] | None = None) -> Sequence[Prediction]:
        """An answer for each text, or pair of texts."""

    def predict_each(self, lines: Sequence[Line]) -> list[Prediction | BadInput]:
        """An answer for each line; in the place of one that cannot be used, what is wrong with it."""
        good = [line for line in lines if _is_full(line)]
        pairs = [line[1] for line in good if isinstance(line, tuple)] or None
        texts: list[Any] = [line[0] if isinstance(line, tuple) else line for line in good]
        answers = iter(self.predict(texts, pairs) if good else ())
        return [next(answers) if _is_full(line) else BadInput("an empty text has no answer") for line in lines]

    @property
    def wanted(self) -> str:
        """What it is to be given, in words."""
        if self.card.pair_field is None:
            return "this model takes single texts, not pairs"
        names = f"{self.card.text_field!r} and {self.card.pair_field!r}"
        return (
            f"this model takes pairs of texts: give JSON lines with the fields {names}, or two texts after each other"
        )

    def check_pairs(self, pairs: Sequence[str] | None) -> None:
        """Refuse pairs where it takes texts, and texts where it takes pairs."""
        if (pairs is not None) != (self.card.pair_field is not None):
            raise BadInput(self.wanted)

    def casting(self) -> AbstractContextManager[Any]:
        """Products in the precision that was asked for."""
        dtype = DTYPES[self.precision]
        return torch.autocast(self.model.device.type, dtype, enabled=dtype != torch.float32)

    def load_weights(self, auto: Any, device: str | None, precision: str) -> None:
        """The model with its tokenizer, from its directory."""
        if precision not in DTYPES:
            raise BadInput(f"--precision {precision}: choose one of {', '.join(DTYPES)}")
        self.precision = precision
        try:
            model, report = from_directory(auto, self.directory)
        except (RuntimeError, ValueError, OSError) as error:
            raise Damaged(f"{self.directory}: the weights do not fit config.json: {error}") from error
        if report["missing_keys"]:
            lacking = sorted(report["missing_keys"])[0]
            raise Damaged(f"{self.directory}: its weights lack {lacking}, which {self.card.task} needs; tune again")
        self.model = model.to(chosen_device(device)).eval()
        leave_out_unread(self.model)
        if self.model.device.type == "cpu":
            use_cpu_kernels(self.model)
        self.reader = RowReader(load_tokenizer(self.directory), self.card.length)


def _is_full(line: Line) -> bool:
    """Whether there is something in a line and, of a pair, in both of its texts."""
    if isinstance(line, tuple):
        return all(text.strip() for text in line)
    return bool(line.strip() if isinstance(line, str) else "".join(line).strip())


def read_task(path: Path) -> tuple[Path, dict[str, Any]]:
    """The model directory of a tuned run, and what `task.json` says."""
    directory = model_directory(path)
    file = directory / TASK
    if not file.is_file():
        out = quoted_path(free_place(Path("tuned")))
        remedy = f"unmask tune classify {quoted_path(path)} TRAIN --out {out}"
        raise BadInput(f"{path}: is not tuned and knows no labels; `{remedy}` teaches it some")
    try:
        values: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if values["format"] != FORMAT:
            raise BadInput(f"{file}: format {values['format']}, this version reads {FORMAT}")
        if not isinstance(values["task"], str):
            raise TypeError("the task has no name")
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{file}: cannot be read ({error}); tune again") from error
    return directory, values


def read_card(path: Path, task: str, make: Callable[[dict[str, Any]], Card]) -> tuple[Path, Card]:
    """The model directory of a run that was tuned to a task, and its card."""
    directory, values = read_task(path)
    if values["task"] != task:
        raise BadInput(f"{path}: is tuned to {values['task']}, not to {task}")
    try:
        return directory, make(values)
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{directory / TASK}: cannot be read ({error}); tune again") from error
