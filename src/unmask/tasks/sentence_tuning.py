"""What the tunings that learn vectors of texts have in common: an encoder without a head, rows, and their layout.

In: a model directory. Out: a directory that sentence-transformers loads offline, whose vectors `unmask embed` and
`unmask index` make too.
"""

from __future__ import annotations

import copy
from functools import cached_property
from pathlib import Path

import torch
from torch.nn import Module
from transformers import MODEL_MAPPING, AutoModel, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.files import whole_directory
from unmask.models.config import quiet_transformers
from unmask.models.masked_lm import length_of
from unmask.models.sentence_transformers import write_sentence_transformer
from unmask.tasks.rows import row_length
from unmask.tasks.sentence_rows import SentenceReader
from unmask.tasks.start import HeadKind, start_config
from unmask.tasks.tuned_model import TaskCard
from unmask.tasks.tuning import Tuning
from unmask.tokens.tokenizer.load import load_tokenizer


class SentenceTuning(Tuning):
    """A task whose model makes vectors of texts."""

    head = HeadKind(AutoModel, MODEL_MAPPING, "encoder")

    @cached_property
    def config(self) -> PreTrainedConfig:
        """The configuration of the encoder."""
        config = start_config(self.start, self.head)
        if config.is_encoder_decoder:
            raise BadInput(f"{self.start}: {config.model_type} has a decoder too; vectors are tuned of encoders alone")
        return config

    @cached_property
    def reader(self) -> SentenceReader:
        """The tokenizer with the length of rows."""
        with torch.device("meta"):
            shape = self.head.auto.from_config(self.config)
        tokenizer = load_tokenizer(self.start)
        return SentenceReader(tokenizer, row_length(self.settings.length, length_of(shape, tokenizer)))


def export_sentence_model(
    learner: Module, path: Path, *, card: TaskCard, tokenizer: PreTrainedTokenizerFast, readme: str
) -> None:
    """Write the encoder, its tokenizer, how its vectors are made, its README and what asking it takes."""
    assert isinstance(learner, PreTrainedModel)
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.model_max_length = card.length
    with whole_directory(path) as aside:
        with quiet_transformers():
            write_sentence_transformer(learner, tokenizer, aside, "mean", card.length)
        card.write(aside)
        (aside / "README.md").write_text(readme, encoding="utf-8")
