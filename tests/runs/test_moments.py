"""Which moments of a run are there, by their folders."""

from __future__ import annotations

import shutil
from pathlib import Path

from unmask.runs.moments import kept_moments


def test_each_moment_is_there_once_with_what_is_special_about_it(kept_run: Path) -> None:
    assert [(moment.step, moment.names) for moment in kept_moments(kept_run)] == [(0, ()), (5, ("the best",)), (10, ())]


def test_of_many_so_many_as_are_wanted_from_the_first_to_the_last(tmp_path: Path) -> None:
    for step in range(0, 1000, 10):
        folder = tmp_path / "moments" / f"step-{step:07d}"
        folder.mkdir(parents=True)
        for name in ("checkpoint.json", "model.safetensors"):
            (folder / name).touch()
    assert [moment.step for moment in kept_moments(tmp_path, 4)] == [0, 330, 660, 990]


def test_what_happened_to_be_saved_stands_back_where_moments_were_asked_for(kept_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(kept_run, run)
    shutil.copytree(run / "checkpoints" / "step-0000010", run / "checkpoints" / "step-0000007")
    shutil.copytree(run / "checkpoints" / "step-0000010", run / "checkpoints" / "step-0000012")
    assert [moment.step for moment in kept_moments(run)] == [0, 5, 7, 10, 12]
    assert [moment.step for moment in kept_moments(run, 20)] == [0, 5, 10, 12]
    shutil.rmtree(run / "moments")
    assert [moment.step for moment in kept_moments(run, 20)] == [5, 7, 10, 12]


def test_what_is_not_whole_or_leads_elsewhere_is_no_moment(kept_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(kept_run / "moments", run / "moments")
    (run / "moments" / "step-0000000").rename(tmp_path / "step-0000000")
    (run / "moments" / "step-0000000").symlink_to(tmp_path / "step-0000000")
    (run / "moments" / "step-0000005" / "model.safetensors").unlink()
    shutil.copytree(run / "moments" / "step-0000010", run / "moments" / ".step-0000011.writing")
    assert [moment.step for moment in kept_moments(run)] == [10]
