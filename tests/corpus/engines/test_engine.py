from __future__ import annotations

from typing import Any

import pytest

from unmask.corpus.engines.engine import Engine, run_parts
from unmask.corpus.parts import Part
from unmask.corpus.read.find import TextSource
from unmask.errors import BadInput


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "spark"}, "'spark': there are local and ray"),
        ({"processes": 0}, "processes is 0"),
        ({"ray_address": "auto"}, "is for --engine ray"),
    ],
)
def test_an_engine_that_cannot_be_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Engine(**fields)


def test_a_lone_part_and_standard_input_are_read_by_this_process() -> None:
    parts = [Part(0, (TextSource("-", "stdin"),)), Part(1, (TextSource("a", "text"),))]
    assert run_parts(lambda part, report: part.number, parts, Engine(processes=4), print) == [0, 1]
