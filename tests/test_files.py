import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from unmask.errors import BadInput, NoSpace
from unmask.files import (
    check_writable,
    explain_disk_errors,
    free_place,
    missing_path,
    seal_holds,
    whole_directory,
    with_seal,
    write_json,
)


def test_a_directory_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "thing"
    with pytest.raises(RuntimeError, match="midway"), whole_directory(path) as aside:
        (aside / "half").write_text("x")
        assert not path.exists()
        raise RuntimeError("midway")
    assert list(tmp_path.iterdir()) == []
    with whole_directory(path) as aside:
        (aside / "all").write_text("x")
    assert [each.name for each in path.iterdir()] == ["all"]


def test_a_failed_replacement_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "thing"
    with whole_directory(path) as aside:
        (aside / "old").write_text("x")
    with pytest.raises(RuntimeError), whole_directory(path) as aside:
        raise RuntimeError
    assert [each.name for each in path.iterdir()] == ["old"]
    with whole_directory(path) as aside:
        (aside / "new").write_text("x")
    assert [each.name for each in path.iterdir()] == ["new"]
    assert [each.name for each in tmp_path.iterdir()] == ["thing"]


def test_a_full_disk_is_one_line_that_names_the_file() -> None:
    with pytest.raises(NoSpace, match="place/file: the disk is full"), explain_disk_errors(Path("place/file")):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_seal_holds_until_any_field_changes() -> None:
    value = with_seal({"a": 1, "b": ["ü", None]})
    assert seal_holds(value)
    assert not seal_holds({**value, "a": 2})
    assert not seal_holds({"a": 1})


def test_a_json_file_is_replaced_in_one_piece(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"a": 1})
    write_json(tmp_path / "x.json", {"a": 2})
    assert (tmp_path / "x.json").read_text() == '{\n  "a": 2\n}\n'
    assert len(list(tmp_path.iterdir())) == 1


@contextmanager
def nobody() -> Iterator[None]:
    """As a user who may write only what everybody may: nothing is forbidden to root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_what_can_be_written_is_found_so_and_nothing_is_left_of_the_trial(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "new", tmp_path / "deep" / "er"):
        check_writable(path, needed=1)
        check_writable(path, beside=True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_permission_is_told_before_anything_is_written() -> None:
    with TemporaryDirectory() as name:  # not below pytest's own folder, which only its owner may enter
        (folder := Path(name)).chmod(0o755)
        (locked := folder / "locked").mkdir()
        (inner := locked / "inner").mkdir()
        inner.chmod(0o777)
        locked.chmod(0o555)
        with nobody():
            for path, beside in ((locked / "out", False), (inner, True), (locked / "a" / "b", True)):
                with pytest.raises(NoSpace, match=r"cannot be written \(Permission denied\); choose another place"):
                    check_writable(path, beside=beside)
            check_writable(inner)  # what is written inside of it needs no other
        locked.chmod(0o755)


def test_a_place_that_takes_no_files_is_named_as_it_was_given() -> None:
    for beside in (True, False):
        with pytest.raises(NoSpace, match=r"^/proc/x: cannot be written, /proc takes no files; choose another place$"):
            check_writable(Path("/proc/x"), beside=beside)


def test_what_is_not_there_is_told_with_the_nearest_that_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    assert str(missing_path(Path("dta"), "make one")) == "dta: does not exist; did you mean data/?"
    assert str(missing_path(Path("elsewhere"), "make one")) == "elsewhere: does not exist; make one"


def test_a_file_on_the_way_and_too_little_space_are_told(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    for path in (tmp_path / "notes", tmp_path / "notes" / "run", tmp_path / "notes" / "a" / "b"):
        with pytest.raises(BadInput, match=r"notes is a file, not a folder"):
            check_writable(path)
    with pytest.raises(NoSpace, match=r"out: about 1,000,000,000,000,000 MB are going to be written and [\d,]+ MB are"):
        check_writable(tmp_path / "out", needed=10**21)


def test_a_place_is_free_if_nothing_is_there_or_an_empty_folder(tmp_path: Path) -> None:
    assert free_place(tmp_path / "run") == tmp_path / "run"
    (tmp_path / "run").mkdir()
    assert free_place(tmp_path / "run") == tmp_path / "run"
    (tmp_path / "run" / "run.json").touch()
    (tmp_path / "run-2").touch()
    (tmp_path / "run-3").symlink_to(tmp_path / "nowhere")
    assert free_place(tmp_path / "run") == tmp_path / "run-4"
