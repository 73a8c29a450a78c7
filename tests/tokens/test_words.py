"""The `word` policy on real tokenizers: every kind of them, on scripts with and without spaces."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from unmask.corruption import policy
from unmask.corruption.policy import policy_named
from unmask.records import Blocks
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.load import vocabulary_of
from unmask.tokens.tokenizer.train import train_tokenizer

TEXTS = {
    "English": "Unbelievable foxes, undoing their shoelaces, outran the well-known greyhounds unexpectedly.",
    "Korean": "한국어는 띄어쓰기를 하는 언어입니다, 그래서 낱말을 쉽게 찾을 수 있습니다.",
    "Arabic": "اللغة العربية تكتب من اليمين إلى اليسار وكلماتها مفصولة بمسافات.",
    "Chinese": "掩码语言模型学习恢复被隐藏的词语,因此需要知道什么是一个词。",
    "Japanese": "言語モデルは隠された単語を元に戻すことを学びます。カタカナもあります。",
    "Thai": "แบบจำลองภาษาเรียนรู้ที่จะเติมคำที่ซ่อนอยู่ในประโยคภาษาไทย",
    "mixed": "The word 掩码 means mask, and คำ means a word; 단어도 같은 뜻입니다.",
}
SPACED = re.compile(r"[^\W\d_]+", re.UNICODE)
UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")


def characters() -> PreTrainedTokenizerFast:
    """A tokenizer whose tokens are single characters."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = sorted({letter for text in TEXTS.values() for letter in text if not letter.isspace()})
    backend = Tokenizer(models.BPE({token: n for n, token in enumerate(special + letters)}, [], unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    return PreTrainedTokenizerFast(tokenizer_object=backend, **dict(zip(names, special, strict=True)))


@pytest.fixture(scope="module")
def tokenizers():
    rng = np.random.default_rng(0)
    slices = ((text, rng.integers(0, len(text) - 4), rng.integers(2, 5)) for text in TEXTS.values() for _ in range(200))
    corpus = [text[begin : begin + size] for text, begin, size in slices]  # so that no piece is a whole clause
    sizes = {"wordpiece": 330, "bpe": 420, "unigram": 330}
    made = {kind: train_tokenizer(corpus, kind, size, True) for kind, size in sizes.items()}
    return {**made, "characters": characters()}


def hidden_characters(tokenizer, text, rate, number):
    (encoded,) = encode(tokenizer, [text], offsets=True)
    row = Blocks(
        encoded.ids[None],
        encoded.word_starts[None],
        np.ones((1, len(encoded.ids)), dtype=np.int32),
        np.array([number]),
        0,
    )
    corrupted = policy.corrupt(row, policy_named("word", rate), vocabulary_of(tokenizer), seed=0)
    hidden = np.zeros(len(text), dtype=np.bool_)
    for (begin, end), flag in zip(encoded.offsets, corrupted.hidden[0], strict=True):
        hidden[begin:end] |= flag
    return hidden, corrupted


@pytest.mark.parametrize("language", ["English", "Korean", "Arabic", "mixed"])
@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram", "characters"])
def test_a_word_of_a_spaced_script_is_hidden_whole(tokenizers, kind, language):
    text = TEXTS[language]
    seen = 0
    for number in range(20):
        hidden, corrupted = hidden_characters(tokenizers[kind], text, 0.3, number)
        assert corrupted.hidden.any()
        for word in SPACED.finditer(text):
            if not UNSPACED.search(word[0]):
                assert len(set(hidden[word.start() : word.end()].tolist())) == 1, word[0]
                seen += bool(hidden[word.start()])
    assert seen


@pytest.mark.parametrize("language", ["Chinese", "Japanese", "Thai"])
@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_a_clause_of_an_unspaced_script_is_not_one_word(tokenizers, kind, language):
    hidden, corrupted = hidden_characters(tokenizers[kind], TEXTS[language], 0.3, 0)
    assert 0.1 < hidden.mean() < 0.55
    assert len(np.unique(corrupted.units)) > 2
