"""Laws of encoding: text never yields a special id; words start where words start, in any script, by any tokenizer."""

from __future__ import annotations

import errno
import json
import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerFast

from unmask.errors import BadInput, Damaged
from unmask.tokens.tokenizer.tokenizer import KINDS, Encoded, encode, load, save, vocabulary

Trained = Callable[[str], PreTrainedTokenizerFast]
MARKS = set("ー\u0e46\u0e48\u0e35\u0e4c\u0e49\u0e34\u0e31\u094d\u0940")  # none of them can begin a word
SPELT = "[MASK] a[MASK] [CLS][SEP] [ MASK ] [mask] <mask> <s></s> [PAD][UNK] <pad>"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def foreign(kind: str) -> PreTrainedTokenizerFast:
    """Tokenizers as others make them, in which a special token's text is a piece like any other."""
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


def words(tokenizer: PreTrainedTokenizerFast, text: str) -> list[str]:
    """The text cut where words start."""
    encoded = encode(tokenizer, [text], offsets=True)[0]
    assert encoded.offsets is not None
    begins = encoded.offsets[encoded.word_starts, 0].tolist()
    return [text[begin:end].strip() for begin, end in zip(begins, [*begins[1:], len(text)], strict=True)]


def never_special(tokenizer: PreTrainedTokenizerFast, encoded: Encoded) -> bool:
    special = set(vocabulary(tokenizer).special) - {tokenizer.unk_token_id}
    return special.isdisjoint(encoded.ids.tolist())


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(st.sampled_from([*SPELT.split(), "the", " ", "\n", "猫", "."]) | st.text(max_size=5), max_size=12)
)
def test_text_never_yields_a_special_id(kind: str, trained: Trained, parts: list[str]) -> None:
    text = "".join(parts).encode(errors="replace").decode()
    assert never_special(trained(kind), encode(trained(kind), [text])[0])


@pytest.mark.parametrize("kind", ["unigram", "wordlevel", "wordpiece"])
def test_text_never_yields_a_special_id_of_a_foreign_tokenizer(kind: str) -> None:
    tokenizer = foreign(kind)
    encoded = encode(tokenizer, [SPELT, "the cat"], offsets=True)
    assert all(never_special(tokenizer, each) for each in encoded)
    ids, starts, offsets = encoded[0]
    assert len(ids) == len(starts) == len(offsets)
    assert [SPELT[begin:end] for begin, end in offsets.tolist()][-5:] == [*"<pad>"]
    assert starts[-5:].tolist() == [kind != "unigram", False, False, False, False]
    assert tokenizer(SPELT)["input_ids"].count(tokenizer.mask_token_id) == 1, "transformers itself reads it so"


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


def test_a_tokenizer_that_calls_a_text_one_word_has_its_words_by_their_spaces() -> None:
    tokenizer = foreign("unigram")
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    assert words(tokenizer, "the cat the cat") == ["the", "cat", "the", "cat"]


def test_offsets_are_where_each_token_stands(kind: str, trained: Trained) -> None:
    text = "Naïve types — and values"
    encoded = encode(trained(kind), [text], offsets=True)[0]
    assert encoded.offsets.shape == (len(encoded.ids), 2)
    assert "".join(dict.fromkeys(text[begin:end] for begin, end in encoded.offsets.tolist())).replace(" ", "")
    last = encoded.offsets[-1].tolist()
    assert last[1] == len(text)


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


def test_a_saved_tokenizer_loads_as_it_was(kind: str, trained: Trained, several: list[str], tmp_path: Path) -> None:
    save(trained(kind), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tokenizer.json", "tokenizer_config.json"]
    loaded = load(tmp_path)
    lines = [*several, "a [MASK] b"]
    assert loaded(lines)["input_ids"] == trained(kind)(lines)["input_ids"]
    assert vocabulary(loaded) == vocabulary(trained(kind))
    assert loaded.model_max_length == 512
    assert set(loaded("a")) == {"input_ids", "attention_mask"}


@pytest.mark.parametrize("family", [None, "bert", "modernbert", "roberta", "xlm-roberta", "t5"])
def test_a_directory_of_ours_loads_as_auto_tokenizer_would_load_it(
    family: str | None, kind: str, trained: Trained, several: list[str], tmp_path: Path
) -> None:
    save(trained(kind), tmp_path)
    if family:  # in a model's directory, AutoTokenizer goes by the model too
        AutoConfig.for_model(family).save_pretrained(tmp_path)
    ours, theirs = load(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert ours(several)["input_ids"] == theirs(several)["input_ids"]
    for name in ("special_tokens_map", "all_special_ids", "model_max_length", "model_input_names", "padding_side"):
        assert getattr(ours, name) == getattr(theirs, name)


def test_the_saved_files_say_what_transformers_4_57_understands(kind: str, trained: Trained, tmp_path: Path) -> None:
    tokenizer = trained(kind)
    save(tokenizer, tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert "backend" not in config
    assert not isinstance(config.get("extra_special_tokens"), list)
    assert config["model_input_names"] == ["input_ids", "attention_mask"]
    names = {"pad_token", "unk_token", "cls_token", "sep_token", "mask_token"}
    assert {name: config[name] for name in names} == {name: getattr(tokenizer, name) for name in names}


def test_sentinels_of_a_foreign_tokenizer_are_saved_under_their_older_name(tmp_path: Path) -> None:
    tokenizer = foreign("unigram")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<extra_0>", "<extra_1>"]})
    save(tokenizer, tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["additional_special_tokens"] == ["<extra_0>", "<extra_1>"]
    assert set(tokenizer.convert_tokens_to_ids(["<extra_0>", "<extra_1>"])) <= set(vocabulary(load(tmp_path)).special)
    assert AutoTokenizer.from_pretrained(tmp_path)("the cat")["input_ids"] == tokenizer("the cat")["input_ids"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("bpe", "RobertaTokenizer"), ("unigram", "XLMRobertaTokenizer"), ("wordpiece", "BertTokenizer")],
)
def test_the_steps_of_a_file_are_taken_whatever_class_it_names(
    kind: str, name: str, trained: Trained, several: list[str], tmp_path: Path
) -> None:
    save(trained(kind), tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config | {"tokenizer_class": name}), encoding="utf-8")
    loaded = load(tmp_path)
    lines = [*several, "a [MASK] b"]
    assert loaded(lines)["input_ids"] == trained(kind)(lines)["input_ids"]
    assert vocabulary(loaded) == vocabulary(trained(kind))


def test_a_vocabulary_knows_its_special_ids(kind: str, trained: Trained) -> None:
    known = vocabulary(trained(kind))
    assert (known.pad, known.start, known.end, known.mask, known.special) == (0, 2, 3, 4, (0, 1, 2, 3, 4))
    assert known.size == len(trained(kind))
    assert len(known.ordinary) == known.size - 5


def test_start_and_end_fall_back_to_bos_and_eos() -> None:
    known = vocabulary(foreign("unigram"))
    assert (known.start, known.end, known.mask) == (0, 2, 4)


@pytest.mark.parametrize(
    ("missing", "what"),
    [("mask_token", "mask"), ("pad_token", "padding"), ("bos_token", "CLS"), ("eos_token", "SEP")],
)
def test_a_tokenizer_that_cannot_mask_is_refused_by_what_it_lacks(missing: str, what: str) -> None:
    tokenizer = foreign("unigram")
    setattr(tokenizer, missing, None)
    with pytest.raises(BadInput, match=what):
        vocabulary(tokenizer)


def test_what_is_no_tokenizer_directory_is_refused(tmp_path: Path, trained: Trained) -> None:
    with pytest.raises(BadInput, match="no such directory"):
        load(tmp_path / "nowhere")
    with pytest.raises(BadInput, match=r"no tokenizer\.json"):
        load(tmp_path)
    save(trained("bpe"), tmp_path)
    whole = (tmp_path / "tokenizer.json").read_text(encoding="utf-8")
    (tmp_path / "tokenizer.json").write_text(whole[: len(whole) // 2], encoding="utf-8")
    with pytest.raises(Damaged, match=r"tokenizer\.json") as error:
        load(tmp_path)
    assert "\n" not in str(error.value)


def test_a_disk_without_room_for_a_tokenizer_is_an_error_of_the_disk(trained: Trained, tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as error:
            save(trained("bpe"), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert error.value.errno == errno.EFBIG
