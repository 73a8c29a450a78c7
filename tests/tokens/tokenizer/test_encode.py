"""Laws of encoding: text never yields a special id; words start where words start, in any script, by any tokenizer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.tokens.tokenizer.encode import EncodedText, encode
from unmask.tokens.tokenizer.load import vocabulary_of

Trained = Callable[[str], PreTrainedTokenizerFast]
MARKS = set("ー\u0e46\u0e48\u0e35\u0e4c\u0e49\u0e34\u0e31\u094d\u0940")  # none of them can begin a word
SPELT = "[MASK] a[MASK] [CLS][SEP] [ MASK ] [mask] <mask> <s></s> [PAD][UNK] <pad>"


def words(tokenizer: PreTrainedTokenizerFast, text: str) -> list[str]:
    """The text cut where words start."""
    encoded = encode(tokenizer, [text], offsets=True)[0]
    assert encoded.offsets is not None
    begins = encoded.offsets[encoded.word_starts, 0].tolist()
    return [text[begin:end].strip() for begin, end in zip(begins, [*begins[1:], len(text)], strict=True)]


def never_special(tokenizer: PreTrainedTokenizerFast, encoded: EncodedText) -> bool:
    special = set(vocabulary_of(tokenizer).special) - {tokenizer.unk_token_id}
    return special.isdisjoint(encoded.ids.tolist())


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(st.sampled_from([*SPELT.split(), "the", " ", "\n", "猫", "."]) | st.text(max_size=5), max_size=12)
)
def test_text_never_yields_a_special_id(kind: str, trained: Trained, parts: list[str]) -> None:
    text = "".join(parts).encode(errors="replace").decode()
    assert never_special(trained(kind), encode(trained(kind), [text])[0])


@pytest.mark.parametrize("kind", ["unigram", "wordlevel", "wordpiece"])
def test_text_never_yields_a_special_id_of_a_foreign_tokenizer(kind: str, foreign: Trained) -> None:
    tokenizer = foreign(kind)
    encoded = encode(tokenizer, [SPELT, "the cat"], offsets=True)
    assert all(never_special(tokenizer, each) for each in encoded)
    ids, starts, offsets = encoded[0]
    assert len(ids) == len(starts) == len(offsets)
    assert [SPELT[begin:end] for begin, end in offsets.tolist()][-5:] == [*"<pad>"]
    assert starts[-5:].tolist() == [kind != "unigram", False, False, False, False]
    assert tokenizer(SPELT)["input_ids"].count(tokenizer.mask_token_id) == 1, "transformers itself reads it so"


@pytest.mark.parametrize("kind", ["unigram", "wordlevel", "wordpiece"])
def test_what_is_kept_can_be_spelt_and_no_other_special_id(kind: str, foreign: Trained) -> None:
    tokenizer = foreign(kind)
    mask = tokenizer.mask_token_id
    (encoded,) = encode(tokenizer, [SPELT], offsets=True, keep=frozenset({mask}))
    assert encoded.ids.tolist().count(mask) == 1
    assert never_special(tokenizer, EncodedText(encoded.ids[encoded.ids != mask], encoded.word_starts))
    (begin, end) = encoded.offsets[encoded.ids == mask][0].tolist()
    assert SPELT[begin:end].strip() == "<mask>"
    assert never_special(tokenizer, encode(tokenizer, [SPELT])[0]), "asked without, it is characters again"


def test_words_are_those_of_the_pre_tokenizer(kind: str, trained: Trained) -> None:
    text = "Undefinable things, e.g. (brackets), 1234 and an identifier."
    backend = trained(kind).backend_tokenizer
    found = [text[begin:end].strip() for _, (begin, end) in backend.pre_tokenizer.pre_tokenize_str(text)]
    assert words(trained(kind), text) == found
    assert {"Undefinable", "things", "brackets", "1234", "identifier"} <= set(found)


def test_every_token_belongs_to_a_word_and_the_first_starts_one(kind: str, trained: Trained, texts: list[str]) -> None:
    tokenizer = trained(kind)
    for text, encoded in zip(texts[:50], encode(tokenizer, texts[:50]), strict=True):
        ids = tokenizer(text, add_special_tokens=False)
        assert encoded.ids.tolist() == ids["input_ids"]
        numbers = np.array(ids.word_ids())
        assert encoded.word_starts.tolist() == [True, *(numbers[1:] != numbers[:-1]).tolist()]
        assert encoded.offsets is None
        assert (encoded.ids.dtype, encoded.word_starts.dtype) == (np.int32, np.bool_)


def test_scripts_without_spaces_have_words_of_a_piece_each(kind: str, trained: Trained, several: list[str]) -> None:
    for line, least in zip(several[1:4], (0.6, 0.6, 0.3), strict=True):  # merged bytes of Thai cross its characters
        encoded = encode(trained(kind), [line], offsets=True)[0]
        assert encoded.word_starts.mean() > least, "a clause is many words"
    assert "Python" in words(trained(kind), several[1])
    assert "Basic" in words(trained(kind), several[2])
    assert "Tom" in words(trained(kind), several[3])


def test_no_word_starts_inside_a_character_or_with_a_mark(kind: str, trained: Trained, several: list[str]) -> None:
    for line in [*several, "𠀀𠀁 生僻字"]:
        encoded = encode(trained(kind), [line], offsets=True)[0]
        begins = encoded.offsets[encoded.word_starts, 0].tolist()
        assert len(set(begins)) == len(begins), "bytes of one character are not two words"
        assert not MARKS & {line[begin] for begin in begins}
        assert "".join(words(trained(kind), line)).replace(" ", "") == line.replace(" ", "")


def test_words_of_hindi_keep_their_vowel_signs(kind: str, trained: Trained, several: list[str]) -> None:
    assert words(trained(kind), several[4])[:4] == ["हिन्दी", "में", "लिखा", "हुआ"]


def test_a_tokenizer_that_calls_a_text_one_word_has_its_words_by_their_spaces(foreign: Trained) -> None:
    tokenizer = foreign("unigram")
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    assert words(tokenizer, "the cat the cat") == ["the", "cat", "the", "cat"]


def test_offsets_are_where_each_token_stands(kind: str, trained: Trained) -> None:
    text = "Naïve types — and values"
    encoded = encode(trained(kind), [text], offsets=True)[0]
    assert encoded.offsets.shape == (len(encoded.ids), 2)
    places = encoded.offsets.tolist()
    assert places == sorted(places) and all(begin < end for begin, end in places)
    covered = {place for begin, end in places for place in range(begin, end)}
    assert {place for place, letter in enumerate(text) if letter != " "} <= covered <= set(range(len(text)))


def test_an_empty_text_has_no_tokens(kind: str, trained: Trained) -> None:
    encoded = encode(trained(kind), ["", "a"], offsets=True)
    assert [len(part) for part in encoded[0]] == [0, 0, 0]
    assert encoded[0].offsets.shape == (0, 2)
    assert len(encoded[1].ids) >= 1


def test_padding_and_truncation_of_a_tokenizer_do_not_touch_the_data(trained: Trained) -> None:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=trained("bpe").backend_tokenizer, pad_token="[PAD]")
    plain = encode(tokenizer, ["one two three four", "one"])
    tokenizer(["one two three four", "one"], padding=True, truncation=True, max_length=3)
    after = encode(tokenizer, ["one two three four", "one"])
    assert [each.ids.tolist() for each in plain] == [each.ids.tolist() for each in after]


def test_tokens_added_later_are_seen(trained: Trained) -> None:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=trained("wordpiece").backend_tokenizer, unk_token="[UNK]")
    encode(tokenizer, ["zyzzyva"])
    tokenizer.add_tokens(["zyzzyva"])
    assert encode(tokenizer, ["zyzzyva"])[0].ids.tolist() == [len(tokenizer) - 1]


def test_a_lone_surrogate_is_one_clear_line(trained: Trained) -> None:
    with pytest.raises(BadInput, match="surrogate") as error:
        encode(trained("bpe"), ["fine", "\ud800"])
    assert "\n" not in str(error.value)
