import json
import shutil
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertTokenizer,
    DebertaTokenizer,
    DebertaV2Tokenizer,
    PreTrainedTokenizerFast,
    RobertaTokenizer,
    XLMRobertaTokenizer,
    pipeline,
)
from transformers.convert_slow_tokenizer import bytes_to_unicode

from unmask.errors import BadInput, Damaged, Refused
from unmask.files import with_seal
from unmask.inference.model import load
from unmask.models.config import quiet_transformers
from unmask.models.load import load_model
from unmask.runs.directory import FORMAT

Make = Callable[..., Path]


@pytest.fixture
def model(make_model: Make, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(make_model(), tmp_path / "model"))


def change(path: Path, **settings: Any) -> None:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | settings))


FAMILIES = ("bert", "roberta", "xlm-roberta", "modernbert", "deberta", "deberta-v2", "electra", "distilbert")
WORDS = ["the", "king", "sees", "a", "garden", "house", "."]
BRACKETS, ANGLES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
SYMBOLS = list(bytes_to_unicode().values())  # of the 256 bytes
MERGES = [("h", "e"), ("t", "he"), ("Ġ", "the"), ("Ġ", "a"), ("Ġ", "k"), ("i", "n"), ("Ġk", "in"), ("Ġkin", "g")]


def numbered(tokens: list[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}


def word_pieces() -> BertTokenizer:
    return BertTokenizer(vocab=numbered([*BRACKETS, *WORDS, *map(chr, range(97, 123))]))


def byte_pairs(kind: type[Any], specials: list[str]) -> Any:
    return kind(vocab=numbered([*specials, *SYMBOLS, *map("".join, MERGES)]), merges=MERGES)


def word_scores(kind: type[Any], specials: list[str]) -> Any:
    return kind(vocab=[(token, 0.0) for token in specials] + [(f"▁{word}", -1.0) for word in WORDS] + [("▁", -5.0)])


STOCK: dict[str, Callable[[], PreTrainedTokenizerFast]] = {  # as transformers' own classes write them
    "bert": word_pieces,
    "electra": word_pieces,
    "roberta": lambda: byte_pairs(RobertaTokenizer, ANGLES),
    "deberta": lambda: byte_pairs(DebertaTokenizer, BRACKETS),
    "xlm-roberta": lambda: word_scores(XLMRobertaTokenizer, ANGLES[:4]),
    "deberta-v2": lambda: word_scores(DebertaV2Tokenizer, BRACKETS),
}


@pytest.mark.parametrize("family", STOCK)
def test_a_stock_directory_fills_as_transformers_own_pipeline_does(family: str, tmp_path: Path) -> None:
    tokenizer = STOCK[family]()
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = AutoConfig.for_model(
        family, **sizes, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, initializer_range=0.4
    )
    torch.manual_seed(0)
    with quiet_transformers():
        AutoModelForMaskedLM.from_config(config).save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)
        theirs = pipeline("fill-mask", model=str(tmp_path), device="cpu", top_k=len(tokenizer))
    spelled = theirs.tokenizer.convert_ids_to_tokens
    expected = {spelled(each["token"]): each["score"] for each in theirs(f"the king sees a {tokenizer.mask_token} .")}
    (filled,) = load(tmp_path).fill("the king sees a [MASK] .", targets=("the", "king"))
    begins = next(mark for mark in ("Ġ", "▁", "") if f"{mark}king" in expected)
    assert {guess.token: guess.probability for guess in filled.blanks[0]} == pytest.approx(
        {word: expected[f"{begins}{word}"] for word in ("the", "king")}, rel=1e-4
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_loads_whole_and_without_a_network(
    family: str, make_model: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make_model(family)

    def no_network(*_: object, **__: object) -> None:
        raise AssertionError("asked for the network")

    capsys.readouterr()
    monkeypatch.setattr(socket.socket, "connect", no_network)
    loaded = load_model(path)
    assert not loaded.model.training
    assert loaded.vocabulary.size == loaded.model.config.vocab_size == 300
    said = capsys.readouterr()
    assert said.out == said.err == ""


def test_a_run_is_loaded_by_the_model_in_it(model: Path, tmp_path: Path) -> None:
    assert load_model(tmp_path).path == model


@pytest.mark.parametrize(("family", "length"), [("bert", 64), ("roberta", 63), ("distilbert", 64)])
def test_length_is_what_the_positions_allow(family: str, length: int, make_model: Make) -> None:
    path = make_model(family)
    loaded = load_model(path)
    assert loaded.length == length
    fits = torch.full((1, length), 9)
    loaded.model(fits)
    with pytest.raises((IndexError, RuntimeError)):
        loaded.model(torch.full((1, length + 1), 9))


def test_weights_in_half_precision_are_computed_with_in_full(model: Path) -> None:
    loaded = load_model(model)
    loaded.model.half().save_pretrained(model)
    assert load_model(model).model.dtype == torch.float32


def test_a_missing_path_a_file_and_an_empty_directory_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"bert-base-uncased: does not exist; .*hf:bert-base-uncased"):
        load_model(Path("bert-base-uncased"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInput, match="is a file"):
        load_model(tmp_path / "file")
    with pytest.raises(BadInput, match="holds no model"):
        load_model(tmp_path)


def test_a_tokenizer_without_a_mask_token_is_told_plainly(model: Path, make_model: Make) -> None:
    shutil.copytree(make_model(kind="bpe"), model, dirs_exist_ok=True)
    settings = json.loads((model / "tokenizer_config.json").read_text())
    del settings["mask_token"]
    (model / "tokenizer_config.json").write_text(json.dumps(settings))
    (model / "special_tokens_map.json").unlink(missing_ok=True)
    with pytest.raises(BadInput, match="has no mask token, which masked language modelling needs"):
        load_model(model)


def test_a_model_that_fills_no_blanks_is_refused(model: Path) -> None:
    config = AutoConfig.for_model("gpt2", n_embd=8, n_layer=1, n_head=1, vocab_size=300)
    AutoModelForCausalLM.from_config(config).save_pretrained(model)
    for permuted in (False, True):
        with pytest.raises(BadInput, match="gpt2 is not a masked language model"):
            load_model(model, permuted=permuted)


def test_an_encoder_without_its_head_is_refused_for_its_answers_would_be_random(model: Path) -> None:
    AutoModel.from_config(AutoConfig.from_pretrained(model)).save_pretrained(model)
    with pytest.raises(BadInput, match=r"its weights lack cls\.predictions\.\S+ and \d+ more"):
        load_model(model)
    (model.parent / "generator").mkdir()
    with pytest.raises(BadInput, match=r"the model that fills blanks is \S+generator"):
        load_model(model)


def test_pickled_weights_are_never_opened(model: Path) -> None:
    (model / "model.safetensors").unlink()
    with pytest.raises(BadInput, match=r"has no weights, model\.safetensors is missing"):
        load_model(model)
    (model / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(BadInput, match=r"pytorch_model\.bin: pickled weights can run code"):
        load_model(model)


def test_code_that_comes_with_a_model_is_never_run(model: Path) -> None:
    (model / "evil.py").write_text("raise SystemExit('ran')")
    change(model, model_type="evil", auto_map={"AutoConfig": "evil.Config"})
    with pytest.raises(
        BadInput, match=r"type 'evil': its code is not part of .*code that came with weights is not run"
    ):
        load_model(model)


def test_a_model_with_code_of_its_own_is_loaded_if_its_weights_need_none_of_it(model: Path) -> None:
    (model / "evil.py").write_text("raise SystemExit('ran')")
    change(model, auto_map={"AutoModelForMaskedLM": "evil.Model"})
    assert load_model(model).model.config.model_type == "bert"
    tensors = load_file(model / "model.safetensors")
    save_file({**tensors, "bert.gate.weight": torch.zeros(1)}, model / "model.safetensors", {"format": "pt"})
    with pytest.raises(BadInput, match=r"not those of transformers' own bert; code that came with weights is not run"):
        load_model(model)


def test_a_tokenizer_with_code_of_its_own_is_refused(model: Path) -> None:
    (model / "evil.py").write_text("raise SystemExit('ran')")
    (model / "tokenizer.json").unlink()
    settings = {"tokenizer_class": "Evil", "auto_map": {"AutoTokenizer": ["evil.Evil", None]}}
    (model / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(BadInput, match=r"its tokenizer is not one of transformers' own; code that came .* is not run"):
        load_model(model)


@pytest.mark.parametrize("field", ["attn_implementation", "_attn_implementation"])
def test_a_kernel_on_the_hub_is_code_too(model: Path, field: str) -> None:
    change(model, **{field: "someone/kernel"})
    with pytest.raises(BadInput, match="names code on the hub, which is not run"):
        load_model(model)


HOSTILE = {
    "not a number": ({"layer_norm_eps": float("nan")}, "is not JSON: NaN is no number"),
    "a word": ({"hidden_size": "wide"}, "not the settings of a bert: .*hidden_size"),
    "a billion layers": ({"num_hidden_layers": 10**9}, "1,000,000,000 layers, and the files hold"),
    "wide": ({"hidden_size": 10**9}, "weights, and the files hold"),
    "too large to count": ({"intermediate_size": 10**18}, "describes no model of these files"),
    "long": ({"max_position_embeddings": 10**10}, "weights, and the files hold"),
    "negative": ({"hidden_size": -4}, "describes no model of these files"),
    "no heads": ({"num_attention_heads": 0}, "describes no model of these files"),
    "a layer less": ({"num_hidden_layers": 1}, r"the files hold bert\.encoder\.layer\.1\..* no place for"),
    "a layer more": ({"num_hidden_layers": 3}, r"the files lack bert\.encoder\.layer\.2\."),
    "wider": (
        {"intermediate_size": 128},
        r"intermediate\.dense\.weight has shape \(64, 32\), and should have \(128, 32\)",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_config_that_does_not_describe_the_weights_is_refused_before_memory_is_taken(case: str, model: Path) -> None:
    settings, line = HOSTILE[case]
    change(model, **settings)
    with pytest.raises(Damaged, match=line) as refused:
        load_model(model)
    assert "\n" not in str(refused.value)


def test_what_is_no_model_at_all_is_told_in_one_line(model: Path) -> None:
    change(model, quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True})
    with pytest.raises(BadInput, match="its weights are quantized"):
        load_model(model)
    for text in ("[]", "null", "[" * 100_000):
        (model / "config.json").write_text(text)
        with pytest.raises(Damaged, match=r"config\.json"):
            load_model(model)
    loop = model.parent / "loop"
    loop.symlink_to(loop)
    with pytest.raises(BadInput, match="loop: is a link that leads nowhere"):
        load_model(loop)


def test_damaged_files_are_named(model: Path) -> None:
    weights = (model / "model.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(Damaged, match="weights cannot be read"):
        load_model(model)
    (model / "model.safetensors").write_bytes(weights)
    change(model, hidden_size=64)
    with pytest.raises(Damaged, match=r"weights do not fit config\.json"):
        load_model(model)
    (model / "config.json").write_text("{")
    with pytest.raises(Damaged, match=r"config\.json is not JSON"):
        load_model(model)


def test_a_tokenizer_that_is_missing_or_too_large_is_refused(model: Path, make_model: Make) -> None:
    shutil.copy(make_model(kind="bpe") / "tokenizer.json", model)
    with pytest.raises(BadInput, match="the tokenizer has 500 tokens and the model 300"):
        load_model(model)
    for file in model.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(BadInput, match=r"has no tokenizer, tokenizer\.json is missing"):
        load_model(model)


def test_a_run_without_its_model_or_of_another_version_says_so(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(with_seal({"format": FORMAT, "unmask": "0.1.0"})))
    with pytest.raises(BadInput, match="has no model yet"):
        load_model(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps(with_seal({"format": 99, "unmask": "9.0"})))
    with pytest.raises(Refused, match=r"made by unmask 9\.0"):
        load_model(tmp_path)


def test_threads_that_load_at_once_each_have_a_whole_model(make_model: Callable[..., Path]) -> None:
    places = [make_model("bert"), make_model("bert", "bpe")]
    with ThreadPoolExecutor(4) as threads:  # as a server does that has two models side by side
        loaded = list(threads.map(load_model, places * 6))
    assert not any(parameter.is_meta for lm in loaded for parameter in lm.model.parameters())
