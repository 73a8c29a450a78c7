"""A directory that long work is done in: one process at a time, and only as what it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from unmask.errors import Damaged, Refused
from unmask.files import with_seal
from unmask.runs.claim import claim_directory, read_sealed, refuse_differences
from unmask.runs.directory import RUN

HOLDING = """
import sys
from pathlib import Path
from unmask.runs.claim import claim_directory
from unmask.runs.directory import RUN
with claim_directory(Path(sys.argv[1]), RUN, resume=False, doing="painting"):
    print("in", flush=True)
    sys.stdin.read()
"""


def test_work_that_differs_is_refused_by_the_flags_or_else_the_fields_of_all_that_differs() -> None:
    before = {"seed": 0, "recipe": {"name": "mini", "settings": {"length": 128, "rate": 0.15}}}
    refuse_differences(Path("run"), before, json.loads(json.dumps(before)))
    now = {"seed": 0, "recipe": {"name": "mini", "settings": {"length": 64, "rate": 0.3}}}
    flags = {"recipe.settings.length": "--length"}
    with pytest.raises(Refused) as refusal:
        refuse_differences(Path("run"), before, now, flags=flags, remedy="think again")
    assert str(refusal.value) == (
        "run: cannot go on: --length: the run has 128, asked for 64; "
        "recipe.settings.rate: the run has 0.15, asked for 0.3; think again"
    )
    with pytest.raises(Refused, match=r"go on: recipe\.settings\.rate: the run has 0\.15, asked for 0\.3; give"):
        refuse_differences(Path("run"), before, now, free=("recipe.settings.length",))
    refuse_differences(Path("run"), before, now, free=("recipe.settings",))
    with pytest.raises(Refused, match="seed: the run has 0, asked for none"):
        refuse_differences(Path("run"), before, {"recipe": before["recipe"]})


def test_a_second_process_is_refused_until_the_first_is_gone_however_it_went(tmp_path: Path) -> None:
    place = tmp_path / "work"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLDING, str(place)], stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None and process.stdout.readline() == b"in\n"
        told = pytest.raises(Refused, match=rf"another process \(process {process.pid}\) is painting here; wait")
        with told, claim_directory(place, RUN, resume=True, doing="painting"):
            raise AssertionError("two at once")
        process.kill()
    with claim_directory(place, RUN, resume=True, doing="painting") as there:
        assert not there  # the lock alone is nothing


@pytest.mark.parametrize("text", ["{", "[]", '{"seed": 0}', json.dumps({**with_seal({"seed": 0}), "seed": 1})])
def test_a_description_that_was_changed_is_damaged(text: str, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps(with_seal({"seed": 0})))
    assert read_sealed(file) == {"seed": 0}
    file.write_text(text)
    with pytest.raises(Damaged, match=r"run\.json: (cannot be read|its hash does not hold)"):
        read_sealed(file)
