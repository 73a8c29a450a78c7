"""One small random model of each family that masked language modelling is used with."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from transformers import (
    AlbertConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    ErnieConfig,
    GPT2Config,
    ModernBertConfig,
    MPNetConfig,
    PreTrainedModel,
    RobertaConfig,
    XLMRobertaConfig,
    XLMRobertaXLConfig,
)

SMALL = {
    "vocab_size": 211,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
SPECIALS = {"bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}

CONFIGS = {
    "bert": BertConfig(**SMALL),
    "roberta": RobertaConfig(**{**SMALL, "pad_token_id": 1}),
    "xlm-roberta": XLMRobertaConfig(**{**SMALL, "pad_token_id": 1}),
    "xlm-roberta-xl": XLMRobertaXLConfig(**{**SMALL, "pad_token_id": 1}),
    "modernbert": ModernBertConfig(**SMALL, **SPECIALS, local_attention=8),
    "deberta-v2": DebertaV2Config(**SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "electra": ElectraConfig(**SMALL, embedding_size=16),
    "ernie": ErnieConfig(**SMALL),
    "gpt2": GPT2Config(vocab_size=211, n_embd=32, n_layer=3, n_head=4, n_positions=64, pad_token_id=0),
    "albert": AlbertConfig(**SMALL, embedding_size=16),
    "mpnet": MPNetConfig(**SMALL),
    "distilbert": DistilBertConfig(
        vocab_size=211, dim=32, n_layers=3, n_heads=4, hidden_dim=48, max_position_embeddings=64
    ),
}


def build(family: str) -> PreTrainedModel:
    torch.manual_seed(0)
    made_by = AutoModelForCausalLM if family == "gpt2" else AutoModelForMaskedLM
    return made_by.from_config(deepcopy(CONFIGS[family])).eval()


@pytest.fixture
def make() -> Callable[[str], PreTrainedModel]:
    return build


@pytest.fixture(params=CONFIGS)
def model(request: pytest.FixtureRequest) -> PreTrainedModel:
    return build(request.param)
