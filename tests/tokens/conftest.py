"""What the tests of tokens start from: the corpus as documents, and a tokenizer of each kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pydoc_data.topics import topics

import pytest
from transformers import PreTrainedTokenizerFast

from unmask.tokens.tokenizer.train import train_tokenizer

SIZES = {"wordpiece": 1000, "bpe": 1000, "unigram": 1000}
SEVERAL = (
    "Ça va? Déjà vu — naïve.",
    "我喜欢猫。我不喜欢狗。Python很好。",
    "猫が好きです。ダイアログを開く。Basicを使う。",
    "ฉันชอบแมวและสุนัข Tom ชอบด้วย",
    "हिन्दी में लिखा हुआ वाक्य।",
    "ラーメンを食べる มากๆ ที่นี่",
)


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Some 400 paragraphs of English, 100 KB: the interpreter's help on its language."""
    paragraphs = "\n\n".join(topics[name] for name in sorted(topics)).split("\n\n")
    prose = [" ".join(text.split()) for text in paragraphs if text.strip().endswith(".") and len(text) > 100]
    return prose[:400]


@pytest.fixture(scope="session")
def several() -> list[str]:
    """One line in each of several scripts."""
    return list(SEVERAL)


@pytest.fixture(scope="session")
def trained(texts: list[str]) -> Callable[[str], PreTrainedTokenizerFast]:
    """A tokenizer of a kind, trained on English and on lines in other scripts; do not change it."""
    return cache(lambda kind: train_tokenizer([*texts, *SEVERAL * 20], kind, SIZES[kind]))
