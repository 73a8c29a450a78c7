"""Words as a segmenter cuts them: in encoding, in a data directory, and in the phrases that are hidden there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.evaluation.audit import audit_data
from unmask.tokens.prepare import prepare
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.encode import EncodedText
from unmask.tokens.tokenizer.segments import encode_words, named_segmenter
from unmask.tokens.tokenizer.train import train_tokenizer

WORDS = ["我", "不", "喜欢", "猫", "。", "狗", "Python", "很", "好"]
MODULE = """
import re

def cut(text):
    return re.findall("喜欢|[a-zA-Z]+|.", text)

number = 3
"""


def cut(text: str) -> Iterable[str]:
    """The longest of these words first."""
    import re

    return re.findall("|".join(sorted(WORDS, key=len, reverse=True)), text)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_a_token_starts_a_word_where_the_segmenter_says(kind: str) -> None:
    text = "我喜欢猫。 我不喜欢狗。Python很好。"
    # of single letters, so that no piece is a word
    tokenizer = train_tokenizer([*text * 9, "Python", "Pythonista"], kind)
    (one,) = encode_words(tokenizer, [text], cut, offsets=True)
    (plain,) = encode_words(tokenizer, [text], offsets=True)
    assert (one.ids == plain.ids).all()
    assert "喜欢" in spelt(text, one) and set(spelt(text, one)) - {""} <= set(WORDS)
    assert "喜欢" not in spelt(text, plain)


def spelt(text: str, encoded: EncodedText) -> list[str]:
    """The words of a text, as its tokens tell them."""
    assert encoded.offsets is not None
    words = np.split(encoded.offsets, np.flatnonzero(encoded.word_starts)[1:])
    return [text[word[0][0] : word[-1][1]].strip() for word in words]


def test_what_is_in_no_word_keeps_the_words_it_has(trained: Callable[[str], PreTrainedTokenizerFast]) -> None:
    text = "the cat, the dog"
    (one,) = encode_words(trained("wordpiece"), [text], lambda text: ["cat"])
    (plain,) = encode_words(trained("wordpiece"), [text])
    assert (one.word_starts == plain.word_starts).all()
    with pytest.raises(BadInput, match="the segmenter gives 'Cat', which the text does not have"):
        encode_words(trained("wordpiece"), [text], lambda text: ["Cat"])


def test_data_and_phrases_have_the_words_of_the_segmenter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_words.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    texts = [f"我喜欢猫{'不' * (n % 5)}我不喜欢狗{n}好好好好好好好好好好好" for n in range(200)]
    (tmp_path / "in.txt").write_text("\n\n".join(texts), encoding="utf-8")
    made = {}
    for name, words in (("plain", None), ("cut", "my_words:cut")):
        prepare([str(tmp_path / "in.txt")], tmp_path / name, vocab_size=40, valid=0.1, segmenter=words)
        made[name] = Dataset.open(tmp_path / name)
    streams = [one.split("train") for one in made.values()]
    (ids, plain), (same, starts) = (stream.read(0, stream.tokens) for stream in streams)
    assert (ids == same).all() and starts.sum() < plain.sum()
    found = audit_data(tmp_path / "cut", "phrase", phrases=["喜欢猫"], length=64, rate=0.5)
    assert found.lengths[3] > 0  # the phrase of two words and three tokens was found


def test_a_segmenter_that_is_none_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_words.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert named_segmenter("my_words:cut")("我喜欢") == ["我", "喜欢"]
    for name in ("nowhere_at_all:cut", "my_words:cutt", "my_words", ":cut", "my_words:number"):
        with pytest.raises(BadInput, match=f"segmenter '{name}'"):
            prepare(["nowhere.txt"], tmp_path / "data", segmenter=name)
