"""The machine as a page, and scripts untouched."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rich.console import Console

import unmask
from unmask.console.examination import draw_examination
from unmask.results import Examined, ExtraStatus, LibraryStatus

EXAMINED = Examined(
    python="3.11.7",
    unmask="0.1.0",
    system="Linux",
    libraries=(
        LibraryStatus(name="torch", version="2.13.0", wanted="torch>=2.9"),
        LibraryStatus(name="lxml", version="6.1.3", wanted="lxml>=5"),
    ),
    cores=4,
    threads=4,
    memory=16_000_000_000,
    memory_free=8_000_000_000,
    folder=Path("here"),
    disk_free=100_000_000_000,
    gpus=(),
    speeds={"float32": 2e11},
    extras=(
        ExtraStatus(name="spacy", brings="entities", missing=("spacy>=3.8",), command="pip install 'unmask[spacy]'"),
    ),
)


def drawn(examined: Examined) -> str:
    output = io.StringIO()
    Console(file=output, width=80).print(draw_examination(examined))
    assert max(map(len, output.getvalue().splitlines())) <= 80
    return output.getvalue()


def test_a_machine_is_a_page_of_80_columns() -> None:
    page = drawn(EXAMINED)
    for said in (
        "nothing is in the way",
        "2.13.0",
        "200.0 GFLOP/s",
        "16.0 GB, 8.0 GB free",
        "pip install 'unmask[spacy]'",
    ):
        assert said in page
    assert "lxml" not in page


def test_what_is_in_the_way_stands_out() -> None:
    broken = LibraryStatus(name="lxml", version="6.1.3", wanted="lxml>=5", problem="cannot be loaded")
    page = drawn(replace(EXAMINED, libraries=(broken,), threads=None, problems=("lxml cannot be loaded: do this",)))
    assert "1 in the way" in page and "6.1.3 · cannot be loaded" in page and "• lxml cannot be loaded: do this" in page
    assert "GPU" not in page


def test_a_script_is_printed_untouched(inside: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    assert inside("completion", "zsh").stdout.rstrip("\n") == unmask.completion("zsh").script.rstrip("\n")
