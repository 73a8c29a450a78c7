from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from unmask.corpus.collect import collect_corpus
from unmask.corpus.engines.engine import Engine
from unmask.errors import BadInput

# In a process of its own: Ray leaves threads, files and settings behind in one that it was used in. A worker is killed
# in the midst of its first part; relative paths are those of whoever asks, whatever folder workers are started in.
RUN = """
import os, signal, sys
from functools import partial
from pathlib import Path
from unmask.corpus import collect
from unmask.corpus.engines.engine import Engine

def dies_once(part, report, *, true, **fields):
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    if part.number == 1 and not Path("died").exists():
        Path("died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return true(part, report, **fields)

collect._read_part = partial(dies_once, true=collect._read_part)
collect.collect_corpus(["texts"], Path("ray"), engine=Engine(kind="ray"), part_bytes=4_000)
import ray
assert not ray.is_initialized()
"""


@pytest.mark.slow
def test_ray_gives_the_same_bytes_even_when_a_worker_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "texts").mkdir()
    texts = [f"This is document number {number % 150}, and it is long enough." for number in range(300)]
    (tmp_path / "texts" / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (tmp_path / "texts" / "b.txt").write_text("\n\n".join(texts[::-1]))
    answer = subprocess.run([sys.executable, "-c", RUN], cwd=tmp_path, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "died").exists()
    monkeypatch.chdir(tmp_path)
    collect_corpus(["texts"], tmp_path / "local", engine=Engine(processes=1))
    one, two = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "local", tmp_path / "ray")
    )
    assert one == two and len(one) == 3


def test_no_ray_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A document that is long enough.")
    with pytest.raises(BadInput, match=r"--ray-address 127\.0\.0\.1:1: no Ray there"):
        collect_corpus(
            [str(tmp_path / "a.txt")],
            tmp_path / "corpus",
            engine=Engine(kind="ray", ray_address="127.0.0.1:1"),
        )
