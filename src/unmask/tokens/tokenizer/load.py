"""A tokenizer directory, read and written: any fast tokenizer of transformers, ours or one that came with a model.

In: a directory. Out: the tokenizer as its file says, but that it neither pads nor cuts, and what corruption and packing
need to know of it. Sentence encoders are published with a tokenizer.json that pads and cuts every text to 128 tokens:
how long a row is, and what becomes of a longer text, is decided here by whoever makes rows.
"""

from __future__ import annotations

import copy
import json
import os
import re
from pathlib import Path

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput, Damaged
from unmask.records import Vocabulary

UNLIMITED = 1_000_000  # tokenizers that know of no limit claim 10³⁰
NOT_RUN = "code that came with weights is not run (auto_map names it); give a model of a type that transformers has"


def tokenizer_place(path: Path) -> Path:
    """The directory that holds the tokenizer: the path itself, `model` in a run, or `tokenizer` in a data directory."""
    places = (path, path / "model", path / "tokenizer")
    return next((place for place in places if (place / "tokenizer.json").is_file()), path)


def load_tokenizer(path: Path | str) -> PreTrainedTokenizerFast:
    """Load a tokenizer directory, without network and without running code that came with it."""
    path = Path(path)
    if not path.is_dir():
        raise BadInput(f"{path}: no such directory; give one that holds a tokenizer.json")
    try:
        tokenizer = _read_tokenizer(path)
    except Exception as error:  # tokenizers raises a bare Exception for a tokenizer.json it cannot read
        if _names_code(path):
            raise BadInput(f"{path}: its tokenizer is not one of transformers' own; {NOT_RUN}") from error
        if (path / "tokenizer.json").is_file():
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise Damaged(f"{path / 'tokenizer.json'}: the tokenizer cannot be read: {reason}") from error
        raise BadInput(f"{path}: holds no tokenizer.json, nor another tokenizer that can be used") from error
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise BadInput(f"{path}: a slow tokenizer, which knows no words; convert it to a tokenizer.json")
    tokenizer = _as_written(tokenizer, path / "tokenizer.json")
    _neither_pad_nor_cut(tokenizer)
    return tokenizer


def _neither_pad_nor_cut(tokenizer: PreTrainedTokenizerFast) -> None:
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()


def _read_tokenizer(path: Path) -> object:
    """The tokenizer as transformers reads it; one of its plain class, as ours are, without importing torch."""
    config = path / "tokenizer_config.json"
    settings = json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}
    if settings.get("tokenizer_class") == "PreTrainedTokenizerFast" and "auto_map" not in settings:
        return PreTrainedTokenizerFast.from_pretrained(path, local_files_only=True)
    from transformers import AutoTokenizer  # which knows the classes of all models, and so takes torch

    cased = {} if config.is_file() or not _has_capitals(path / "vocab.txt") else {"do_lower_case": False}
    return AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False, **cased)


def _has_capitals(vocabulary: Path) -> bool:
    """Whether a vocab.txt is of a tokenizer that keeps capitals, which nothing else says where it stands alone.

    Lowercased by default, every text would be unknown tokens.
    """
    if not vocabulary.is_file():
        return False
    tokens = vocabulary.read_text(encoding="utf-8").split()
    return any(token != token.lower() for token in tokens if not token.startswith(("[", "<")))


def _names_code(path: Path) -> bool:
    """Whether a tokenizer wants code that lies beside it."""
    try:
        return "auto_map" in json.loads((path / "tokenizer_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def _as_written(tokenizer: PreTrainedTokenizerFast, file: Path) -> PreTrainedTokenizerFast:
    """The tokenizer with the steps of its file, where transformers 5 has put others in their place.

    It builds RobertaTokenizer, XLMRobertaTokenizer and more anew from the vocabulary; 4.57 takes the file as it is.
    """
    if not file.is_file():
        return tokenizer
    from_file = Tokenizer.from_file(str(file))
    if _step_kinds(from_file) == _step_kinds(tokenizer.backend_tokenizer):
        return tokenizer

    def has(tokens: str | list[str]) -> bool:
        return None not in map(from_file.token_to_id, [tokens] if isinstance(tokens, str) else tokens)

    # The class has names of its own for tokens that the file may not have: those would be added.
    special = {name: tokens for name, tokens in tokenizer.special_tokens_map.items() if has(tokens)}
    return PreTrainedTokenizerFast(
        tokenizer_object=from_file,
        name_or_path=tokenizer.name_or_path,
        model_max_length=tokenizer.model_max_length,
        model_input_names=tokenizer.model_input_names,
        clean_up_tokenization_spaces=False,
        **special,
    )


def _step_kinds(backend: Tokenizer) -> list[bytes]:
    """The kinds of a tokenizer's steps before its model, without their settings: those a configuration may change."""
    steps = [step.__getstate__() for step in (backend.normalizer, backend.pre_tokenizer) if step is not None]
    return [kind for step in steps for kind in re.findall(rb'"type":"(\w+)"', step)]


def save_tokenizer(tokenizer: PreTrainedTokenizerFast, path: Path) -> None:
    """Write a tokenizer directory that transformers 4.57 and 5 load, to the same tokenizer.

    transformers 5 writes a class and a list that 4.57 does not know; both know the older spelling.
    """
    plain = copy.deepcopy(tokenizer)
    _neither_pad_nor_cut(plain)
    try:
        plain.save_pretrained(path)
    except Exception as error:  # of a full disk too, tokenizers tells by a bare Exception
        if number := re.search(r"os error (\d+)", str(error)):
            raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error
        raise
    config = json.loads((path / "tokenizer_config.json").read_text(encoding="utf-8"))
    config["tokenizer_class"] = "PreTrainedTokenizerFast"
    config["model_input_names"] = list(tokenizer.model_input_names)  # a class's default is not in the file
    for name in ("backend", "is_local", "local_files_only"):  # how it was loaded, not what it is
        config.pop(name, None)
    if isinstance(config.get("extra_special_tokens"), list):
        config["additional_special_tokens"] = config.pop("extra_special_tokens")
    text = json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False)
    (path / "tokenizer_config.json").write_text(text + "\n", encoding="utf-8")


def vocabulary_of(tokenizer: PreTrainedTokenizerFast) -> Vocabulary:
    """The size and the special ids of a tokenizer; one that cannot hide, pad, open or close is refused."""
    name = tokenizer.name_or_path or "the tokenizer"

    def first_id(role: str, *ids: int | None) -> int:
        for number in ids:
            if number is not None:
                return number
        raise BadInput(f"{name}: has no {role} token, which masked language modelling needs")

    return Vocabulary(
        size=vocabulary_size(tokenizer),
        mask=first_id("mask", tokenizer.mask_token_id),
        pad=first_id("padding", tokenizer.pad_token_id),
        start=first_id("[CLS] or <s>", tokenizer.cls_token_id, tokenizer.bos_token_id),
        end=first_id("[SEP] or </s>", tokenizer.sep_token_id, tokenizer.eos_token_id),
        special=special_ids(tokenizer),
    )


def vocabulary_size(tokenizer: PreTrainedTokenizerFast) -> int:
    """One more than the largest id: some vocabularies have holes."""
    return max(tokenizer.get_vocab().values(), default=-1) + 1


def row_limit(tokenizer: PreTrainedTokenizerFast, positions: int | None) -> int | None:
    """The most tokens a row may have, by the tokenizer and by the positions that a model knows."""
    limits = [] if positions is None else [positions]
    if tokenizer.model_max_length < UNLIMITED:
        limits.append(tokenizer.model_max_length)
    return min(limits, default=None)


def special_ids(tokenizer: PreTrainedTokenizerFast) -> tuple[int, ...]:
    """Every id that text never yields and that is never hidden, ascending."""
    added_ids = (number for number, token in tokenizer.added_tokens_decoder.items() if token.special)
    return tuple(sorted({*tokenizer.all_special_ids, *added_ids}))
