"""A directory to a model that can be asked: any masked language model of transformers, ours or not.

In: a run, a model directory, or a name on the hub. Out: the model, its tokenizer, and what both need to agree on.
Nothing but a model that was named is fetched, nothing is unpickled, and no code that came with weights is run.

Importing transformers' models takes longer than most questions. So a ModernBERT that is to answer on a CPU is read
from its files by what computes its answers (`unmask.models.modernbert_rows`), and transformers' own model is loaded
when something else is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.models.locate import model_directory
from unmask.models.modernbert_rows import RowPredictor, read_predictor
from unmask.models.settings import read_settings
from unmask.records import Vocabulary
from unmask.tokens.tokenizer.load import load_tokenizer, row_limit, vocabulary_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class LoadedModel:
    """A masked language model, ready to be asked."""

    path: Path
    load: Callable[[], PreTrainedModel]
    tokenizer: PreTrainedTokenizerFast
    vocabulary: Vocabulary
    length: int | None  # the most tokens it takes, special ones included; None where there is no limit
    precision: str = "float32"  # what its products are computed in
    read: RowPredictor | None = None  # of its files, without transformers

    @classmethod
    def of(
        cls,
        path: Path,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerFast,
        vocabulary: Vocabulary,
        length: int | None,
        precision: str = "float32",
    ) -> LoadedModel:
        """One whose model is in memory."""
        return cls(path, lambda: model, tokenizer, vocabulary, length, precision)

    @cached_property
    def model(self) -> PreTrainedModel:
        """As transformers has it."""
        return self.load()

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.model.device if self.read is None else torch.device("cpu")

    @property
    def room(self) -> int | None:
        """The most tokens of a text in one row: its length without the token that opens it and the one that closes."""
        return None if self.length is None else max(1, self.length - 2)

    @cached_property
    def rows(self) -> RowPredictor | None:
        """A shorter way from rows to logits, where there is one for this model; asked for when it is needed."""
        if self.read is not None or self.precision != "float32":
            return self.read
        from unmask.models.rows_of_model import row_predictor

        return row_predictor(self.model)

    @cached_property
    def rough(self) -> LoadedModel | None:
        """The same model with products in bfloat16, where there is the shorter way: half of the time, three digits."""
        if self.rows is None or self.precision != "float32":
            return None
        return replace(self, precision="bfloat16", read=self.rows.in_precision(torch.bfloat16))

    def casting(self) -> torch.autocast:
        """While open, products are computed in the model's precision."""
        dtype = DTYPES[self.precision]
        return torch.autocast(self.device.type, dtype, enabled=dtype != torch.float32)


def load_model(
    path: Path, *, device: str | None = None, precision: str = "float32", permuted: bool = False
) -> LoadedModel:
    """Load the model of a run or of a model directory; on a GPU where there is one, unless a device is named.

    `permuted` takes XLNet too, which restores hidden tokens by queries and not by masks.
    """
    place = chosen_device(device)
    check_precision(precision)
    directory = model_directory(path)
    settings = read_settings(directory)
    if place.type == "cpu" and precision != "float16" and (read := read_predictor(directory, settings)) is not None:
        return _read_model(directory, settings, read.in_precision(DTYPES[precision]), place, precision)
    return _transformers_model(directory, place, precision, permuted=permuted)


def _read_model(
    directory: Path, settings: dict[str, Any], read: RowPredictor, place: torch.device, precision: str
) -> LoadedModel:
    """One that is read from its files, and loaded by transformers when that is asked for."""
    tokenizer = load_tokenizer(directory)
    vocabulary = vocabulary_of(tokenizer)
    check_vocabulary(directory, settings["vocab_size"], vocabulary)
    length = row_limit(tokenizer, settings["max_position_embeddings"])
    load = partial(_load_later, directory, place)
    return LoadedModel(directory, load, tokenizer, vocabulary, length, precision, read)


def _load_later(directory: Path, place: torch.device) -> PreTrainedModel:
    from unmask.models.masked_lm import checked_config, load_masked_lm

    return load_masked_lm(directory, checked_config(directory), place)


def _transformers_model(directory: Path, place: torch.device, precision: str, *, permuted: bool) -> LoadedModel:
    from unmask.models.masked_lm import checked_config, length_of, load_masked_lm

    config = checked_config(directory, permuted=permuted)
    tokenizer = load_tokenizer(directory)
    vocabulary = vocabulary_of(tokenizer)
    check_vocabulary(directory, config.get_text_config().vocab_size, vocabulary)
    model = load_masked_lm(directory, config, place)
    return LoadedModel.of(directory, model, tokenizer, vocabulary, length_of(model, tokenizer), precision)


def load_shape(directory: Path, weights: Path, *, device: str | None = None, precision: str = "float32") -> LoadedModel:
    """A model without weights of its own, such as a run has while it trains, to put those of checkpoints in."""
    from unmask.models.masked_lm import length_of, shaped_masked_lm

    check_precision(precision)
    tokenizer = load_tokenizer(directory)
    vocabulary = vocabulary_of(tokenizer)
    model = shaped_masked_lm(directory, weights, chosen_device(device))
    check_vocabulary(directory, model.config.get_text_config().vocab_size, vocabulary)
    return LoadedModel.of(directory, model, tokenizer, vocabulary, length_of(model, tokenizer), precision)


def check_precision(precision: str) -> None:
    """Refuse a precision that nothing computes in."""
    if precision not in DTYPES:
        raise BadInput(f"--precision {precision}: choose one of {', '.join(DTYPES)}")


def chosen_device(name: str | None) -> torch.device:
    """The device of that name, or the fastest there is."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch asserts that it was compiled with CUDA
        raise BadInput(f"--device {name}: not on this machine; `unmask doctor` says what is") from error
    return device


def check_vocabulary(directory: Path, rows: int, vocabulary: Vocabulary) -> None:
    """Refuse a tokenizer that is none, or that knows more tokens than the model has rows for."""
    if not len(vocabulary.ordinary):  # transformers makes up an empty one where the files are missing
        raise BadInput(f"{directory}: has no tokenizer, tokenizer.json is missing")
    if rows < vocabulary.size:
        raise BadInput(
            f"{directory}: the tokenizer has {vocabulary.size:,} tokens and the model {rows:,}: "
            "they do not belong together"
        )
