"""Real processes, under torchrun where that matters, talking over gloo."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import processes
import pytest

from unmask.errors import BadInput
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.tokens.store.dataset import Dataset
from unmask.training.machine.distributed import World, launcher, process_group
from unmask.training.timetable import Timetable

SETTINGS = [
    "--recipe",
    "tiny",
    "--steps",
    "8",
    "--length",
    "32",
    "--batch-size",
    "16",
    "--micro-batch",
    "4",
    "--save-seconds",
    "0",
    "--precision",
    "float32",
]


def words_of(data: Path, out: Path, *extra: str) -> list[str]:
    return ["pretrain", str(data), "--out", str(out), "--json", *SETTINGS, *extra]


def train(size: int, data: Path, out: Path, *extra: str, recorded: bool = False) -> dict[str, object]:
    out.parent.mkdir(exist_ok=True)
    before = processes.Recording(out.parent / "seen.jsonl") if recorded else None
    done = processes.run(out.parent / "said", size, words_of(data, out, *extra), before=before)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert len(answers) == 1, "one process speaks for all"
    return json.loads(answers[0])


def torchrun(*options: str) -> list[str]:
    return [sys.executable, "-m", "torch.distributed.run", *options, "--standalone", "--nproc-per-node", "2"]


@pytest.fixture(scope="module")
def alone(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return train(1, data, tmp_path_factory.mktemp("alone") / "run", "--reproducible", recorded=True)


def losses(run: object) -> list[float]:
    lines = map(json.loads, (Path(str(run)) / "metrics.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if "loss" in line]


def seen(run: object) -> list[list[object]]:
    """What was trained on, whoever did it: step, blocks and hidden positions of each micro-batch, in order."""
    return sorted(map(json.loads, (Path(str(run)).parent / "seen.jsonl").read_text().splitlines()))


@pytest.mark.parametrize("size", [2, 4])
def test_the_number_of_processes_changes_who_computes_and_not_what(
    data: Path, tmp_path: Path, alone: dict[str, object], size: int
) -> None:
    several = train(size, data, tmp_path / "run", recorded=True)
    assert several["tokens"] == alone["tokens"]
    assert seen(several["path"]) == seen(alone["path"])
    assert len(seen(alone["path"])) == 8 * 4
    np.testing.assert_allclose(losses(several["path"]), losses(alone["path"]), rtol=0, atol=1e-5)
    assert abs(float(str(several["loss"])) - float(str(alone["loss"]))) < 1e-5


def test_processes_that_have_no_part_in_steps_of_few_long_blocks_leave_what_is_computed_as_it_is(
    data: Path, tmp_path: Path
) -> None:
    schedule = ("--length", "32 until 0.5; 256", "--batch-size", "8")
    one, two = (train(count, data, tmp_path / str(count) / "run", *schedule, recorded=True) for count in (1, 2))
    assert seen(one["path"]) == seen(two["path"])
    assert [len([each for each in seen(two["path"]) if each[0] == step]) for step in (0, 7)] == [2, 1]
    np.testing.assert_allclose(losses(two["path"]), losses(one["path"]), rtol=0, atol=1e-5)


def test_reproducible_sums_give_the_same_weights_on_any_number_of_processes(
    data: Path, tmp_path: Path, alone: dict[str, object]
) -> None:
    several = train(2, data, tmp_path / "run", "--reproducible")
    assert several["weights_sha256"] == alone["weights_sha256"]


def test_a_killed_process_and_a_resume_on_another_number_of_processes_end_with_the_same_weights(
    data: Path, tmp_path: Path, alone: dict[str, object]
) -> None:
    run = tmp_path / "run"
    started = processes.start(tmp_path / "killed", 2, words_of(data, run, "--reproducible"))
    deadline = time.monotonic() + 120
    while not list(run.glob("checkpoints/step-*")) and started.at_work and time.monotonic() < deadline:
        time.sleep(0.01)
    assert started.kill() == [True, True], "it was over before it was killed"
    assert not (run / "model").exists()
    again = train(1, data, run, "--reproducible", "--resume")
    assert again["weights_sha256"] == alone["weights_sha256"]


def test_layers_cut_up_among_processes_give_the_same_losses_and_a_checkpoint_that_goes_on_whole(
    data: Path, tmp_path: Path, alone: dict[str, object]
) -> None:
    several = train(2, data, tmp_path / "run", "--shard")
    np.testing.assert_allclose(losses(several["path"]), losses(alone["path"]), rtol=0, atol=1e-5)
    assert abs(float(str(several["loss"])) - float(str(alone["loss"]))) < 1e-5
    shutil.rmtree(max((tmp_path / "run" / "checkpoints").iterdir()))
    again = train(1, data, tmp_path / "run", "--resume")
    assert abs(float(str(again["loss"])) - float(str(alone["loss"]))) < 1e-5


@pytest.mark.parametrize(
    ("micro_batches", "settings", "said"),
    [
        (1, {}, "1 micro-batches in a step cannot keep 2 processes busy: give a smaller --micro-batch"),
        (3, {"shard": True}, "3 micro-batches cannot be shared out evenly; give another --batch-size or --micro-batch"),
        (4, {"shard": True, "reproducible": True}, "leave out --reproducible"),
    ],
)
def test_work_that_cannot_be_shared_out_is_refused_before_processes_join(
    micro_batches: int, settings: dict[str, bool], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(BadInput, match=said), process_group(micro_batches=micro_batches, **settings):
        pass


@pytest.mark.parametrize("size", [1, 2, 96, 1000, 1024])
def test_the_processes_of_a_step_plan_each_of_its_blocks_once_however_many_they_are(data: Path, size: int) -> None:
    plan = recipe_named("tiny", length=32, batch_size=1536, micro_batch=1)
    feed = Pretraining.of(Dataset.open(data), plan).feed(Timetable(60))
    for step in (0, 7, 59):  # over the ends of many epochs: the text has few blocks
        shares = (World(rank, size).share(feed.micro_batches) for rank in range(size))
        planned = [each.request for share in shares for each in feed.plan_step(step, share)]
        blocks = [number for request in planned for number in range(request.begin, request.end)]
        assert sorted(blocks) == list(range(step * 1536, (step + 1) * 1536))


def test_a_killed_rank_is_started_again_by_torchrun_and_the_weights_come_out_the_same(
    data: Path, tmp_path: Path, alone: dict[str, object]
) -> None:
    run = tmp_path / "run"
    words = [*torchrun("--max-restarts=1"), "-m", "unmask", *words_of(data, run, "--reproducible", "--resume")]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    deadline = time.monotonic() + 120
    while not list(run.glob("checkpoints/step-*")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    ranks = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(ranks[-1]), signal.SIGKILL)
    assert not (run / "model").exists(), "it was over before it was killed"
    answer, said = process.communicate(timeout=180)
    assert process.returncode == 0, said
    assert "going on from step" in said
    assert json.loads(answer.splitlines()[-1])["weights_sha256"] == alone["weights_sha256"]


def test_without_a_micro_batch_processes_share_a_step_and_reproducible_weights_are_the_same_resumed_by_name_too(
    data: Path, tmp_path: Path
) -> None:
    small = [
        "--recipe",
        "tiny",
        "--steps",
        "3",
        "--length",
        "32",
        "--batch-size",
        "16",
        "--save-seconds",
        "0",
        "--json",
    ]
    several, alone = (
        processes.run(
            tmp_path / f"said{size}",
            size,
            ["pretrain", str(data), "--out", str(tmp_path / f"run{size}"), "--reproducible", *small],
        )
        for size in (2, 1)
    )
    assert several.returncode == alone.returncode == 0, several.stderr + alone.stderr
    digest = json.loads(alone.stdout)["weights_sha256"]
    assert json.loads(several.stdout)["weights_sha256"] == digest
    run = tmp_path / "run2"
    assert json.loads((run / "run.json").read_text())["recipe"]["settings"]["micro_batch"] == 2
    shutil.rmtree(max((run / "checkpoints").iterdir()))
    again = processes.run(tmp_path / "again", 1, ["pretrain", "--resume", str(run), "--json"])
    assert json.loads(again.stdout)["weights_sha256"] == digest, again.stderr


def errors_in(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("unmask: ")]


def test_what_is_wrong_before_processes_join_is_one_line_once(tmp_path: Path) -> None:
    done = processes.run(tmp_path / "said", 2, ["pretrain", "nowhere", "--out", str(tmp_path / "run"), "--steps", "1"])
    (line,) = errors_in(done.stderr)
    assert done.returncode == 3 and "nowhere: " in line


def test_what_the_first_process_finds_out_is_one_line_and_the_others_are_left_to_torchrun(
    data: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    words = ["pretrain", str(data), "--out", str(tmp_path / "mine"), "--steps", "1", "--recipe", "tiny"]
    started = processes.start(tmp_path / "said", 2, words)
    started.processes[0].join(120)
    assert started.processes[0].exitcode == 5
    started.kill()  # as torchrun does, where one has failed
    (said,) = errors_in(started.wait().stderr)
    assert "so it is not a run; choose another --out" in said


def test_a_command_to_copy_starts_as_many_processes_as_there_were(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launcher() == "unmask"
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert launcher() == "unmask"  # on several machines nobody knows how they were started
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert launcher() == "torchrun --nproc-per-node 2 -m unmask"


def test_everyone_begins_with_the_weights_of_the_first_process(tmp_path: Path) -> None:
    script = tmp_path / "hand_out.py"
    script.write_text(
        "import os, sys, torch\n"
        "from unmask.training.machine.distributed import process_group\n"
        "with process_group() as world:\n"
        "    ones, row = torch.ones(2, 3) * (world.rank + 1), torch.arange(4.0) * (world.rank + 1)\n"
        "    weights = [ones.requires_grad_(), row]\n"
        "    world.hand_out(weights)\n"
        "    total = world.total(*(float(weight.detach().sum()) for weight in weights))\n"
        "    print(total) if world.first else None\n"
    )
    done = processes.run(tmp_path / "said", 2, [], script=script)
    assert done.stdout.split("\n")[0] == str([2 * 6.0, 2 * 6.0]), done.stderr
