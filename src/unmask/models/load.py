"""A directory to a model that can be asked: any masked language model of transformers, ours or not.

In: a run, or a model directory. Out: the model, its tokenizer, and what both need to agree on. Nothing is
fetched from a network, nothing is unpickled, and no code that came with the weights is run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import (
    MODEL_FOR_MASKED_LM_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging

from unmask.errors import BadInput, Damaged
from unmask.models.locate import model_directory
from unmask.records import Vocabulary
from unmask.tokens.tokenizer.load import load_tokenizer, vocabulary_of

WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
PERMUTED = "xlnet"  # restores hidden tokens by queries
UNLIMITED = 1_000_000  # tokenizers that know of no limit claim 10³⁰


@dataclass(frozen=True)
class LoadedModel:
    """A masked language model, ready to be asked."""

    path: Path
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    vocabulary: Vocabulary
    length: int | None  # the most tokens it takes, special ones included; None where there is no limit
    precision: str = "float32"  # what its products are computed in

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.model.device

    @property
    def room(self) -> int | None:
        """The most tokens of a text in one row: its length without the token that opens it and the one that closes."""
        return None if self.length is None else max(1, self.length - 2)

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
    config = _config(directory, permuted=permuted)
    tokenizer = load_tokenizer(directory)
    vocabulary = vocabulary_of(tokenizer)
    if not len(vocabulary.ordinary):  # transformers makes up an empty one where the files are missing
        raise BadInput(f"{directory}: has no tokenizer, tokenizer.json is missing")
    if (rows := config.get_text_config().vocab_size) < vocabulary.size:
        raise BadInput(
            f"{directory}: the tokenizer has {vocabulary.size:,} tokens and the model {rows:,}: "
            "they do not belong together"
        )
    model = _model(directory, config, place)
    return LoadedModel(directory, model, tokenizer, vocabulary, length_of(model, tokenizer), precision)


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


def _config(directory: Path, *, permuted: bool) -> PreTrainedConfig:
    try:
        settings = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise Damaged(f"{directory / 'config.json'} is not JSON: {error}") from error
    kind = settings.get("model_type") if isinstance(settings, dict) else None
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    except (ValueError, KeyError) as error:
        reason = "its code is not part of transformers" if kind else "its config.json names no model_type"
        raise BadInput(f"{directory}: cannot load a model of type {kind!r}: {reason}") from error
    if type(config) not in MODEL_FOR_MASKED_LM_MAPPING and not (permuted and kind == PERMUTED):
        raise BadInput(f"{directory}: {kind} is not a masked language model, it has no head that fills blanks")
    return config


def is_masked_lm(directory: Path) -> bool:
    """Whether a model directory is of a kind that fills blanks."""
    config = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    return type(config) in MODEL_FOR_MASKED_LM_MAPPING


def check_weights(directory: Path) -> None:
    """Refuse a directory without weights, or with weights that would have to be unpickled."""
    if not any((directory / name).is_file() for name in WEIGHTS):
        if pickles := sorted(directory.glob("pytorch_model*.bin")):
            raise BadInput(
                f"{pickles[0]}: pickled weights can run code and are not loaded; convert them to safetensors"
            )
        raise BadInput(f"{directory}: has no weights, model.safetensors is missing")


def _model(directory: Path, config: PreTrainedConfig, device: torch.device) -> PreTrainedModel:
    check_weights(directory)
    try:
        auto = AutoModelForCausalLM if config.model_type == PERMUTED else AutoModelForMaskedLM
        model, report = from_directory(auto, directory, config=config)
    except (RuntimeError, ValueError, OSError) as error:
        raise Damaged(f"{directory}: the weights do not fit config.json: {error}") from error
    _check_complete(directory, report)
    eval_model: PreTrainedModel = model.to(device).eval()
    return eval_model


def from_directory(auto: Any, directory: Path, **options: Any) -> tuple[Any, dict[str, Any]]:
    """The model of a directory by one of transformers' Auto classes, in float32, and what it says of the loading.

    Nothing is fetched, nothing is unpickled and no code is run. What goes wrong besides damage is the caller's to say.
    """
    try:
        with quiet_transformers():
            model, report = auto.from_pretrained(
                directory,
                dtype=torch.float32,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                **options,
            )
    except SafetensorError as error:
        raise Damaged(f"{directory}: the weights cannot be read: {error}") from error
    return model, report


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Without transformers' bars and reports; what matters of them is said by whoever asked."""
    bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _check_complete(directory: Path, report: dict[str, Any]) -> None:
    """Weights that are not in the file would be drawn at random, and the answers with them."""
    if missing_keys := sorted(report["missing_keys"]):
        others = f" and {len(missing_keys) - 1} more" if len(missing_keys) > 1 else ""
        remedy = "an encoder without its masked-LM head cannot fill blanks"
        if (generator := directory.parent / "generator").is_dir():
            remedy = f"it detects what was replaced; the model that fills blanks is {generator}"
        raise BadInput(
            f"{directory}: not a whole masked language model, its weights lack {missing_keys[0]}{others}: {remedy}"
        )


def length_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> int | None:
    """The most tokens a row may have, by the tokenizer and by the positions the model knows."""
    limits = [tokenizer.model_max_length] if tokenizer.model_max_length < UNLIMITED else []
    if (positions := getattr(model.config, "max_position_embeddings", None) or 0) > 0:
        limits.append(positions - first_position(model))
    return min(limits, default=None)


def first_position(model: PreTrainedModel) -> int:
    """RoBERTa and its kin count positions from the padding id + 1: 514 of them take 512 tokens."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.padding_idx) + 1
    return 0
