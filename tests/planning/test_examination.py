"""The machine is examined whatever is broken on it, and what is in the way is said with its remedy."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.planning import examination
from unmask.planning.examination import BRINGS, examine, requirements, try_in_processes
from unmask.results import Examined, ExtraStatus, GpuStatus, LibraryStatus

DECLARED = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEALTHY = Examined(
    python="3.11.7",
    unmask="0.1.0",
    system="Linux",
    libraries=(LibraryStatus(name="torch", version="2.13.0", wanted="torch>=2.9"),),
    cores=4,
    threads=4,
    memory=16_000_000_000,
    memory_free=8_000_000_000,
    folder=Path(),
    disk_free=100_000_000_000,
    gpus=(),
    speeds={"float32": 2e11, "bfloat16": 2.2e11, "float16": 2.1e11},
    extras=(
        ExtraStatus(name="spacy", brings="entities", missing=("spacy>=3.8",), command="pip install 'unmask[spacy]'"),
    ),
)


def test_every_extra_says_what_it_brings() -> None:
    assert BRINGS.keys() == DECLARED["optional-dependencies"].keys()


def test_what_is_required_is_read_from_the_installed_package() -> None:
    wanted = requirements()
    assert wanted[""]["torch"] == "torch>=2.9" and "pytest" not in wanted[""]
    assert wanted["spacy"] == {"spacy": "spacy>=3.8"}


def test_a_library_that_is_broken_is_reported_and_the_others_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dies.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    (tmp_path / "raises.py").write_text("raise OSError('libmissing.so: cannot open\\nshared object file')")
    (tmp_path / "leaves.py").write_text("import os; os._exit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    outcomes = try_in_processes(["import json", "import dies", "import raises", "import leaves", "import csv"])
    assert outcomes == {
        "import json": {},
        "import dies": {"error": "ends its process (SIGILL)"},
        "import raises": {"error": "OSError: libmissing.so: cannot open shared object file"},
        "import leaves": {"error": "ends its process (exit code 3)"},
        "import csv": {},
    }


@pytest.mark.slow
def test_doctor_is_one_json_document_with_torch_broken(
    command: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('libtorch_cpu.so: undefined symbol')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = command("doctor", "--folder", tmp_path, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["threads"], found["speeds"]) == (None, {})
    assert "torch cannot be loaded: ImportError: libtorch_cpu.so: undefined symbol" in found["problems"][0]
    assert "pip install --force-reinstall 'torch>=2.9'" in found["problems"][0]
    numpy = next(library for library in found["libraries"] if library["name"] == "numpy")
    assert numpy["version"] and numpy["problem"] == ""


@pytest.mark.slow
def test_a_healthy_machine_is_measured(tmp_path: Path) -> None:
    found = examine(tmp_path)
    assert found.speeds.keys() == {"float32", "bfloat16", "float16"} and min(found.speeds.values()) > 0
    assert found.threads and found.memory > 0 and not any(library.problem for library in found.libraries)


def test_what_is_in_the_way_is_said_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [*examination._problems(HEALTHY)] == []
    old, none = (
        examination._library(*each) for each in (("numpy", "numpy>=99"), ("nothing-like-it", "nothing-like-it>=1"))
    )
    ill = replace(HEALTHY, libraries=(old, none), disk_free=300_000_000, memory_free=500_000_000)
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write everywhere but on a read-only disk
    said = [*examination._problems(ill)]
    assert said[0].endswith("is not numpy>=99: pip install 'numpy>=99'")
    assert said[1] == "nothing-like-it is not installed: pip install 'nothing-like-it>=1'"
    assert said[2] == ". cannot be written: work in another folder, or change its permissions"
    assert said[3].startswith("the disk of . has 300.0 MB left") and said[4].startswith("500.0 MB of memory are free")
    with pytest.raises(BadInput, match="nowhere: is not a directory"):
        examine(tmp_path / "nowhere")


def test_what_follows_is_said_only_where_it_differs() -> None:
    assert [*examination._advice(HEALTHY, {"matrix_unit_works": True})] == []
    fast = replace(HEALTHY, speeds={"float32": 2e11, "bfloat16": 6.4e11, "float16": 1e9}, threads=2)
    assert [*examination._advice(fast, {"matrix_unit_works": False})] == [
        "--precision bfloat16: products are 3.2 times as fast as in float32 here",
        "do without --precision float16: products take 200.0 times as long as in float32 here",
        "this processor shows a matrix unit (AMX) that does not work here; unmask does without it",
        "torch uses 2 of 4 cores: OMP_NUM_THREADS=4 gives it all",
    ]
    with_gpu = replace(HEALTHY, gpus=(GpuStatus(name="A100", memory=80_000_000_000),))
    assert next(iter(examination._advice(with_gpu, {}))).startswith("pretrain takes the GPU by itself")
