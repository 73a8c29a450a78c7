"""What is wrong with the words of a command: what was meant is named, and nothing where nothing is near."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest

import unmask
from unmask.errors import BadInput, nearest_name
from unmask.verbs.commands import COMMANDS, MEANT, NEEDLESS
from unmask.verbs.mistakes import RENAMED, WrongUsage, find_mistake, unknown_command, wrong_value
from unmask.verbs.options import Option, options_of


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("pretrian", "pretrain"),
        ("fil", "fill"),
        ("Prepare", "prepare"),
        ("shwo", "show"),
        ("colloc", "collocations"),
        ("train", "pretrain"),
        ("resume", "pretrain --resume"),
        ("tokenize", "prepare"),
        ("mask", "show"),
        ("infer", "fill"),
        ("finetune", "tune"),
        ("label", "predict"),
        ("eval", "evaluate"),
        ("ls", "runs"),
    ],
)
def test_a_misspelt_or_a_foreign_command_is_told_what_it_is_called_here(word: str, meant: str) -> None:
    assert str(unknown_command(word)).startswith(f"unknown command {word!r}: did you mean {meant}?")


NOWHERE_NEAR = ["embed", "search", "score", "generate", "explain", "export", "adapt", "x"]


@pytest.mark.parametrize("word", NOWHERE_NEAR)
def test_what_there_is_not_is_not_taken_for_something_else(word: str) -> None:
    if word in COMMANDS:
        pytest.skip("it is there now")
    assert "did you mean" not in str(unknown_command(word))
    assert ", ".join(COMMANDS) in str(unknown_command(word))


def test_who_wants_to_save_is_told_that_it_is_done() -> None:
    assert "RUN/model, is already a directory that transformers loads" in str(unknown_command("save"))
    assert "transformers" not in str(unknown_command("embed"))


@pytest.mark.parametrize("line", sorted({*MEANT.values()}))
def test_every_command_that_is_suggested_is_there_with_its_options(line: str) -> None:
    name, *flags = shlex.split(line)
    if name == "--version":
        return
    assert set(flags) <= {flag for option in options_of(COMMANDS[name]) for flag in option.flags}


def test_no_command_is_a_foreign_word_for_another() -> None:
    assert not {*MEANT, *NEEDLESS} & COMMANDS.keys()


def test_every_new_name_of_an_old_flag_is_a_flag() -> None:
    flags = {flag for verb in COMMANDS.values() for option in options_of(verb) for flag in option.flags}
    assert {name for name in RENAMED.values() if name.startswith("--")} <= flags and not RENAMED.keys() & flags


def test_two_names_that_begin_alike_are_not_guessed_between() -> None:
    assert nearest_name("comp", ["compare", "completion"]) is None
    assert nearest_name("t", ["tokens"]) is None


def test_a_right_command_has_no_mistake() -> None:
    for line in (
        "pretrain data --out=run --batch_size 8 --minutes 1e-3 --resume --no-report",
        "fill run '-5 [MASK]' --targets a b --json",
        "tune classify run train.jsonl --out tuned --lr 1e-4,3e-4 --seeds 3",
        "fill run -- '--is [MASK]'",
        "prepare --out data a.txt b.txt",
        "audit data --rate -0.1",
    ):
        name, *words = shlex.split(line)
        assert find_mistake(COMMANDS[name], words) is None


def test_a_misspelt_option_is_named_before_the_one_that_is_missing_for_it() -> None:
    mistake = find_mistake(COMMANDS["pretrain"], ["data", "--uot", "run"])
    assert isinstance(mistake, WrongUsage) and str(mistake) == "--uot: there is no such option; did you mean --out?"


def test_a_choice_is_named_with_the_others() -> None:
    option = Option(name="shell", choices=("bash", "zsh"), positional=True)
    mistake = wrong_value(option, "bsah")
    assert isinstance(mistake, BadInput) and str(mistake) == "SHELL bsah: give one of bash, zsh; did you mean bash?"
    assert wrong_value(option, "zsh") is None


@pytest.mark.parametrize("verb", [unmask.embed, unmask.fill, unmask.score, unmask.predict, unmask.show])
def test_a_list_of_texts_is_told_how_it_is_given(verb: Callable[..., object]) -> None:
    with pytest.raises(BadInput, match=r"no list: give \*texts"):
        verb("run", ["a text", "another"])
