"""Commands to copy: a shell takes them for what they say, whatever a path or a text holds."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from unmask.runs.commands import next_commands, resume_command, train_command, use_commands

HOSTILE = ["run", "my run", "it's", "$HOME/`id`", "-rf", "a;b&c|d", "RUN", 'say "hi"', "ünïcode\u202eright"]
USES = ["unmask fill RUN EXAMPLE", "unmask evaluate RUN DATA", "from x import y\n\ny(MODEL, EXAMPLE)"]
DESCRIPTION = {"kind": "pretrain", "uses": USES, "places": {"data": "/my data"}, "example": "RUN, don't [MASK]: $DATA."}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_shell_reads_the_run_back_from_the_command_that_goes_on(name: str) -> None:
    command = resume_command(Path(name)).replace("unmask", "printf '%s\\n'", 1)
    said = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[:2] == ["pretrain", "--resume"] and Path(said[2]) == Path(name) and not said[2].startswith("-")


@pytest.mark.parametrize("name", HOSTILE)
def test_uses_have_the_runs_own_places_and_text_and_neither_is_looked_through_again(name: str) -> None:
    fill, evaluate, python = use_commands(Path(name), DESCRIPTION)
    assert [Path(shlex.split(fill)[2]), shlex.split(fill)[3]] == [Path(name), DESCRIPTION["example"]]
    assert shlex.split(evaluate)[3] == "/my data"
    assert python.endswith(f"y({str(Path(name) / 'model')!r}, {DESCRIPTION['example']!r})")


def test_what_a_run_does_not_say_is_left_for_the_user_to_fill_in() -> None:
    assert use_commands(Path("run"), {"uses": USES[:2]}) == ("unmask fill run EXAMPLE", "unmask evaluate run DATA")


def test_data_below_this_folder_is_named_as_one_would_type_it_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {"places": {"data": str(tmp_path / "my data")}, "uses": USES[1:2]}
    assert use_commands(Path("run"), places) == (f"unmask evaluate run '{tmp_path}/my data'",)
    monkeypatch.chdir(tmp_path)
    assert use_commands(Path("run"), places) == ("unmask evaluate run 'my data'",)


def test_each_state_has_the_commands_that_lead_on_from_it() -> None:
    run = Path("run")
    assert next_commands(run, DESCRIPTION, "running") == ("unmask watch run",)
    assert next_commands(run, DESCRIPTION, "stopped") == ("unmask pretrain --resume run",)
    assert next_commands(run, {}, "stopped") == ()  # it was killed before it had begun: there is nothing to go on with
    finished = next_commands(run, DESCRIPTION, "finished")
    assert [command.split()[1] for command in finished] == ["fill", "evaluate"]
    assert next_commands(run, DESCRIPTION, "damaged") == ()


def test_a_run_is_begun_in_a_place_that_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert train_command("data") == "unmask pretrain data --out run --minutes 10"
    Path("run").touch()
    assert train_command("-d", "--policy", "word") == "unmask pretrain ./-d --out run-2 --policy word --minutes 10"
