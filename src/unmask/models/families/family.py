"""Models by family and size: transformers' own classes, configured in this folder and nowhere else.

In: a family, a size and a vocabulary. Out: a fresh model with weights drawn from a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    AutoModelForSeq2SeqLM,
    AutoModelForTokenClassification,
    PreTrainedConfig,
    PreTrainedModel,
)

from unmask.errors import BadInput
from unmask.models.families.architectures import ARCHITECTURES
from unmask.models.families.detection import deberta, deberta_detector, deberta_generator, electra, electra_generator
from unmask.models.families.encoders import bert, ernie, modernbert, mpnet, roberta, xlm_roberta, xlm_roberta_xl
from unmask.models.families.sequential import gpt2, t5, xlnet
from unmask.models.families.sizes import SIZES, Size
from unmask.records import Vocabulary


@dataclass(frozen=True)
class Family:
    """An architecture of transformers, how it is configured, and which class of it is built."""

    model_type: str  # its line in `ARCHITECTURES`
    config: Callable[[Size, Vocabulary, int, float], PreTrainedConfig]
    made_by: Any = AutoModelForMaskedLM
    attention: str = "sdpa"
    tokenizer: str | None = None  # the kind it was published with, where that is a part of the method

    @property
    def packs(self) -> bool:
        """Whether it keeps several documents in a row apart."""
        return ARCHITECTURES[self.model_type].packs


FAMILIES = {
    "bert": Family("bert", bert),
    "modernbert": Family("modernbert", modernbert),
    "roberta": Family("roberta", roberta, tokenizer="bpe"),
    "xlm-roberta": Family("xlm-roberta", xlm_roberta, tokenizer="unigram"),
    "xlm-roberta-xl": Family("xlm-roberta-xl", xlm_roberta_xl, tokenizer="unigram"),
    "ernie": Family("ernie", ernie),
    "gpt2": Family("gpt2", gpt2, AutoModelForCausalLM),
    "electra": Family("electra", electra, AutoModelForPreTraining),
    "electra-generator": Family("electra", electra_generator),
    "deberta": Family("deberta-v2", deberta, attention="eager"),
    "deberta-v3": Family("deberta-v2", deberta_detector, AutoModelForTokenClassification, attention="eager"),
    "deberta-v3-generator": Family("deberta-v2", deberta_generator, attention="eager"),
    "t5": Family("t5", t5, AutoModelForSeq2SeqLM),
    "mpnet": Family("mpnet", mpnet, attention="eager"),
    "xlnet": Family("xlnet", xlnet, AutoModelForCausalLM, attention="eager"),
}


MASKED_LMS = frozenset(name for name, family in FAMILIES.items() if family.made_by is AutoModelForMaskedLM)


def build_model(
    family: str, size: str | Size, vocabulary: Vocabulary, *, length: int, dropout: float, seed: int
) -> PreTrainedModel:
    """A fresh model whose weights depend on the seed alone."""
    if family not in FAMILIES:
        raise BadInput(f"unknown model family {family!r}: choose one of {', '.join(FAMILIES)}")
    if isinstance(size, str) and size not in SIZES:
        raise BadInput(f"unknown model size {size!r}: choose one of {', '.join(SIZES)}")
    kind = FAMILIES[family]
    config = kind.config(SIZES[size] if isinstance(size, str) else size, vocabulary, length, dropout)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model: PreTrainedModel = kind.made_by.from_config(config, attn_implementation=kind.attention)
        return model
