"""Completion as real shells do it; a shell that is not installed is left out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import unmask
from unmask.verbs.commands import COMMANDS
from unmask.verbs.shells import SCRIPTS, VALUES, flags_of

BASH_ASKS = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_unmask
printf '%s\\n' "${COMPREPLY[@]}"
"""
# zsh completes only on a terminal, so it is given one
ZSH_ASKS = """
zmodload zsh/zpty
zpty shell "PS1= zsh -f -i"
zpty -w shell "autoload -Uz compinit; compinit -u -D; source {script}"
zpty -w shell "bindkey '^T' list-choices; LISTMAX=0; print rea''dy"
zpty -r shell said '*ready*'
zpty -n -w shell "{line}"$'\\x14'
sleep 2
zpty -r -t shell said; print -r -- "$said"
while zpty -r -t shell said; do print -r -- "$said"; done
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the script of each shell."""
    folder = tmp_path_factory.mktemp("scripts")
    for shell in SCRIPTS:
        (folder / shell).write_text(unmask.completion(shell).script, encoding="utf-8")  # type: ignore[arg-type]
    return folder


def complete_in_bash(scripts: Path, *words: str, cwd: Path | None = None) -> list[str]:
    line = ["bash", "--norc", "-c", BASH_ASKS, "bash", str(scripts / "bash"), *words]
    done = subprocess.run(line, capture_output=True, text=True, check=True, cwd=cwd)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


def test_bash_completes_commands_options_and_values(scripts: Path) -> None:
    assert complete_in_bash(scripts, "unmask", "") == [*COMMANDS, "--help", "--version"]
    assert complete_in_bash(scripts, "unmask", "pre") == ["prepare", "pretrain", "predict"]
    assert complete_in_bash(scripts, "unmask", "pretrain", "data", "--prec") == ["--precision"]
    assert complete_in_bash(scripts, "unmask", "pretrain", "--precision", "") == [
        "auto",
        "float32",
        "bfloat16",
        "float16",
    ]
    assert complete_in_bash(scripts, "unmask", "pretrain", "--recipe", "elec")[0] == "electra"
    assert complete_in_bash(scripts, "unmask", "show", "--policy", "en") == ["entity"]
    assert complete_in_bash(scripts, "unmask", "completion", "") == ["bash", "zsh", "fish"]
    assert complete_in_bash(scripts, "unmask", "pretrain", "--minutes", "") == []


@pytest.mark.parametrize("name", COMMANDS)
def test_bash_completes_every_option_of_every_command(name: str, scripts: Path) -> None:
    assert complete_in_bash(scripts, "unmask", name, "--") == flags_of(COMMANDS[name])


def test_bash_completes_paths_with_spaces(scripts: Path, tmp_path: Path) -> None:
    (tmp_path / "my data").mkdir()
    assert complete_in_bash(scripts, "unmask", "verify", "m", cwd=tmp_path) == ["my data"]
    assert complete_in_bash(scripts, "unmask", "audit", "data", "--phrases", "", cwd=tmp_path) == ["my data"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes_commands_options_and_values(scripts: Path) -> None:
    def complete(line: str) -> list[str]:
        ask = f"source {scripts / 'fish'}; complete -C '{line}'"
        done = subprocess.run(["fish", "--no-config", "-c", ask], capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return [found.partition("\t")[0] for found in done.stdout.splitlines()]

    assert complete("unmask pre") == ["predict", "prepare", "pretrain"]
    assert complete("unmask pretrain --prec") == ["--precision"]
    assert complete("unmask pretrain --precision bf") == ["bfloat16"]
    assert complete("unmask completion z") == ["zsh"]
    assert set(flags_of(COMMANDS["fill"])) - {"--help", "--version"} <= set(complete("unmask fill --"))


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_commands_and_values(scripts: Path) -> None:
    def complete(line: str) -> str:
        ask = ZSH_ASKS.format(script=scripts / "zsh", line=line)
        return subprocess.run(["zsh", "-f", "-c", ask], capture_output=True, text=True, timeout=60, check=False).stdout

    assert "pretrain" in (said := complete("unmask pre")) and "Make a data directory" in said
    assert "bfloat16" in complete("unmask pretrain --precision ")


def test_names_that_are_completed_are_those_there_are() -> None:
    from unmask.corruption.policy import POLICIES
    from unmask.objectives.curriculum import OBJECTIVES
    from unmask.pretraining.recipes import recipe_names
    from unmask.pretraining.settings import INITS
    from unmask.tokens.tokenizer.train import KINDS
    from unmask.training.machine.computing import DEVICES
    from unmask.training.precision import AUTO, PRECISIONS

    assert {name: set(values) for name, values in VALUES.items()} == {
        "recipe": set(recipe_names()),
        "policy": set(POLICIES),
        "objective": set(OBJECTIVES),
        "init": set(INITS),
        "device": {"auto", *DEVICES},
        "precision": {AUTO, *PRECISIONS},
        "tokenizer": set(KINDS),
    }
