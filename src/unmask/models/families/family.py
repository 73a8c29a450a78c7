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
from unmask.models.families.detection import deberta, deberta_detector, deberta_generator, electra, electra_generator
from unmask.models.families.encoders import bert, ernie, modernbert, roberta, xlm_roberta
from unmask.models.families.sequential import gpt2, t5, xlnet
from unmask.models.families.sizes import SIZES, Size
from unmask.records import Vocabulary


@dataclass(frozen=True)
class Family:
    """How a family is configured, which class of transformers it is, and what its attention can do."""

    config: Callable[[Size, Vocabulary, int, float], PreTrainedConfig]
    made_by: Any = AutoModelForMaskedLM
    attention: str = "sdpa"
    packs: bool = True  # keeps several documents in a row apart
    tokenizer: str | None = None  # the kind it was published with, where that is a part of the method


FAMILIES = {
    "bert": Family(bert),
    "modernbert": Family(modernbert),
    "roberta": Family(roberta, tokenizer="bpe"),
    "xlm-roberta": Family(xlm_roberta, tokenizer="unigram"),
    "ernie": Family(ernie),
    "gpt2": Family(gpt2, AutoModelForCausalLM),
    "electra": Family(electra, AutoModelForPreTraining),
    "electra-generator": Family(electra_generator),
    "deberta": Family(deberta, attention="eager", packs=False),
    "deberta-v3": Family(deberta_detector, AutoModelForTokenClassification, attention="eager", packs=False),
    "deberta-v3-generator": Family(deberta_generator, attention="eager", packs=False),
    "t5": Family(t5, AutoModelForSeq2SeqLM),
    "xlnet": Family(xlnet, AutoModelForCausalLM, attention="eager"),
}


MASKED_LMS = frozenset(name for name, family in FAMILIES.items() if family.made_by is AutoModelForMaskedLM)


def build(
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
