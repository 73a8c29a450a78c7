"""A run says itself what it is: going on with it takes its name alone, and what is asked besides must agree."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import unmask
from unmask.errors import BadInput, Interrupted, Refused
from unmask.files import with_seal
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.request import new_request, resumed_request
from unmask.results import Trained
from unmask.runs.directory import read_description

Interrupts = Callable[..., AbstractContextManager[None]]
SMALL: dict[str, Any] = {
    "recipe": "tiny",
    "steps": 8,
    "length": 32,
    "batch_size": 8,
    "micro_batch": 4,
    "seed": 3,
    "objective": "mlm 0.5, clm 0.5",
    "rate": "0.2",
    "static_masks": True,
    "keep_best": True,
    "reproducible": True,
    "report": False,
    "save_seconds": 0.0,
}


def stopped(data: Path, run: Path, interrupted: Interrupts, **changes: Any) -> Path:
    """A run that was stopped after its third step."""
    with interrupted(3), pytest.raises(Interrupted):
        unmask.pretrain(data, out=run, **{**SMALL, **changes})
    return run


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return unmask.pretrain(data, out=tmp_path_factory.mktemp("whole") / "run", **SMALL)


def test_a_run_goes_on_by_its_name_alone_to_the_same_weights(
    data: Path, tmp_path: Path, whole: Trained, interrupted: Interrupts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data_here = Path("data")
    shutil.copytree(data, data_here)
    stopped(data_here, Path("run"), interrupted)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # the run knows where its data is, wherever one stands
    shutil.move(tmp_path / "run", "moved")
    again = unmask.pretrain(resume="moved")
    assert again.weights_sha256 == whole.weights_sha256
    assert not (again.path / "report.html").exists(), "it was told to draw none"
    kept = read_description(again.path)
    assert (kept["saving"]["seconds"], kept["reproducible"], kept["keeps_best"]) == (0.0, True, True)


@pytest.mark.parametrize(
    "again",
    [
        lambda data, run: unmask.pretrain(data, out=run, resume=True, **SMALL),
        lambda data, run: unmask.pretrain(data, out=run, resume=True),
        lambda data, run: unmask.pretrain(out=run, resume=True),
        lambda data, run: unmask.pretrain(data, out=run, resume=run),
        lambda data, run: unmask.pretrain(out=run, resume=data),  # as `--resume data --out run` is read
        lambda data, run: unmask.pretrain(
            resume=run, steps=8, objective="mlm 0.5, causal 0.5", device="cpu", workers=1
        ),
    ],
    ids=["all said again", "no settings", "no data", "named twice", "flag before the data", "some said again"],
)
def test_every_way_of_saying_it_goes_on_to_the_same_weights(
    data: Path, tmp_path: Path, whole: Trained, interrupted: Interrupts, again: Callable[[Path, Path], Trained]
) -> None:
    run = stopped(data, tmp_path / "run", interrupted)
    assert again(data, run).weights_sha256 == whole.weights_sha256


def test_all_that_differs_is_named_at_once_by_its_flag(
    data: Path, tmp_path: Path, corpus: Path, whole: Trained
) -> None:
    other = unmask.prepare(corpus, out=tmp_path / "other", vocab_size=180).path
    with pytest.raises(Refused) as refusal:
        unmask.pretrain(
            other,
            resume=whole.path,
            recipe="electra-mini",
            batch_size=16,
            policy="word",
            seed=4,
            minutes=2,
            precision="bfloat16",
            compile=True,
            skip_spikes=True,
            length=32,
        )
    said = str(refusal.value)
    for difference in (
        "--recipe: the run has tiny, asked for electra-mini",
        "--batch-size: the run has 8, asked for 16",
        "--policy: the run has token, asked for word",
        "--seed: the run has 3, asked for 4",
        "--minutes: the run has none, asked for 2",
        "--steps: the run has 8, asked for none",
        "--precision: the run has float32, asked for bfloat16",
        "--compile: the run has no, asked for yes",
        "--skip-spikes: the run has no, asked for yes",
        "data: the run has ",
        f"unmask pretrain --resume {whole.path} goes on as it was",
    ):
        assert difference in said
    assert "--length" not in said and "recipe." not in said and said.count("asked for") == 10


def test_what_changes_nothing_of_what_is_trained_may_differ_and_is_kept(data: Path, whole: Trained) -> None:
    free = {"device": "cpu", "workers": 1, "seconds": 9.0, "tensorboard": True, "recompute": True, "shard": True}
    request = resumed_request(whole.path, None, free)
    assert (request.workers, request.computing.recompute, request.computing.shard) == (1, True, True)
    assert (request.saving.seconds, request.saving.tensorboard, request.saving.report) == (9.0, True, False)
    assert (request.recipe.settings.micro_batch, request.reproducible, request.data) == (4, True, data.resolve())


def test_data_that_has_moved_is_told_with_the_remedy_and_found_again(data: Path, tmp_path: Path) -> None:
    shutil.copytree(data, tmp_path / "data")
    run = unmask.pretrain(tmp_path / "data", out=tmp_path / "my run", **SMALL).path
    shutil.move(tmp_path / "data", tmp_path / "moved")
    remedy = f"is no longer at {tmp_path / 'data'}; say where it is now: unmask pretrain DATA --resume '{run}'"
    with pytest.raises(BadInput, match=remedy):
        unmask.pretrain(resume=run)
    unmask.pretrain(tmp_path / "moved", resume=run)
    assert resumed_request(run, None, {}).data == tmp_path / "moved"


def test_a_run_that_does_not_say_where_its_data_is_asks_for_it(data: Path, tmp_path: Path, whole: Trained) -> None:
    older = shutil.copytree(whole.path, tmp_path / "older")
    gone = ("places", "saving", "workers", "reproducible", "example", "uses")
    description = {name: value for name, value in read_description(older).items() if name not in gone}
    (older / "run.json").write_text(json.dumps(with_seal(description)))
    with pytest.raises(BadInput, match="does not say where its data is; say where it is now: unmask pretrain DATA"):
        unmask.pretrain(resume=older)
    assert unmask.pretrain(data, resume=older).weights_sha256 == whole.weights_sha256


def test_phrases_that_have_moved_are_told_and_those_that_have_changed_are_refused(data: Path, tmp_path: Path) -> None:
    phrases = tmp_path / "phrases.txt"
    phrases.write_text("bread and butter\n")
    few = {**SMALL, "steps": 1, "policy": "phrase", "objective": "mlm", "phrases": phrases}
    run = unmask.pretrain(data, out=tmp_path / "run", **few).path
    phrases.rename(tmp_path / "moved.txt")
    with pytest.raises(BadInput, match=f"is not at {phrases}; .*unmask pretrain --resume {run} --phrases FILE"):
        unmask.pretrain(resume=run)
    unmask.pretrain(resume=run, phrases=tmp_path / "moved.txt")
    (tmp_path / "moved.txt").write_text("the old king\n")
    with pytest.raises(Refused, match=r"--phrases, or a list in the data: the run has .*, asked for "):
        unmask.pretrain(resume=run)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "train where\\?"),
        ({"resume": True}, "train where\\?"),
        ({"out": "run"}, "train on what\\?"),
        ({"out": "run", "resume": True}, "train on what\\?"),
        ({"resume": "nowhere"}, "nowhere: does not exist; `unmask runs` lists"),
    ],
)
def test_what_is_missing_is_asked_for(asked: dict[str, Any], said: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=said):
        unmask.pretrain(**asked, steps=1)
    assert not list(tmp_path.iterdir())


def test_two_runs_cannot_be_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="name the run once"):
        unmask.pretrain(data, out=tmp_path / "one", resume=tmp_path / "two", steps=1)


# many processes


@pytest.mark.parametrize("processes", range(1, 33))
@pytest.mark.parametrize("recipe", ["tiny", "small", "base"])
def test_a_micro_batch_that_nobody_asked_for_keeps_every_process_busy(
    recipe: str, processes: int, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = recipe_named(recipe).settings
    monkeypatch.setenv("WORLD_SIZE", str(processes))
    settings = new_request(data, {"recipe": recipe, "steps": 1}).recipe.settings
    count = -(-settings.batch_size // settings.micro_batch)
    assert settings.micro_batch <= usual.micro_batch and count >= processes
    if settings.batch_size % processes == 0:
        assert count % processes == 0, "all have the same to do"
    if processes == 1:
        assert settings == usual
    assert new_request(data, {"recipe": recipe, "micro_batch": 5}).recipe.settings.micro_batch == 5


def test_reproducible_micro_batches_do_not_depend_on_the_number_of_processes(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set()
    for processes in range(1, 9):
        monkeypatch.setenv("WORLD_SIZE", str(processes))
        found.add(new_request(data, {"recipe": "tiny", "reproducible": True}).recipe.settings)
    (settings,) = found
    assert settings.batch_size / settings.micro_batch == 8


def test_more_processes_than_blocks_are_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "64")
    with pytest.raises(BadInput, match=r"--batch-size 32: .* cannot keep 64 processes busy; give 64 or more"):
        new_request(data, {"recipe": "tiny"})


def test_a_run_keeps_its_micro_batch_on_another_number_of_processes_and_says_how_many_are_too_many(
    whole: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert resumed_request(whole.path, None, {}).recipe.settings.micro_batch == 4
    monkeypatch.setenv("WORLD_SIZE", "3")
    remedy = f"torchrun --nproc-per-node 2 -m unmask pretrain --resume {whole.path}$"
    with pytest.raises(
        BadInput, match=f"2 micro-batches of 4 blocks, which cannot keep 3 processes busy; .*: {remedy}"
    ):
        resumed_request(whole.path, None, {})


def test_where_long_blocks_cannot_be_shared_out_among_sharded_processes_it_is_told_what_can(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "8")
    line = "--batch-size 32: --shard keeps 8 processes in step, .* 1,024 tokens a step has 4; give 64, or one --length"
    with pytest.raises(BadInput, match=line):
        new_request(data, {"recipe": "small", "steps": 1, "shard": True})
    for given in ({"batch_size": 64}, {"length": 128}):
        assert new_request(data, {"recipe": "small", "steps": 1, "shard": True, **given})
    assert new_request(data, {"recipe": "small", "steps": 1})
