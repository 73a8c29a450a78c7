"""What is said after preparing: commands with the user's own words, and what too little text means."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import unmask
from unmask.tokens.advice import FEW, LOSS_SPREAD, held_out_warning, next_commands
from unmask.tokens.example import example_blank
from unmask.tokens.store.dataset import Dataset


def test_the_commands_are_made_of_the_data_and_of_a_sentence_that_is_held_out(data: Path) -> None:
    show, pretrain, fill = map(shlex.split, next_commands(data))
    assert show[:3] == ["unmask", "show", str(data)]
    assert show[3] in "\n".join(Dataset.open(data).texts("valid"))
    assert pretrain == ["unmask", "pretrain", str(data), "--out", "run", "--minutes", "10"]
    assert fill == ["unmask", "fill", "run", example_blank(data)]


def test_data_in_the_tokens_of_a_model_is_for_that_model_to_go_on_with(data: Path, tmp_path: Path) -> None:
    tokenizer, model = tmp_path / "tokenizer", tmp_path / "my run"
    for place in (tokenizer, model / "model"):
        place.mkdir(parents=True)
        (place / "tokenizer.json").touch()
    (model / "model" / "config.json").touch()
    *_, adapt, fill = map(shlex.split, next_commands(data, model))
    assert adapt == ["unmask", "adapt", str(model), str(data), "--out", "adapted"] and fill[2] == "adapted"
    *_, pretrain, _ = map(shlex.split, next_commands(data, tokenizer))
    assert pretrain[1] == "pretrain"


def test_the_commands_name_a_run_that_is_not_there_yet(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for taken in ("run", "run-2"):
        (tmp_path / taken).mkdir()
        (tmp_path / taken / "run.json").touch()
    *_, pretrain, fill = map(shlex.split, next_commands(data))
    assert (pretrain[4], fill[2]) == ("run-3", "run-3")


def test_text_without_a_sentence_to_show_gets_commands_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(
        "\n\n".join(f"東京は日本の首都であり世界最大級の都市圏を形成している番号{n}" for n in range(60))
    )
    prepared = unmask.prepare(tmp_path / "in.txt", out=tmp_path / "my data")
    assert [shlex.split(command)[1] for command in prepared.next] == ["pretrain", "fill"]
    assert shlex.split(prepared.next[0])[2] == str(tmp_path / "my data")
    assert prepared.next[1].count("[MASK]") == 1


def test_enough_held_out_documents_are_no_warning() -> None:
    assert held_out_warning(5_000, FEW) is None


@pytest.mark.parametrize(
    ("train", "valid", "warning"),
    [
        (1, 0, "no document is held out: nothing can be measured; give more text, in more documents"),
        (9, 1, "only 1 document is held out: intervals cannot be told from one; give more text, in more documents"),
        (
            4_951,
            49,
            r"only 49 documents are held out: 95 % intervals .* ±0\.15 nats .*; give more text, or --valid 0\.02",
        ),
        (
            380,
            20,
            r"only 20 documents are held out: 95 % intervals .* ±0\.25 nats .*; give more text, or --valid 0\.16",
        ),
    ],
)
def test_few_held_out_documents_are_told_with_their_consequence_and_the_remedy(
    train: int, valid: int, warning: str
) -> None:
    assert re.fullmatch(warning, held_out_warning(train, valid) or "")


def test_intervals_are_said_to_be_as_wide_as_documents_make_them() -> None:
    from scipy.stats import t

    half = t.ppf(0.975, 11) * LOSS_SPREAD / 12**0.5
    assert f"about ±{half:.2f} nats" in (held_out_warning(1_200, 12) or "")


def test_the_result_of_prepare_has_the_warning(corpus: Path, tmp_path: Path) -> None:
    prepared = unmask.prepare(corpus, out=tmp_path / "data", vocab_size=300)
    [warning] = prepared.warnings
    assert warning.startswith(f"only {prepared.counts['valid']} documents are held out")
    more = unmask.prepare(corpus, out=tmp_path / "more", vocab_size=300, valid=0.3)
    assert more.counts["valid"] >= FEW and more.warnings == ()
