"""Laws of training a tokenizer: any kind, the same bytes, the size asked for, and the text comes back."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.tokens.tokenizer.train import KINDS, SPECIAL, sample_texts, train_tokenizer

SIZE = 800
SEVERAL = [
    "Ça va? Déjà vu — naïve.",
    "我喜欢猫。我不喜欢狗。",
    "猫が好きです。犬も好きです。",
    "ฉันชอบแมวและสุนัข",
]


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def test_a_kind_has_exactly_the_size_asked_for_and_the_special_tokens_first(kind: str, texts: list[str]) -> None:
    tokenizer = train_tokenizer(texts, kind, SIZE)
    assert len(tokenizer) == tokenizer.backend_tokenizer.get_vocab_size() == SIZE
    assert tuple(tokenizer.convert_ids_to_tokens(range(5))) == SPECIAL
    named = (
        tokenizer.pad_token,
        tokenizer.unk_token,
        tokenizer.cls_token,
        tokenizer.sep_token,
        tokenizer.mask_token,
    )
    assert named == SPECIAL


def test_text_stands_between_cls_and_sep_and_a_mask_takes_the_space_before_it(kind: str, texts: list[str]) -> None:
    tokenizer = train_tokenizer(texts, kind, SIZE)
    ids = tokenizer("the type [MASK] the value")["input_ids"]
    assert (ids[0], ids[-1], ids.count(tokenizer.mask_token_id)) == (2, 3, 1)
    before, after = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("the type", " the value"))
    assert ids[1:-1] == [*before, tokenizer.mask_token_id, *after]
    pair = tokenizer("a", "b")["input_ids"]
    assert [token for token in pair if token in (2, 3)] == [2, 3, 3]


def test_the_same_text_gives_the_same_bytes_in_another_process(texts: list[str], tmp_path: Path) -> None:
    code = (
        "import json, sys; from unmask.tokens.tokenizer.train import KINDS, train_tokenizer\n"
        "texts = json.load(open(sys.argv[1]))\n"
        "trained = [train_tokenizer(texts, kind, int(sys.argv[2])) for kind in KINDS]\n"
        "print(json.dumps([tokenizer.backend_tokenizer.to_str() for tokenizer in trained]))"
    )
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    words = [sys.executable, "-c", code, str(tmp_path / "texts.json"), str(SIZE)]
    there = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    for kind, text in zip(KINDS, there, strict=True):
        assert train_tokenizer(texts, kind, SIZE).backend_tokenizer.to_str() == text, kind


def test_text_in_any_script_comes_back_from_bytes_and_pieces(texts: list[str], several: list[str]) -> None:
    mixed = [*texts[:100], *several * 20]
    for kind in ("bpe", "unigram"):
        tokenizer = train_tokenizer(mixed, kind, 900)
        for text in [*several, "two\nlines, and don't (really)."]:
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            assert tokenizer.unk_token_id not in ids
            assert tokenizer.decode(ids) == text


def test_bytes_know_every_text(texts: list[str]) -> None:
    tokenizer = train_tokenizer(texts[:50], "bpe", 300)
    text = "Ω≈ç√ 🤖 ไทย \N{ZERO WIDTH JOINER} \x7f"
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == text
    assert tokenizer.unk_token_id not in ids


def test_cased_keeps_capitals_and_accents_and_uncased_does_not(texts: list[str], several: list[str]) -> None:
    mixed = [*texts[:100], *several * 20]
    for kind in KINDS:
        cased, uncased = (train_tokenizer(mixed, kind, 700, cased=each) for each in (True, False))
        assert "Ç" in cased.decode(cased("Ça va Déjà")["input_ids"])
        told = [uncased(text)["input_ids"] for text in ("ÇA VA DÉJÀ", "ça va déjà")]
        assert told[0] == told[1]
    accents = train_tokenizer(mixed, "wordpiece", 400, cased=False)
    assert accents("déjà")["input_ids"] == accents("deja")["input_ids"]


def test_every_word_of_known_characters_has_wordpieces() -> None:
    tokenizer = train_tokenizer(["aab abb bba", "Zoo zoo"] * 10, "wordpiece", 24)
    assert tokenizer.unk_token_id not in tokenizer("bZoabZ")["input_ids"]


def test_a_vocabulary_larger_than_the_text_allows_is_refused_with_the_largest_that_works(
    kind: str, texts: list[str]
) -> None:
    few = texts[:5]
    with pytest.raises(BadInput, match="larger than the text allows: ask for") as refused:
        train_tokenizer(few, kind, 50_000)
    allowed = int(str(refused.value).split("ask for ")[1].split()[0].replace(",", ""))
    assert len(train_tokenizer(few, kind, allowed)) == allowed
    with pytest.raises(BadInput, match="larger than the text allows"):
        train_tokenizer(few, kind, allowed + 1)


def test_a_vocabulary_without_room_for_the_characters_is_refused(kind: str, texts: list[str]) -> None:
    with pytest.raises(BadInput, match=r"no room for the characters of the text: ask for [\d,]+ or more") as refused:
        train_tokenizer(texts[:20], kind, 10)
    assert "\n" not in str(refused.value)


def test_an_unknown_kind_and_no_text_are_refused() -> None:
    with pytest.raises(BadInput, match=r"'wordpeace'.*wordpiece, bpe, unigram"):
        train_tokenizer(["text"], "wordpeace", 100)
    with pytest.raises(BadInput, match="no text"):
        train_tokenizer(["", ""], "bpe", 300)


def test_a_character_too_rare_for_the_alphabet_takes_no_place_of_a_piece(texts: list[str]) -> None:
    rare = "".join(chr(code) for code in range(0x4E00, 0x4E00 + 3000))
    for kind in ("wordpiece", "unigram"):
        vocab = train_tokenizer([*texts, rare], kind, 1000).get_vocab()
        assert sum(any(character in rare for character in token) for token in vocab) < 256
        assert len(vocab) == 1000


def test_a_sample_is_spread_over_the_corpus_and_within_its_limit() -> None:
    numbers = [f"{number:04}" for number in range(1000)]
    kept = sample_texts(iter(numbers), 400)
    assert 200 <= sum(map(len, kept)) <= 400
    steps = {int(after) - int(before) for before, after in pairwise(kept)}
    assert len(steps) == 1
    assert int(kept[-1]) > 980
    assert sample_texts(numbers, 4000) == numbers
    assert sample_texts(["one long text"], 3) == ["one long text"]
