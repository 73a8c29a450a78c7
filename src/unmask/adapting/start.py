"""What an adaptation starts from: a model of transformers, ours or not, and data in its own tokens.

In: a model directory and data directories. Out: the model, ready to be trained. An encoder without a head that restores
tokens gets one, drawn from the seed, its output bias the log-frequencies of the domain; a tokenizer that was extended
brings rows for its new words.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoModelForMaskedLM, PreTrainedModel

from unmask.adapting.extension import Extension
from unmask.errors import BadInput
from unmask.models.config import fitting_model
from unmask.models.init import set_unigram_bias
from unmask.models.masked_lm import TUNED, length_of, whole_model
from unmask.models.new_rows import add_rows
from unmask.models.settings import read_settings
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.load import load_tokenizer

USUAL_LENGTH = 128  # tokens in a block


@dataclass(frozen=True)
class AdaptStart:
    """A model and its texts as training begins, and as they were given."""

    directory: Path  # the model that training begins with
    domain: Dataset  # in its tokens
    general: Dataset | None
    model: Path  # the one that was named
    data: Dataset  # in the tokens of that one
    replay: Dataset | None
    extension: Extension | None = None  # words that the named model does not have
    lacking: frozenset[str] = frozenset()  # weights of a head that the named model does not have
    moment: Path | None = None  # a checkpoint of the named run from before its learning rate fell

    @property
    def is_raw(self) -> bool:
        """Whether something is to be added to the model before it is adapted."""
        return self.directory == self.model and bool(self.extension or self.lacking)

    def masked_lm(self, seed: int = 0) -> PreTrainedModel:
        """The model, with what it lacked before."""
        if not self.is_raw:
            return start_masked_lm(self.directory)
        counts = self.domain.counts
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model: PreTrainedModel
            model, _ = fitting_model(AutoModelForMaskedLM, self.directory)
        if self.lacking:
            first = len(counts) if self.extension is None else self.extension.first
            set_unigram_bias(model, counts[:first])
        if self.extension is not None:
            add_rows(model, self.extension.first, self.extension.pieces, counts)
        return model


def start_masked_lm(directory: Path) -> PreTrainedModel:
    """The masked language model of a directory, with every weight it has."""
    with torch.random.fork_rng():
        return whole_model(AutoModelForMaskedLM, directory, "masked language model", torch.device("cpu"))


def lacking_head(directory: Path) -> frozenset[str]:
    """The weights of a head that restores tokens which an encoder lacks; none of a masked language model.

    Encoders that were tuned to label something are refused: adapting comes before tuning.
    """
    for ending, (purpose, _) in TUNED.items():
        if any(str(name).endswith(ending) for name in read_settings(directory).get("architectures") or ()):
            raise BadInput(
                f"{directory}: is tuned for {purpose}; adapt the model that it was tuned from, and tune it after"
            )
    with torch.random.fork_rng():
        model, report = fitting_model(AutoModelForMaskedLM, directory)
    missing = frozenset(report["missing_keys"])
    trunk = f"{model.base_model_prefix}."
    if inside := sorted(name for name in missing if name.startswith(trunk)):
        raise BadInput(f"{directory}: its weights lack {inside[0]}; it is not a whole encoder")
    return missing


def block_length(directory: Path, model: PreTrainedModel, asked: int | None) -> int:
    """Tokens in a block: as asked for, at most what the model takes; 128 where nobody says."""
    longest = length_of(model, load_tokenizer(directory))
    if asked is not None and longest is not None and asked > longest:
        raise BadInput(f"--length {asked}: this model takes rows of {longest:,} tokens at the most")
    return asked or min(USUAL_LENGTH, longest or USUAL_LENGTH)
