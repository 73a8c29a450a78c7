from __future__ import annotations

import sys
from pathlib import Path

import pytest

from unmask.corpus.read.find import find_sources
from unmask.corpus.read.mistaken import work_of_unmask
from unmask.errors import BadInput
from unmask.files import nearest_path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("texts/one.txt", "texts/deep/two.txt", "notes.txt", "scans/a.bin", "scans/b.bin", ".texs/x.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    for name in ("run/run.json", "run/metrics.jsonl", "run/model/config.json", "run/model/model.safetensors"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("argument", "nearest"),
    [
        ("txets", "texts/"),
        ("Texts", "texts/"),
        ("texts/on.txt", "texts/one.txt"),
        ("txets/one.txt", "texts/one.txt"),
        ("txets/deep/two.txt", "texts/deep/two.txt"),
        ("txets/nothing.txt", "texts/"),
        ("note.txt", "notes.txt"),
        ("bultin", "builtin"),
        ("entirely_else", None),
        ("notes.txt/below", None),
    ],
)
def test_the_nearest_path_is_the_one_that_is_there(place: Path, argument: str, nearest: str | None) -> None:
    assert nearest_path(argument, also=["builtin"]) == nearest
    remedy = f"; did you mean {nearest}?" if nearest else ""
    with pytest.raises(BadInput) as raised:
        find_sources([argument])
    assert str(raised.value) == f"{argument}: no such file or folder{remedy}"


def test_what_unmask_made_is_known_and_told_what_it_is_for(place: Path, data: Path) -> None:
    assert [work_of_unmask(path) for path in (data, place / "run", place / "run" / "model", place / "texts")] == [
        "data directory",
        "run",
        "model",
        None,
    ]
    for argument, line in (
        (
            str(data),
            f"is a data directory already: unmask pretrain {data} --out run-2 --minutes 10 trains on it; to prepare",
        ),
        ("run", "is a run, not text: unmask fill run uses it"),
        ("run/model", "is a model, not text: unmask fill run/model uses it"),
        ("https://example.org/a.txt", "an address; files are read from this machine"),
    ):
        with pytest.raises(BadInput) as raised:
            find_sources([argument])
        assert str(raised.value).startswith(f"{argument}: {line}")
    assert [source.format for source in find_sources([f"{data}/documents"])] == ["parquet", "parquet"]


def test_what_unmask_made_is_passed_over_in_a_folder(place: Path) -> None:
    passed_over: dict[str, str] = {}
    assert [source.name for source in find_sources(["."], passed_over.__setitem__)] == [
        "notes.txt",
        "texts/one.txt",
        "texts/deep/two.txt",
    ]
    assert passed_over["run"] == "run"


def test_a_folder_without_anything_to_read_says_what_is_there_and_what_would_read_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInput, match=r"^scans: no file that can be read \(\.txt .*\); there are \.bin 2$"):
        find_sources(["scans"])
    (place / "scans" / "c.pdf").write_text("x")
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(BadInput, match=r"there are \.bin 2, \.pdf 1; pip install 'unmask\[office\]' reads \.pdf and"):
        find_sources(["scans"])
