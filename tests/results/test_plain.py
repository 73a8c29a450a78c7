import json
from pathlib import Path

from unmask.results import Figure, Verified, to_json


def test_json_has_no_number_that_json_does_not_know() -> None:
    assert json.loads(to_json(Figure(1.0, float("nan"), float("inf")))) == {
        "value": 1.0,
        "low": None,
        "high": None,
    }


def test_a_result_is_one_line_of_json_with_paths_as_strings() -> None:
    line = to_json(Verified(path=Path("data") / "ü", files=1, bytes=2, damage=("one\nline",)))
    assert "\n" not in line and "ü" in line
    assert json.loads(line) == {"path": "data/ü", "files": 1, "bytes": 2, "damage": ["one\nline"]}
