"""Laws of tokenizer directories: what is saved is what is loaded, here and by transformers 4.57."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from full_disk import files_of_at_most
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerFast

from unmask.errors import BadInput, Damaged
from unmask.tokens.tokenizer.load import load_tokenizer, save_tokenizer, vocabulary_of

Trained = Callable[[str], PreTrainedTokenizerFast]


def test_a_saved_tokenizer_loads_as_it_was(kind: str, trained: Trained, several: list[str], tmp_path: Path) -> None:
    save_tokenizer(trained(kind), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tokenizer.json", "tokenizer_config.json"]
    loaded = load_tokenizer(tmp_path)
    lines = [*several, "a [MASK] b"]
    assert loaded(lines)["input_ids"] == trained(kind)(lines)["input_ids"]
    assert vocabulary_of(loaded) == vocabulary_of(trained(kind))
    assert loaded.model_max_length > 1_000_000  # a tokenizer alone knows of no limit: its model does
    assert set(loaded("a")) == {"input_ids", "attention_mask"}


@pytest.mark.parametrize("family", [None, "bert", "modernbert", "roberta", "xlm-roberta", "t5"])
def test_a_directory_of_ours_loads_as_auto_tokenizer_would_load_it(
    family: str | None, kind: str, trained: Trained, several: list[str], tmp_path: Path
) -> None:
    save_tokenizer(trained(kind), tmp_path)
    if family:  # in a model's directory, AutoTokenizer goes by the model too
        AutoConfig.for_model(family).save_pretrained(tmp_path)
    ours, theirs = load_tokenizer(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert ours(several)["input_ids"] == theirs(several)["input_ids"]
    for name in ("special_tokens_map", "all_special_ids", "model_max_length", "model_input_names", "padding_side"):
        assert getattr(ours, name) == getattr(theirs, name)


def test_the_saved_files_say_what_transformers_4_57_understands(kind: str, trained: Trained, tmp_path: Path) -> None:
    tokenizer = trained(kind)
    save_tokenizer(tokenizer, tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert "backend" not in config
    assert not isinstance(config.get("extra_special_tokens"), list)
    assert config["model_input_names"] == ["input_ids", "attention_mask"]
    names = {"pad_token", "unk_token", "cls_token", "sep_token", "mask_token"}
    assert {name: config[name] for name in names} == {name: getattr(tokenizer, name) for name in names}


def test_sentinels_of_a_foreign_tokenizer_are_saved_under_their_older_name(tmp_path: Path, foreign: Trained) -> None:
    tokenizer = foreign("unigram")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<extra_0>", "<extra_1>"]})
    save_tokenizer(tokenizer, tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["additional_special_tokens"] == ["<extra_0>", "<extra_1>"]
    special = vocabulary_of(load_tokenizer(tmp_path)).special
    assert set(tokenizer.convert_tokens_to_ids(["<extra_0>", "<extra_1>"])) <= set(special)
    assert AutoTokenizer.from_pretrained(tmp_path)("the cat")["input_ids"] == tokenizer("the cat")["input_ids"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("bpe", "RobertaTokenizer"), ("unigram", "XLMRobertaTokenizer"), ("wordpiece", "BertTokenizer")],
)
def test_the_steps_of_a_file_are_taken_whatever_class_it_names(
    kind: str, name: str, trained: Trained, several: list[str], tmp_path: Path
) -> None:
    save_tokenizer(trained(kind), tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config | {"tokenizer_class": name}), encoding="utf-8")
    loaded = load_tokenizer(tmp_path)
    lines = [*several, "a [MASK] b"]
    assert loaded(lines)["input_ids"] == trained(kind)(lines)["input_ids"]
    assert vocabulary_of(loaded) == vocabulary_of(trained(kind))


def test_a_vocabulary_knows_its_special_ids(kind: str, trained: Trained) -> None:
    known = vocabulary_of(trained(kind))
    assert (known.pad, known.start, known.end, known.mask, known.special) == (0, 2, 3, 4, (0, 1, 2, 3, 4))
    assert known.size == len(trained(kind))
    assert len(known.ordinary) == known.size - 5


def test_start_and_end_fall_back_to_bos_and_eos(foreign: Trained) -> None:
    known = vocabulary_of(foreign("unigram"))
    assert (known.start, known.end, known.mask) == (0, 2, 4)


@pytest.mark.parametrize(
    ("missing", "what"),
    [("mask_token", "mask"), ("pad_token", "padding"), ("bos_token", "CLS"), ("eos_token", "SEP")],
)
def test_a_tokenizer_that_cannot_mask_is_refused_by_what_it_lacks(missing: str, what: str, foreign: Trained) -> None:
    tokenizer = foreign("unigram")
    setattr(tokenizer, missing, None)
    with pytest.raises(BadInput, match=what):
        vocabulary_of(tokenizer)


def test_what_is_no_tokenizer_directory_is_refused(tmp_path: Path, trained: Trained) -> None:
    with pytest.raises(BadInput, match="no such directory"):
        load_tokenizer(tmp_path / "nowhere")
    with pytest.raises(BadInput, match=r"no tokenizer\.json"):
        load_tokenizer(tmp_path)
    save_tokenizer(trained("bpe"), tmp_path)
    whole = (tmp_path / "tokenizer.json").read_text(encoding="utf-8")
    (tmp_path / "tokenizer.json").write_text(whole[: len(whole) // 2], encoding="utf-8")
    with pytest.raises(Damaged, match=r"tokenizer\.json") as error:
        load_tokenizer(tmp_path)
    assert "\n" not in str(error.value)


def test_a_disk_without_room_for_a_tokenizer_is_an_error_of_the_disk(trained: Trained, tmp_path: Path) -> None:
    tokenizer = trained("bpe")
    with files_of_at_most(2000), pytest.raises(OSError, match="File too large") as error:
        save_tokenizer(tokenizer, tmp_path)
    assert error.value.errno == errno.EFBIG


@pytest.mark.parametrize(("words", "text"), [(["King", "king"], ["King", "king"]), (["king"], ["king", "king"])])
def test_a_vocabulary_that_stands_alone_keeps_capitals_if_it_has_some(
    words: list[str], text: list[str], tmp_path: Path
) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    assert load_tokenizer(tmp_path).tokenize("King king") == text
