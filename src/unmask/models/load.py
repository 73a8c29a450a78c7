"""A directory to a model that can be asked: any masked language model of transformers, ours or not.

In: a run, a model directory, or a name on the hub. Out: the model, its tokenizer, and what both need to agree on.
Nothing but a model that was named is fetched, nothing is unpickled, and no code that came with weights is run.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from transformers import (
    CONFIG_MAPPING,
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
from unmask.models.locate import TASK, model_directory
from unmask.models.weights import weight_shapes
from unmask.records import Vocabulary
from unmask.tokens.tokenizer.load import NOT_RUN, load_tokenizer, vocabulary_of

if TYPE_CHECKING:
    from unmask.models.modernbert_rows import RowPredictor

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
PERMUTED = "xlnet"  # restores hidden tokens by queries
UNLIMITED = 1_000_000  # tokenizers that know of no limit claim 10³⁰
HUB_KERNEL = re.compile(r'_implementation[^"]*": [^,}]*/')  # code on the hub, which transformers would fetch and run
TUNED = {  # how the names of tuned models end: what they are for, and what they do
    "ForSequenceClassification": ("classification", "it labels texts"),
    "ForTokenClassification": ("tagging", "it labels words"),
    "ForQuestionAnswering": ("answering", "it answers questions"),
}
GENEROUS = 4  # times the weights in the files: a head that is missing, a matrix that is tied, and no more


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

    @cached_property
    def rows(self) -> RowPredictor | None:
        """A shorter way from rows to logits, where there is one for this model; asked for when it is needed."""
        from unmask.models.modernbert_rows import row_predictor

        return row_predictor(self.model) if self.precision == "float32" else None

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
    settings = _settings(directory)
    config = _config(directory, settings, permuted=permuted)
    _check_sizes(directory, config, weight_shapes(directory))
    tokenizer = load_tokenizer(directory)
    vocabulary = vocabulary_of(tokenizer)
    check_vocabulary(directory, config, vocabulary)
    model = _model(directory, config, place, own_code="auto_map" in settings)
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


def check_vocabulary(directory: Path, config: PreTrainedConfig, vocabulary: Vocabulary) -> None:
    """Refuse a tokenizer that is none, or that knows more tokens than the model."""
    if not len(vocabulary.ordinary):  # transformers makes up an empty one where the files are missing
        raise BadInput(f"{directory}: has no tokenizer, tokenizer.json is missing")
    if (rows := config.get_text_config().vocab_size) < vocabulary.size:
        raise BadInput(
            f"{directory}: the tokenizer has {vocabulary.size:,} tokens and the model {rows:,}: "
            "they do not belong together"
        )


def _settings(directory: Path) -> dict[str, Any]:
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


def _config(directory: Path, settings: dict[str, Any], *, permuted: bool) -> PreTrainedConfig:
    kind = settings.get("model_type")
    if not isinstance(kind, str):
        raise BadInput(f"{directory}: cannot load a model of type {kind!r}: its config.json names no model_type")
    if kind not in CONFIG_MAPPING:
        code = f"; {NOT_RUN}" if "auto_map" in settings else ""
        raise BadInput(f"{directory}: cannot load a model of type {kind!r}: its code is not part of transformers{code}")
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # each family looks at its settings in its own way
        raise Damaged(f"{directory / 'config.json'}: not the settings of a {kind}: {_reason(error)}") from error
    for ending, (purpose, use) in TUNED.items():
        if any(name.endswith(ending) for name in config.architectures or ()):
            use = f"unmask predict {directory} TEXT asks it" if (directory / TASK).is_file() else use
            raise BadInput(f"{directory}: is tuned for {purpose} and has no head that fills blanks; {use}")
    if type(config) not in MODEL_FOR_MASKED_LM_MAPPING and not (permuted and kind == PERMUTED):
        raise BadInput(f"{directory}: {kind} is not a masked language model, it has no head that fills blanks")
    return config


def _reason(error: Exception) -> str:
    """What an error of a library says, in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _check_sizes(directory: Path, config: PreTrainedConfig, shapes: dict[str, tuple[int, ...]]) -> None:
    """Refuse a config.json that would build what the files cannot fill: its numbers may be anything."""
    held = sum(map(math.prod, shapes.values()))
    layers = getattr(config.get_text_config(), "num_hidden_layers", 0)
    try:
        if layers > len(shapes):
            raise ValueError(f"{layers:,} layers, and the files hold {len(shapes):,} tensors")
        described = _empty_model(config).state_dict()
        if (total := sum(weight.numel() for weight in described.values())) > GENEROUS * held:
            raise ValueError(f"{total:,} weights, and the files hold {held:,}")
    except Exception as error:  # sizes that do not divide, that overflow, that are no numbers
        raise Damaged(f"{directory / 'config.json'}: describes no model of these files: {_reason(error)}") from error


def _auto_class(config: PreTrainedConfig) -> Any:
    return AutoModelForCausalLM if config.model_type == PERMUTED else AutoModelForMaskedLM


def _empty_model(config: PreTrainedConfig) -> PreTrainedModel:
    """The model that a configuration describes, without memory for its weights."""
    with torch.device("meta"), quiet_transformers():
        model: PreTrainedModel = _auto_class(config).from_config(copy.deepcopy(config))
    return model


def is_masked_lm(directory: Path) -> bool:
    """Whether a model directory is of a kind that fills blanks."""
    config = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    return type(config) in MODEL_FOR_MASKED_LM_MAPPING


def _model(directory: Path, config: PreTrainedConfig, device: torch.device, *, own_code: bool) -> PreTrainedModel:
    """The model with its weights. One that came with code of its own is loaded if it needs none of it."""
    own = f"{directory}: its weights are not those of transformers' own {config.model_type}; {NOT_RUN}"
    try:
        model, report = from_directory(_auto_class(config), directory, config=config)
    except (RuntimeError, ValueError, OSError, ImportError) as error:
        if own_code:
            raise BadInput(own) from error
        reason = _first_misfit(directory, config) or _reason(error)
        raise Damaged(f"{directory}: the weights do not fit config.json: {reason}") from error
    if own_code and (report["missing_keys"] or report["unexpected_keys"]):
        raise BadInput(own)
    _check_layers(directory, config, report)
    _check_complete(directory, report)
    eval_model: PreTrainedModel = model.to(device).eval()
    return eval_model


def _first_misfit(directory: Path, config: PreTrainedConfig) -> str | None:
    """The first tensor of another shape in the files than in the model that is described."""
    shapes = weight_shapes(directory)
    for name, weight in _empty_model(config).state_dict().items():
        if (held := shapes.get(name, tuple(weight.shape))) != tuple(weight.shape):
            return f"{name} has shape {held}, and should have {tuple(weight.shape)}"
    return None


def _check_layers(directory: Path, config: PreTrainedConfig, report: dict[str, Any]) -> None:
    """Refuse weights inside layers that are left out, or that are not there; heads may differ."""
    for keys, what in (
        (report["unexpected_keys"], "the files hold {}, which it has no place for"),
        (report["missing_keys"], "the files lack {}"),
    ):
        if inside := sorted(key for key in keys if re.search(r"\.layers?\.\d+\.", key)):
            others = f" and {len(inside) - 1} more" if len(inside) > 1 else ""
            name = f"a {config.model_type} of {config.get_text_config().num_hidden_layers} layers"
            place = what.format(f"{inside[0]}{others}")
            raise Damaged(f"{directory}: the weights do not fit config.json, {name}: {place}")


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


def whole_model(auto: Any, directory: Path, what: str, device: torch.device) -> PreTrainedModel:
    """The model of a directory by one of transformers' Auto classes, with every weight it has: what it is to be."""
    try:
        model, report = from_directory(auto, directory)
    except (RuntimeError, ValueError, OSError) as error:
        raise Damaged(f"{directory}: the model cannot be loaded: {error}") from error
    if missing := report["missing_keys"]:
        raise BadInput(f"{directory}: not a whole {what}, its weights lack {min(missing)}")
    whole: PreTrainedModel = model.to(device).eval()
    return whole


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
