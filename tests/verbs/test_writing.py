"""`unmask generate` as a command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import unmask

Run = Callable[..., subprocess.CompletedProcess[str]]
Make = Callable[..., Path]


def test_json_has_text_tokens_end_steps_and_the_trace_on_a_clean_stdout(make_model: Make, inside: Run) -> None:
    done = inside("generate", make_model(), "--length", 6, "--count", 2, "--seed", 3, "--trace", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    first, second = map(json.loads, done.stdout.splitlines())
    assert {"text", "tokens", "ended", "steps", "method", "trace"} <= first.keys()
    assert [first["sample"], second["sample"]] == [0, 1]
    assert {event["place"] for event in first["trace"]} == set(range(6))
    again = unmask.generate(make_model(), length=6, count=2, seed=3, trace=True)
    assert [result.text for result in again] == [first["text"], second["text"]]


def test_standard_input_is_not_waited_for_and_a_file_of_texts_is_read(
    make_model: Make, inside: Run, tmp_path: Path
) -> None:
    assert inside("generate", make_model(), "--length", 3, stdin="The [MASK].\n").stdout.count("written") == 1
    piped = inside("generate", make_model(), "-", "--json", stdin="The [MASK] sees.\nNothing\nA [MASK].\n")
    assert piped.returncode == 3
    assert len(piped.stdout.splitlines()) == 2  # the others are answered
    assert "line 2: there is no blank to fill" in piped.stderr
    (tmp_path / "gaps.txt").write_text("The [MASK] sees.\nA [MASK] dog.\n", encoding="utf-8")
    done = inside("generate", make_model(), tmp_path / "gaps.txt", "--json")
    assert [json.loads(line)["text"].split()[0] for line in done.stdout.splitlines()] == ["The", "A"]


def test_what_is_too_long_or_not_there_is_one_line(make_model: Make, inside: Run) -> None:
    done = inside("generate", make_model(), "--length", 900)
    assert done.returncode == 3
    assert done.stderr == "unmask: --length 900: this model has room for 62 tokens; give --length 62 or less\n"
    assert "nowhere: does not exist" in inside("generate", "nowhere").stderr
    assert "did you mean generate?" in inside("sample").stderr
