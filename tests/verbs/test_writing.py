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


def test_a_file_of_texts_is_written_to_a_file_and_gone_on_with(make_model: Make, inside: Run, tmp_path: Path) -> None:
    asked = ["The [MASK] sees.", "A [MASK] dog [MASK].", "nothing", "[MASK]!"]
    source, out = tmp_path / "gaps.jsonl", tmp_path / "written.jsonl"
    source.write_text("".join(json.dumps({"gap": text}) + "\n" for text in asked), encoding="utf-8")
    words = ("generate", make_model(), source, "--field", "gap", "--out", out, "--count", 2, "--seed", 4)
    done = inside(*words, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "path": str(out), "lines": 4, "refused": 1, "continued_after": 0,
    }  # fmt: skip
    whole = out.read_bytes()
    rows = list(map(json.loads, whole.splitlines()))
    assert [(row["line"], row.get("sample")) for row in rows] == [
        (1, 0), (1, 1), (2, 0), (2, 1), (3, None), (4, 0), (4, 1),
    ]  # fmt: skip
    assert "there is no blank" in rows[4]["error"]
    assert rows[2]["text"] == unmask.generate(make_model(), asked[1], count=2, seed=4)[0].text
    assert "is there already and whole" in inside(*words).stderr
    kept = whole.splitlines(keepends=True)
    out.write_bytes(b"".join(kept[:3]) + kept[3][:9])  # as one that was killed leaves it
    state = {"source": str(source), "bytes": source.stat().st_size, "changed": source.stat().st_mtime_ns}
    state |= {"model": str(make_model()), "precision": "float32", "count": 2, "seed": 4}
    state |= {"prefix": "", "remask": False, "temperature": 1.0, "trace": False}
    (tmp_path / "written.jsonl.unfinished").write_text(json.dumps(state), encoding="utf-8")
    again = inside(*words, "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["continued_after"] == 1
    assert out.read_bytes() == whole
    state_of_another = inside("generate", make_model(), "--out", tmp_path / "x.jsonl")
    assert state_of_another.returncode == 3 and "give one" in state_of_another.stderr
