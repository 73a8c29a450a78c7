"""Fields that a file of examples has beside its texts and labels tell its slices."""

from __future__ import annotations

import json
from pathlib import Path

from unmask.evaluation.tuned.slicing import slice_columns


def test_fields_of_a_few_short_values_are_taken_and_others_are_not(tmp_path: Path) -> None:
    file = tmp_path / "test.jsonl"
    records = [
        {"text": f"text {n}", "label": "a", "id": n, "source": ("mail", "chat")[n % 2], "note": f"{n}" * 50, "ok": True}
        for n in range(20)
    ]
    records[3].pop("source")
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    columns = slice_columns(file, [1, 2, 4], ["one two", "one", ""], used=("text", "label", None))
    assert columns == {"words": [2, 1, 0], "fields": [{"source": "mail"}, {"source": "chat"}, {}]}


def test_a_file_of_another_kind_has_its_words_alone(tmp_path: Path) -> None:
    (tmp_path / "test.conll").write_text("The O\ndog B-ANIMAL\n")
    assert slice_columns(tmp_path / "test.conll", [1], ["The dog"]) == {"words": [2]}
