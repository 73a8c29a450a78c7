"""A run directory: taken up as what it was, and left as it was found where nothing begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from unmask.errors import BadInput, Interrupted, Refused
from unmask.runs.claim import claim_directory
from unmask.runs.directory import FORMAT, README, RUN, Run, describe_run, open_run, read_description

ASKED = {"format": FORMAT, "unmask": "0", "seed": 0, "budget": {"steps": 5}, "betas": (0.9, 0.95)}


def test_a_run_keeps_what_it_was_given_last_of_all_that_may_change(tmp_path: Path) -> None:
    begun = {**ASKED, "places": {"data": "/here"}, "workers": 2}
    with open_run(tmp_path / "run", begun, resume=False) as run:
        describe_run(run, 5, 2)
    moved = {**begun, "places": {"data": "/there"}, "workers": None}
    with open_run(tmp_path / "run", moved, resume=True) as run:
        assert run.description["places"] == {"data": "/there"}
    kept = read_description(tmp_path / "run")
    assert (kept["places"], kept["workers"], kept["steps"]) == ({"data": "/there"}, 2, 5)


def test_a_run_that_is_there_is_taken_up_only_if_that_is_asked_for(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text("{}")
    (tmp_path / "run-2").write_text("mine")
    with (
        pytest.raises(Refused, match=r"run: is not empty; add --resume to go on .* another --out, as .*/run-3$"),
        claim_directory(run, RUN, resume=False, doing="training"),
    ):
        pass
    with claim_directory(run, RUN, resume=True, doing="training") as begun:
        assert begun


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", ["notes", "README.md"])
def test_nothing_is_written_where_something_else_is_and_a_free_place_is_named(
    tmp_path: Path, name: str, resume: bool
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / name).write_text("mine")
    said = rf"data: has files but no run\.json, so it is not a run; choose another --out, as {tmp_path}/run$"
    with pytest.raises(Refused, match=said), open_run(folder, ASKED, resume=resume):
        pass
    assert [(entry.name, entry.read_text()) for entry in folder.iterdir()] == [(name, "mine")]
    with pytest.raises(BadInput, match=f"{name}: is a file"), open_run(folder / name, ASKED, resume=resume):
        pass


@pytest.mark.parametrize("kind", ["pretrain", "tune classify"])
@pytest.mark.parametrize("best", [False, True])
def test_the_readme_lists_what_a_run_of_its_kind_has(tmp_path: Path, best: bool, kind: str) -> None:
    with open_run(tmp_path / "run", ASKED | {"keeps_best": best, "kind": kind}, resume=False):
        text = (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    tuned = kind != "pretrain"
    assert ("`best/`" in text) == best and "`checkpoints/`" in text
    assert [f"`{name}`" in text for name in ("tuned.json", "answers.jsonl", "shape/")] == [tuned, tuned, not tuned]
    left = tmp_path / "left"
    left.mkdir()
    (left / "README.md").write_text(text, encoding="utf-8")  # of a run that was killed before it had begun
    with open_run(left, ASKED, resume=False):
        pass


@pytest.mark.parametrize("resume", [False, True])
def test_what_stopped_before_it_had_begun_takes_no_place(tmp_path: Path, resume: bool) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / "README.md").write_text(README[:20])
    with open_run(tmp_path, ASKED, resume=resume) as run:
        assert run.description["seed"] == 0


@pytest.mark.parametrize("saved", [False, True])
def test_what_goes_wrong_leaves_nothing_behind_unless_something_was_saved(tmp_path: Path, saved: bool) -> None:
    with pytest.raises(Interrupted), open_run(tmp_path / "run", ASKED, resume=False) as run:
        describe_run(run, 5, 1)
        if saved:
            run.checkpoints.mkdir()
        raise Interrupted("now")
    assert (tmp_path / "run").exists() == saved


def test_a_run_goes_on_as_what_it_was_with_its_own_budget_where_none_is_given(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", ASKED, resume=False) as run:
        describe_run(run, 5, 2)
    with open_run(tmp_path / "run", {**ASKED, "budget": None}, resume=True) as run:
        assert (run.description["steps"], run.description["threads"], run.description["betas"]) == (5, 2, [0.9, 0.95])
    other = open_run(tmp_path / "run", {**ASKED, "seed": 1}, resume=True)
    with (
        pytest.raises(Refused, match=r"seed: the run has 0, asked for 1; unmask pretrain --resume .*run goes on"),
        other,
    ):
        pass


def test_what_was_logged_after_a_step_the_end_a_stop_and_half_a_line_are_taken_back(tmp_path: Path) -> None:
    run = Run(tmp_path, {})
    run.rewind(3)  # nothing was logged yet
    for line in ({"step": 0}, {"step": 2, "loss": 1.0}, {"step": 3}, {"step": 3, "final_loss": 1.0}, {"step": 4}):
        run.log(line)
    run.log({"step": 3, "stopped": True})
    with run.metrics.open("a") as file:
        file.write('{"step": 1, "lo')
    run.rewind(3)
    assert list(run.read_log()) == [{"step": 0}, {"step": 2, "loss": 1.0}, {"step": 3}]
    run.rewind(-1)
    assert list(run.read_log()) == []


def test_a_run_of_a_version_that_did_not_know_a_setting_goes_on_with_what_it_had(tmp_path: Path) -> None:
    recipe = {"name": "mini", "settings": {"optimizing": {"clip": 1.0}}}
    now = {
        "name": "mini",
        "settings": {"optimizing": {"clip": 1.0, "layer_decay": 1.0, "full_steps": None, "fall": "root"}},
    }
    with open_run(tmp_path / "run", {**ASKED, "recipe": recipe}, resume=False) as run:
        describe_run(run, 5, 1)
    with open_run(tmp_path / "run", {**ASKED, "recipe": now}, resume=True) as run:
        assert run.description["recipe"] == now
    now["settings"]["optimizing"]["layer_decay"] = 0.9  # type: ignore[index]
    with (
        pytest.raises(Refused, match=r"layer_decay: the run has 1\.0, asked for 0\.9"),
        open_run(tmp_path / "run", {**ASKED, "recipe": now}, resume=True),
    ):
        pass
