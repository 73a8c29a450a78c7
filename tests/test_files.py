import errno
from pathlib import Path

import pytest

from unmask.errors import NoSpace
from unmask.files import explain_disk_errors, seal_holds, whole_directory, with_seal, write_json


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
