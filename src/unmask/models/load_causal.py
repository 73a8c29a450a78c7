"""A directory to a model that reads from left to right: GPT-2 and its like, ours or not.

In: a model directory. Out: a `LoadedModel` whose mask stands for nothing, for such models and their tokenizers have
none. Nothing is fetched from a network, nothing is unpickled, and no code that came with the weights is run.
"""

from __future__ import annotations

from pathlib import Path

from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.models.load import LoadedModel, check_precision, chosen_device
from unmask.models.masked_lm import is_masked_lm, length_of, whole_model
from unmask.models.weights import weight_files
from unmask.records import Vocabulary
from unmask.tokens.tokenizer.load import load_tokenizer, special_ids, vocabulary_size

OTHERWISE = {"xlnet"}  # of transformers' causal models those that see what comes later
SCALED = ("final_logit_softcapping", "logit_scale")  # settings of heads that do more than compare


def is_causal_lm(directory: Path) -> bool:
    """Whether a model directory is of a kind that reads from left to right, and of none that fills blanks."""
    try:
        config = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    except (ValueError, KeyError, OSError):  # whoever loads it says what is wrong with it
        return False
    causal = type(config) in MODEL_FOR_CAUSAL_LM_MAPPING and config.model_type not in OTHERWISE
    return causal and not is_masked_lm(directory)


def load_causal(directory: Path, *, device: str | None = None, precision: str = "float32") -> LoadedModel:
    """Load the causal language model of a model directory."""
    place = chosen_device(device)
    check_precision(precision)
    weight_files(directory)
    tokenizer = load_tokenizer(directory)
    vocabulary = causal_vocabulary(tokenizer)
    model = whole_model(AutoModelForCausalLM, directory, "language model", place)
    if model.config.vocab_size < vocabulary.size:
        raise BadInput(
            f"{directory}: the tokenizer has {vocabulary.size:,} tokens and the model {model.config.vocab_size:,}: "
            "they do not belong together"
        )
    if any(getattr(model.config, name, None) not in (None, 1.0) for name in SCALED):
        raise BadInput(
            f"{directory}: a {model.config.model_type} changes its logits after its last layer; not supported"
        )
    length = length_of(model, tokenizer)
    positions = getattr(model.config, "n_positions", None)  # what GPT-2 calls them
    length = min((limit for limit in (length, positions) if limit), default=None)
    return LoadedModel.of(directory, model, tokenizer, vocabulary, length, precision)


def causal_vocabulary(tokenizer: PreTrainedTokenizerFast) -> Vocabulary:
    """The size and the special ids of a tokenizer without a mask; the token that ends a text opens one, in GPT-2."""
    candidates = (tokenizer.cls_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id)
    start = next((number for number in candidates if number is not None), None)
    if start is None:
        raise BadInput(
            f"{tokenizer.name_or_path}: has no token that opens a text, so its first word has no probability"
        )
    ends = (tokenizer.sep_token_id, tokenizer.eos_token_id, start)
    end = next(number for number in ends if number is not None)
    return Vocabulary(
        size=vocabulary_size(tokenizer), mask=start, pad=end, start=start, end=end, special=special_ids(tokenizer)
    )
