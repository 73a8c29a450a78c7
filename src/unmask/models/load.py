"""A directory to a model that can be asked: any masked language model of transformers, ours or not.

In: a run, a model directory, or a name on the hub. Out: the model, its tokenizer, and what both need to agree on.
Nothing but a model that was named is fetched, nothing is unpickled, and no code that came with weights is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import (
    MODEL_FOR_MASKED_LM_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from unmask.errors import BadInput
from unmask.models.config import (
    check_layers,
    check_sizes,
    fitting_model,
    from_directory,
    misfit,
    read_config,
    read_settings,
)
from unmask.models.locate import TASK, model_directory
from unmask.records import Vocabulary
from unmask.tokens.tokenizer.load import NOT_RUN, load_tokenizer, vocabulary_of

if TYPE_CHECKING:
    from unmask.models.modernbert_rows import RowPredictor

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
PERMUTED = "xlnet"  # restores hidden tokens by queries
UNLIMITED = 1_000_000  # tokenizers that know of no limit claim 10³⁰
TUNED = {  # how the names of tuned models end: what they are for, and what they do
    "ForSequenceClassification": ("classification", "it labels texts"),
    "ForTokenClassification": ("tagging", "it labels words"),
    "ForQuestionAnswering": ("answering", "it answers questions"),
}


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
    settings = read_settings(directory)
    config = _masked_lm_config(directory, settings, permuted=permuted)
    check_sizes(directory, config, _auto_class(config))
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


def _masked_lm_config(directory: Path, settings: dict[str, Any], *, permuted: bool) -> PreTrainedConfig:
    config = read_config(directory, settings)
    for ending, (purpose, use) in TUNED.items():
        if any(name.endswith(ending) for name in config.architectures or ()):
            use = f"unmask predict {directory} TEXT asks it" if (directory / TASK).is_file() else use
            raise BadInput(f"{directory}: is tuned for {purpose} and has no head that fills blanks; {use}")
    kind = config.model_type
    if type(config) not in MODEL_FOR_MASKED_LM_MAPPING and not (permuted and kind == PERMUTED):
        raise BadInput(f"{directory}: {kind} is not a masked language model, it has no head that fills blanks")
    return config


def _auto_class(config: PreTrainedConfig) -> Any:
    return AutoModelForCausalLM if config.model_type == PERMUTED else AutoModelForMaskedLM


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
        raise misfit(directory, config, _auto_class(config), error) from error
    if own_code and (report["missing_keys"] or report["unexpected_keys"]):
        raise BadInput(own)
    check_layers(directory, config, report)
    _check_complete(directory, report)
    eval_model: PreTrainedModel = model.to(device).eval()
    return eval_model


def whole_model(auto: Any, directory: Path, what: str, device: torch.device) -> PreTrainedModel:
    """The model of a directory by one of transformers' Auto classes, with every weight it has: what it is to be."""
    model, report = fitting_model(auto, directory)
    if missing := report["missing_keys"]:
        raise BadInput(f"{directory}: not a whole {what}, its weights lack {min(missing)}")
    whole: PreTrainedModel = model.to(device).eval()
    return whole


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
