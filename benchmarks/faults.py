"""What a run survives: killed at random moments, signalled in every phase, damaged byte by byte, its disk full.

    python benchmarks/faults.py [--kills 50] [--json]

Each fault happens to a real process that runs the command, on a small text of its own, with a save after every step so
that many kills fall into one. Processes are forked from this one, which has loaded everything and computed nothing:
starting Python a hundred times would take longer than all the rest. Prints a table: how often each fault was tried,
how many runs could not go on, how many lost more than the step that was under way, how many ended with other weights
than the run that nothing happened to.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import tyro
from children import STEPS, Place
from rich.console import Console
from rich.table import Table

from unmask.errors import NoSpace, Refused, Terminated
from unmask.training import checkpoint


@dataclass
class Counted:
    """What came of one kind of fault."""

    fault: str
    tried: int = 0
    unloadable: int = 0  # runs that could not go on
    lost: int = 0  # runs that lost more than the step under way
    other_weights: int = 0
    wrong_exit: int = 0  # an exit code that is not the documented one
    note: str = ""


def killed(place: Place, kills: int, seed: int) -> list[Counted]:
    """SIGKILL at random moments of its steps and its saves, and on again each time."""
    counted = Counted(f"SIGKILL at {kills} random moments")
    draw = random.Random(seed)
    run, saving, number, over = "killed-0", 0, 0, 0
    while counted.tried < kills:
        process = place.start(run, "--resume")
        before = place.saved(run)
        aside = place.folder / run / "checkpoints"
        in_a_save = draw.random() < 0.5
        goal = max(before, place.logged(run)) + draw.randint(1, 3)
        while process.poll() is None and place.logged(run) < goal:
            time.sleep(0.001)
        while in_a_save and process.poll() is None and not list(aside.glob(".step-*.writing")):
            time.sleep(0.0002)
        time.sleep(draw.random() * (0.004 if in_a_save else 0.05))
        process.send(signal.SIGKILL)
        code, _, said = process.ended()
        if code == -signal.SIGKILL:
            counted.tried += 1
            saving += bool(list(aside.glob(".step-*.writing")))
            counted.lost += place.logged(run) - place.saved(run) > 1
        elif code != 0:
            counted.unloadable += 1
            counted.note = said.strip()
        if code == 0 or place.saved(run) >= STEPS - 4:
            over += 1
            _end(place, run, counted)
            number += 1
            run = f"killed-{number}"
    _end(place, run, counted)
    counted.note = counted.note or f"{saving} of them during a save, {over + 1} runs"
    return [counted]


def _end(place: Place, run: str, counted: Counted) -> None:
    """Have a run go on to its end and compare its weights."""
    code, answer, said = place.train(run, "--resume")
    counted.unloadable += code != 0
    counted.other_weights += code == 0 and answer["weights_sha256"] != place.weights
    counted.note = said.strip() if code else counted.note


PHASES = {
    "preparing a step": ("metrics.jsonl", 1),
    "training": ("metrics.jsonl", 12),
    "saving": ("checkpoints/.step-*.writing", None),
    "validating and exporting": (f"checkpoints/step-{STEPS:07d}", None),
}


def terminated(place: Place) -> list[Counted]:
    """SIGTERM in each phase: the documented code, and the same weights after going on."""
    found = []
    for phase, (pattern, step) in PHASES.items():
        counted = Counted(f"SIGTERM while {phase}", tried=1)
        run = f"terminated-{phase.split()[0]}"
        process = place.start(run)
        while process.poll() is None and not (
            list((place.folder / run).glob(pattern)) if step is None else place.logged(run) >= step
        ):
            time.sleep(0.0005)
        process.send(signal.SIGTERM)
        code, _, _ = process.ended()
        counted.wrong_exit += code not in (Terminated.code, 0)  # 0: it was over before the signal came
        counted.note = f"exit {code}"
        _end(place, run, counted)
        found.append(counted)
    return found


def flipped(place: Place) -> list[Counted]:
    """One byte of every file of the newest checkpoint, in many places, and the file cut off or gone."""
    counted = Counted("a byte flipped, a file cut or gone")
    run = "flipped"
    place.train(run)
    newest = max((place.folder / run / "checkpoints").glob("step-*"))
    for path in sorted(newest.iterdir()):
        whole = path.read_bytes()
        places = [*range(0, len(whole), max(1, len(whole) // 100))]
        damaged = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in places]
        for bad in (*damaged, whole[:-1], whole[: len(whole) // 2], b"", None):
            path.unlink()
            if bad is not None:
                path.write_bytes(bad)
            found = checkpoint.newest(newest.parent)
            counted.tried += 1
            counted.unloadable += found is None
            counted.lost += found is not None and found.step != STEPS - 1
            path.write_bytes(whole)
        path.write_bytes(whole[:-1])
        _end(place, run, counted)
        newest = max((place.folder / run / "checkpoints").glob("step-*"))
    counted.note = counted.note or "all found, the checkpoint before used"
    return [counted]


def no_space(place: Place) -> list[Counted]:
    """A disk that is full at the first save."""
    counted = Counted("disk full during a save", tried=1)
    code, _, said = place.train("full", limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
    counted.wrong_exit += code != NoSpace.code
    counted.note = " ".join(said.split()).rpartition(": ")[2]
    _end(place, "full", counted)
    return [counted]


def worker_killed(place: Place) -> list[Counted]:
    """The processes that prepare data, killed one after the other; none is left over."""
    counted = Counted("a process that prepares data killed")
    process = place.start("workers", "--workers", "2")
    seen: set[int] = set()
    while process.poll() is None:
        for child in _children(process.pid) - seen:
            seen.add(child)
            if counted.tried < 2:
                time.sleep(0.2)
                try:
                    os.kill(child, signal.SIGKILL)
                    counted.tried += 1
                except ProcessLookupError:
                    pass
        time.sleep(0.005)
    code, answer, said = process.ended()
    counted.unloadable += code != 0
    counted.other_weights += code == 0 and answer["weights_sha256"] != place.weights
    left = [child for child in seen if Path(f"/proc/{child}").exists()]
    counted.note = f"{said.count('was started again')} started again, {len(left)} left over"
    counted.wrong_exit += bool(left)
    return [counted]


def _children(process: int) -> set[int]:
    try:
        return {int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()}
    except FileNotFoundError:
        return set()


def two_runs(place: Place) -> list[Counted]:
    """A second run in the same directory."""
    counted = Counted("a second run in the directory", tried=1)
    process = place.start("two")
    while process.poll() is None and place.logged("two") < 1:
        time.sleep(0.001)
    code, _, said = place.train("two", "--resume")
    counted.wrong_exit += code != Refused.code
    counted.note = " ".join(said.split()).rpartition(": ")[2]
    _, answer, _ = process.ended()
    counted.other_weights += answer.get("weights_sha256") != place.weights
    return [counted]


def main(kills: int = 50, seed: int = 0, as_json: Annotated[bool, tyro.conf.arg(name="json")] = False) -> None:
    """Run every fault and print what came of it."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        place = Place.make(Path(folder))
        faults = (partial(killed, kills=kills, seed=seed), terminated, flipped, no_space, worker_killed, two_runs)
        found: list[Counted] = []
        for fault in faults:
            for counted in fault(place):
                print(counted, file=sys.stderr, flush=True)
                found.append(counted)
    if as_json:
        print(json.dumps([asdict(each) for each in found]))
        return
    table = Table("fault", "tried", "could not go on", "lost more", "other weights", "wrong exit", "")
    for each in found:
        numbers = (each.tried, each.unloadable, each.lost, each.other_weights, each.wrong_exit)
        table.add_row(each.fault, *map(str, numbers), each.note)
    Console().print(table)
    print(f"{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    tyro.cli(main)
