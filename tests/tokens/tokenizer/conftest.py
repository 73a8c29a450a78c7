"""What the tests of tokenizers start from: each kind of ours, and tokenizers as others make them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from unmask.tokens.tokenizer.train import KINDS


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def foreign() -> Callable[[str], PreTrainedTokenizerFast]:
    """Makes a tokenizer of a kind, in which a special token's text is a piece like any other."""
    return _foreign


def _foreign(kind: str) -> PreTrainedTokenizerFast:
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    characters = [*"▁<>s/maskpadunk[]MASKCLEPUN", "▁the", "▁cat"]
    pieces = [*names, *dict.fromkeys(characters)]
    match kind:
        case "unigram":  # XLM-R
            model = models.Unigram([(piece, -len(pieces) + n * 0.1) for n, piece in enumerate(pieces)], 3, False)
            pre = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
        case "wordlevel":
            model = models.WordLevel({piece: n for n, piece in enumerate(pieces)}, "<unk>")
            pre = pre_tokenizers.WhitespaceSplit()
        case "wordpiece":
            model = models.WordPiece({piece: n for n, piece in enumerate(pieces)}, unk_token="<unk>")
            pre = pre_tokenizers.WhitespaceSplit()
    backend = Tokenizer(model)
    backend.pre_tokenizer = pre
    backend.add_special_tokens([AddedToken(name, special=True, lstrip=name == "<mask>") for name in names])
    roles = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    }
    return PreTrainedTokenizerFast(tokenizer_object=backend, **roles)
