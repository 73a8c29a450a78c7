"""Files of runs are read as if somebody had made them to do harm."""

from __future__ import annotations

import os
from pathlib import Path

from unmask.web.untrusted import own_file, own_json, own_text


def test_only_files_inside_the_folder_are_read(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "secret.json").write_text('{"secret": 1}')
    (run / "link.json").symlink_to(tmp_path / "secret.json")
    (run / "round").symlink_to("round")
    (run / "folder").mkdir()
    os.mkfifo(run / "pipe")
    (run / "here.json").write_text('{"step": 1}')
    for name in ("link.json", "../secret.json", "round", "folder", "pipe", "nothing", "a\0b"):
        assert own_file(run, name) is None and own_json(run, name) is None
    assert own_json(run, "here.json") == {"step": 1}
    assert own_file(run, "here.json", largest=3) is None


def test_what_cannot_be_parsed_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 200_000)
    (tmp_path / "bytes.json").write_bytes(b'"\xff\xfe"')
    assert own_json(tmp_path, "deep.json") is None
    assert own_text(tmp_path, "bytes.json") == '"\ufffd\ufffd"'
