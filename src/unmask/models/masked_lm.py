"""A directory to a masked language model of transformers, whole, and as its `config.json` says.

In: a model directory. Out: the model, in evaluation. Nothing is fetched, nothing is unpickled, and no code that came
with weights is run; weights that would be drawn at random are refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    quiet_transformers,
    read_config,
)
from unmask.models.locate import TASK
from unmask.models.settings import read_settings
from unmask.tokens.tokenizer.load import NOT_RUN, row_limit

PERMUTED = "xlnet"  # restores hidden tokens by queries
TUNED = {  # how the names of tuned models end: what they are for, and what they do
    "ForSequenceClassification": ("classification", "it labels texts"),
    "ForTokenClassification": ("tagging", "it labels words"),
    "ForQuestionAnswering": ("answering", "it answers questions"),
}


def checked_config(directory: Path, *, permuted: bool = False) -> PreTrainedConfig:
    """The configuration of a masked language model, held against the files; `permuted` takes XLNet too."""
    config = _masked_lm_config(directory, read_settings(directory), permuted=permuted)
    check_sizes(directory, config, _auto_class(config))
    return config


def load_masked_lm(directory: Path, config: PreTrainedConfig, device: torch.device) -> PreTrainedModel:
    """The model with its weights. One that came with code of its own is loaded if it needs none of it."""
    own_code = "auto_map" in read_settings(directory)
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


def shaped_masked_lm(directory: Path, weights: Path, device: torch.device) -> PreTrainedModel:
    """The model that a configuration describes, as a place for weights: none that those of `weights` could not fill."""
    config = _masked_lm_config(directory, read_settings(directory), permuted=False)
    check_sizes(directory, config, AutoModelForMaskedLM, weights)
    with quiet_transformers(), torch.random.fork_rng():
        model = AutoModelForMaskedLM.from_config(config, dtype=torch.float32)
    shaped: PreTrainedModel = model.to(device).eval()
    return shaped


def whole_model(auto: Any, directory: Path, what: str, device: torch.device) -> PreTrainedModel:
    """The model of a directory by one of transformers' Auto classes, with every weight it has: what it is to be."""
    model, report = fitting_model(auto, directory)
    if missing := report["missing_keys"]:
        raise BadInput(f"{directory}: not a whole {what}, its weights lack {min(missing)}")
    whole: PreTrainedModel = model.to(device).eval()
    return whole


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
    positions = getattr(model.config, "max_position_embeddings", None) or 0
    return row_limit(tokenizer, positions - first_position(model) if positions > 0 else None)


def first_position(model: PreTrainedModel) -> int:
    """RoBERTa and its kin count positions from the padding id + 1: 514 of them take 512 tokens."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.padding_idx) + 1
    return 0
