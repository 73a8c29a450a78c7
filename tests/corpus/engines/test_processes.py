from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from unmask.corpus.engines.processes import run_in_processes
from unmask.corpus.parts import Part
from unmask.corpus.read.find import TextSource
from unmask.errors import BadInput, UnmaskError

PARTS = [Part(number, (TextSource(f"{number}.txt", "text"),)) for number in range(5)]
# What the processes are to run has to be somewhere they can import it from.
WORKS = """
import os, signal
from pathlib import Path
from unmask.errors import BadInput

def work(part, report, *, folder, dies=0, fails=-1):
    report(10, 1)
    if part.number == fails:
        raise BadInput(f"{part.sources[0].name}: cannot be read")
    with (Path(folder) / f"{part.number}.tries").open("a") as file:
        file.write("x")
    if part.number == 2 and (Path(folder) / "2.tries").stat().st_size <= dies:
        os.kill(os.getpid(), signal.SIGKILL)
    return part.number ** 2
"""


@pytest.fixture
def works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    (tmp_path / "works_of_a_test.py").write_text(WORKS)
    monkeypatch.syspath_prepend(tmp_path)
    import importlib

    sys.modules.pop("works_of_a_test", None)
    return importlib.import_module("works_of_a_test")


def test_a_part_whose_process_is_killed_is_worked_on_again(works: object, tmp_path: Path) -> None:
    heard: list[int] = []
    work = partial(works.work, folder=tmp_path, dies=2)  # type: ignore[attr-defined]
    results = dict(run_in_processes(work, PARTS, 2, lambda count, documents: heard.append(count)))
    assert results == {number: number**2 for number in range(5)}
    assert [(tmp_path / f"{number}.tries").read_text() for number in range(5)] == ["x", "x", "xxx", "x", "x"]
    assert heard == [10] * 7


def test_a_part_that_kills_every_process_is_named_and_an_error_comes_up_as_it_is(works: object, tmp_path: Path) -> None:
    with pytest.raises(UnmaskError, match=r"2\.txt: the process that reads it was ended 3 times"):
        dict(run_in_processes(partial(works.work, folder=tmp_path, dies=9), PARTS, 2, print))  # type: ignore[attr-defined]
    with pytest.raises(BadInput, match=r"^1\.txt: cannot be read$"):
        dict(run_in_processes(partial(works.work, folder=tmp_path, fails=1), PARTS, 2, print))  # type: ignore[attr-defined]


def test_a_process_ends_in_the_midst_of_a_part_when_the_one_that_started_it_is_gone(tmp_path: Path) -> None:
    (tmp_path / "sleeping.py").write_text(
        "import os, time\nfrom pathlib import Path\n"
        "def work(part, report):\n    print(1)\n    Path('pid').write_text(str(os.getpid()))\n    time.sleep(60)\n"
    )
    script = (
        "import sleeping\nfrom unmask.corpus.engines.processes import run_in_processes\n"
        "from unmask.corpus.parts import Part\nfrom unmask.corpus.read.find import TextSource\n"
        "list(run_in_processes(sleeping.work, [Part(0, (TextSource('a', 'text'),))], 1, print))\n"
    )
    driver = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, "PYTHONPATH": "."})
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert driver.poll() is None
    pid = int((tmp_path / "pid").read_text())
    os.kill(pid, 0)
    driver.kill()
    driver.wait()
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{pid}/stat").exists() and ") Z " in Path(f"/proc/{pid}/stat").read_text():
            return
        signal.sigtimedwait([], 0.01)
    pytest.fail("the process is still there")
