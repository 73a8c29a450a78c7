from __future__ import annotations

import json
from pathlib import Path

import pytest

from unmask.corpus.sample import read_sample
from unmask.errors import BadInput


def test_a_sample_is_the_beginnings_of_all_files_clean(tmp_path: Path) -> None:
    for name in "abc":
        rows = [json.dumps({"text": f"{name}{n}  itâ€™s\there"}) + "\n" for n in range(50)]
        (tmp_path / f"{name}.jsonl").write_text("".join(rows))
    sample = [*read_sample([str(tmp_path)], characters=3 * 160)]
    assert [document.text for document in sample][:2] == ["a0 it’s here", "a1 it’s here"]
    sizes = {name: sum(document.text.startswith(name) for document in sample) for name in "abc"}
    assert len(set(sizes.values())) == 1 and 5 < sizes["a"] < 15
    assert sample[-1].source.endswith("c.jsonl") and sample[-1].line == sizes["c"]


def test_what_can_be_read_only_once_is_not_sampled() -> None:
    with pytest.raises(BadInput, match="only once"):
        next(read_sample(["-"]))
