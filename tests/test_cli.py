"""The command line as a user meets it: in a process of its own, by its output and its exit code."""

from __future__ import annotations

import errno
import inspect
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from full_disk import limit_files

import unmask
from unmask.cli import COMMANDS, explain, overview, read_settings
from unmask.corruption.policy import POLICIES
from unmask.errors import EXIT_CODES, BadInput, Damaged, NoSpace
from unmask.files import with_seal

Run = Callable[..., subprocess.CompletedProcess[str]]
Make = Callable[..., Path]


def complaints(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on stderr, without those that tell of work which took a slow machine more than a moment."""
    return [line for line in done.stderr.splitlines() if not line.startswith("✓ ")]


def answered(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether a command did what it was asked to, and complained of nothing."""
    return done.returncode == 0 and complaints(done) == []


def refused(done: subprocess.CompletedProcess[str], code: int, *parts: str) -> None:
    """One line on stderr that says so, nothing on stdout, and the exit code of its kind."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    (line,) = complaints(done)
    assert line.startswith("unmask: ")
    for part in parts:
        assert part in done.stderr
    assert code in EXIT_CODES


# asking


def test_help_answers_within_half_a_second(command: Run) -> None:
    longest = max(COMMANDS, key=lambda name: len(inspect.signature(COMMANDS[name]).parameters))
    # time on the processor, the best of six: other processes of a busy machine are not the command's fault
    for _ in range(6):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = command(longest, "--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 0 and done.stderr == ""
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if seconds < 0.5:
            return
    pytest.fail(f"help took {seconds:.2f} s")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_begins_with_what_it_does(name: str, inside: Run) -> None:
    done = inside(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"usage: unmask {name} " in done.stdout
    said = " ".join(done.stdout.split())
    assert (inspect.getdoc(COMMANDS[name]) or "").splitlines()[0] in said and "--json" in said


@pytest.mark.parametrize("words", [["--version"], *([name, "--version"] for name in COMMANDS)], ids=" ".join)
def test_every_command_tells_the_version(words: list[str], inside: Run) -> None:
    done = inside(*words)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"unmask {unmask.__version__}\n", "")


def test_the_overview_names_every_command_and_exit_code_on_100_columns() -> None:
    text = overview()
    assert all(f"  {name} " in text for name in COMMANDS)
    assert all(meaning in text for meaning in EXIT_CODES.values())
    assert max(map(len, text.splitlines())) <= 100


def test_the_help_of_a_command_explains_every_option(command: Run) -> None:
    text = " ".join(command("prepare", "--help").stdout.replace("│", " ").split())
    for said in (
        "--vocab-size INT",
        "--cased, --no-cased",
        "Files, folders, globs",
        "--json",
        "(default: 0.01)",
    ):
        assert said in text


def test_the_installed_command_and_the_module_are_the_same(command: Run) -> None:
    installed = Path(sys.executable).with_name("unmask")
    done = subprocess.run([installed, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout == command("--help").stdout


# usage

USAGE = [
    ([], "no command given: choose one of"),
    (["--jsno"], "unknown command '--jsno'"),
    (["prepare", "x"], "--out PATH is missing: the data directory to write"),
    (["prepare", "x", "--out"], "--out needs a value: a path"),
    (["fill"], "MODEL is missing: a run, any directory"),
    (["fill", "run", "--tpo", "5"], "--tpo: there is no such option; did you mean --top?"),
    (["fill", "run", "a", "--targets"], "--targets needs a value: a text"),
    (["evaluate", "run"], "DATA is missing"),
    (["evaluate"], "MODEL and DATA are missing"),
    (["evaluate", "run", "data", "more"], "more: is one word too many: unmask evaluate takes MODEL DATA"),
    (["show"], "MODEL is missing"),
    (["audit", "data", "--policy"], "--policy needs a value"),
    (["collocations"], "DATA is missing"),
    (["prepare", "a.txt", "--out", "data", "b.txt"], "b.txt: stands apart; give all SOURCES together"),
    (
        ["prepare", "a.txt", "--out", "data", "--cased", "no"],
        "--cased takes no value; leave no out, or give --no-cased",
    ),
    (["prepare", "a.txt", "--out", "data", "--no-overwrite"], "leave --overwrite out"),
    (["pretrain", "data", "--out", "run", "--shard=yes"], "--shard takes no value; leave yes out"),
    (["pretrain", "data", "--out", "run", "--learning-rate", "1"], "--learning-rate: there is no such option; see"),
    (["pretrain", "data", "-o", "run", "--steps", "1"], "-o: there is no such option"),
]


@pytest.mark.parametrize(("words", "line"), USAGE, ids=[" ".join(words) or "nothing" for words, _ in USAGE])
def test_wrong_usage_is_one_line_that_names_the_option(
    words: list[str], line: str, inside: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = inside(*words)
    refused(done, 2, line)
    assert "--help" in done.stderr


PRETRAIN = ["pretrain", "data", "--out", "run"]
VALUES = [
    ([*PRETRAIN, "--minutes", "abc"], "--minutes abc: give a number"),
    ([*PRETRAIN, "--minutes=abc"], "--minutes abc: give a number"),
    ([*PRETRAIN, "--minutes", "nan"], "--minutes nan: give a number that is finite"),
    ([*PRETRAIN, "--epochs", "inf"], "--epochs inf: give a number that is finite"),
    ([*PRETRAIN, "--minutes", "-1"], "--minutes -1.0: give a number above 0"),
    ([*PRETRAIN, "--steps", "0"], "--steps 0: give a number above 0"),
    ([*PRETRAIN, "--steps", "1.5"], "--steps 1.5: give a whole number"),
    ([*PRETRAIN, "--tokens", "1e6"], "--tokens 1e6: give a whole number: --tokens 1000000"),
    ([*PRETRAIN, "--tokens", "2,000,000"], "give a whole number: --tokens 2000000"),
    ([*PRETRAIN, "--steps", "1", "--save-seconds", "-1"], "--save-seconds -1.0: give 0 or more"),
    (
        [*PRETRAIN, "--steps", "1", "--device", "gpu"],
        "--device gpu: choose one of auto, cuda, mps, cpu; did you mean cuda?",
    ),
    ([*PRETRAIN, "--steps", "1", "--precision", "bf16"], "did you mean bfloat16?"),
    (
        [*PRETRAIN, "--steps", "1", "--precision", "int4"],
        "--precision int4: choose one of auto, float32, bfloat16, float16",
    ),
    (
        [*PRETRAIN, "--steps", "1", "--recipe", "elektra-mini"],
        "--recipe elektra-mini: there is no such recipe; did you mean electra-mini?",
    ),
    ([*PRETRAIN, "--steps", "1", "--objective", "mml"], "no objective is called 'mml': did you mean mlm?"),
    ([*PRETRAIN, "--minutes", ""], "--minutes is empty: a variable that is not set?"),
    (["fill", "run", "a [MASK]", "--top", "five"], "--top five: give a whole number"),
    (["demo", "--minutes", "-1"], "--minutes -1.0: give a number above 0"),
    (["completion", "bsah"], "SHELL bsah: give one of bash, zsh, fish; did you mean bash?"),
]


@pytest.mark.parametrize(("words", "line"), VALUES, ids=[" ".join(words) for words, _ in VALUES])
def test_a_value_that_cannot_be_used_is_bad_input_that_names_the_option_and_the_value(
    words: list[str], line: str, inside: Run, tmp_path: Path
) -> None:
    refused(inside(*words, cwd=tmp_path), 3, line)
    assert list(tmp_path.iterdir()) == []


def test_rates_and_policies_that_there_are_not_are_named(inside: Run, data: Path, tmp_path: Path) -> None:
    training = ("pretrain", data, "--out", tmp_path / "run", "--steps", 1)
    for words, line in (
        (("--rate", "1.5"), "rate 1.5 is not a share of the tokens"),
        (("--rate", "much"), "rate 'much' is not understood"),
        (("--policy", "tokn"), "no policy is called 'tokn': did you mean token?"),
        (("--policy", "span 0.5, wrod 0.5"), "no policy is called 'wrod': did you mean word?"),
        (("--policy", "nothing"), "no policy is called 'nothing': there are token, word"),
    ):
        refused(inside(*training, *words), 3, line)
    assert not (tmp_path / "run").exists()


def test_help_and_a_command_is_the_help_of_that_command(inside: Run) -> None:
    assert inside("help", "verify").stdout == inside("verify", "--help").stdout


def test_settings_are_read_from_the_signature() -> None:
    call, as_json = read_settings(unmask.prepare, ["a.txt", "b/", "--out", "data", "--no-cased", "--json"])
    assert as_json
    assert call.args == (Path("a.txt"), Path("b"))  # type: ignore[attr-defined]
    assert call.keywords["out"] == Path("data") and call.keywords["cased"] is False  # type: ignore[attr-defined]
    assert call.keywords["vocab_size"] is None  # type: ignore[attr-defined]


def test_texts_may_begin_with_a_dash_and_targets_come_after_them() -> None:
    call, _ = read_settings(unmask.fill, ["run", "- [MASK]", "-5 [MASK]", "--targets", "a", "b"])
    assert call.args == (Path("run"), "- [MASK]", "-5 [MASK]")  # type: ignore[attr-defined]
    assert call.keywords["targets"] == ("a", "b")  # type: ignore[attr-defined]


# what goes wrong

EXPLAINED = [
    (BadInput("x: is wrong"), 3, "unmask: x: is wrong\n"),
    (Damaged("two\nlines"), 4, "unmask: two lines\n"),
    (
        OSError(errno.ENOSPC, "No space left on device", "data/x"),
        7,
        "unmask: data/x: No space left on device\n",
    ),
    (OSError(errno.EROFS, "Read-only file system", "x"), 7, "unmask: x: Read-only file system\n"),
    (
        FileNotFoundError(errno.ENOENT, "No such file or directory", "x"),
        3,
        "unmask: x: No such file or directory\n",
    ),
    (PermissionError(errno.EACCES, "Permission denied", "x"), 3, "unmask: x: Permission denied\n"),
    (KeyboardInterrupt(), 130, "unmask: stopped\n"),
    (BrokenPipeError(), 0, ""),
    (SystemExit(2), 2, ""),
    (MemoryError(), 3, "unmask: out of memory: give a smaller --length, --batch-size, --micro-batch or --recipe\n"),
]


@pytest.mark.parametrize(("error", "code", "line"), EXPLAINED, ids=lambda value: type(value).__name__)
def test_each_kind_of_error_has_its_line_and_its_code(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(error) == code
    assert capsys.readouterr().err == line


def test_an_error_of_unmask_s_own_is_one_line_that_says_how_to_see_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert explain(ZeroDivisionError("division\nby zero")) == 1
    said = capsys.readouterr().err
    assert said.startswith("unmask: ZeroDivisionError: division by zero; ") and said.count("\n") == 1
    assert "UNMASK_TRACEBACK=1" in said


def test_a_traceback_is_shown_to_whoever_asks(command: Run) -> None:
    done = command("verify", "nowhere", env={**os.environ, "UNMASK_TRACEBACK": "1"})
    assert done.returncode != 0 and "Traceback" in done.stderr


def test_a_reader_that_leaves_is_no_error(command: Run) -> None:
    line = f"{sys.executable} -m unmask --help | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_full_disk_behind_stdout_is_said_once() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "unmask", "--help"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (7, b"unmask: No space left on device\n")


# bad input, command by command


@pytest.mark.parametrize(
    "words", [["verify"], ["evaluate", "nowhere"], ["fill", "a [MASK]"]], ids=lambda words: words[0]
)
def test_a_missing_path_is_named(words: list[str], inside: Run, tmp_path: Path) -> None:
    refused(inside(words[0], "nowhere", *words[1:], cwd=tmp_path), 3, "nowhere")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", ["prepare", "pretrain"])
def test_a_missing_source_is_named_and_nothing_is_made(verb: str, inside: Run, tmp_path: Path) -> None:
    budget = ["--steps", 1] if verb == "pretrain" else []
    refused(inside(verb, "nowhere", "--out", "made", *budget, cwd=tmp_path), 3, "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_corpus_is_named(inside: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n\n  \n")
    done = inside("prepare", "empty.txt", "--out", "data", cwd=tmp_path)
    refused(done, 3, "empty.txt: no text in it: nothing, or nothing but blank lines")
    assert not (tmp_path / "data").exists()


def test_a_vocabulary_larger_than_the_text_allows_says_how_large_it_may_be(
    inside: Run, corpus: Path, tmp_path: Path
) -> None:
    done = inside("prepare", corpus, "--out", tmp_path / "data", "--vocab-size", 50_000)
    refused(done, 3, "50,000", "larger than the text allows")
    assert not (tmp_path / "data").exists()


def test_a_directory_without_a_model_is_named(inside: Run, data: Path, tmp_path: Path) -> None:
    refused(inside("fill", tmp_path, "a [MASK]"), 3, "holds no model")
    refused(inside("evaluate", data, data), 3, "holds no model")


def test_what_is_of_another_kind_is_named_with_what_works(
    inside: Run, data: Path, make_model: Make, corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    refused(inside("fill", data, "a [MASK]"), 3, "it is a data directory", f"unmask pretrain {data}")
    refused(inside("evaluate", tmp_path / "empty", data), 3, "it is an empty folder", "`unmask runs`")
    refused(inside("show", tmp_path / "empty", "a cat"), 3, "it is an empty folder", "give a data directory, a run")
    for verb in (["audit"], ["collocations"], ["verify"], ["evaluate", make_model()], ["plan", "--data"]):
        refused(inside(*verb, make_model()), 3, "not a data directory but a model directory; give the data")
        refused(inside(*verb, corpus), 3, "not a data directory but a file", f"unmask prepare {corpus} --out data")
        refused(inside(*verb, tmp_path / "empty"), 3, "not a data directory but an empty folder", "unmask prepare")
    refused(inside("watch", data), 3, "is not a run directory but a data directory", "`unmask runs`")


def test_a_run_of_another_version_is_refused(inside: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(with_seal({"format": 99, "unmask": "9.0.0"})))
    refused(inside("fill", tmp_path, "a [MASK]"), 5, "9.0.0", "format 99")
    refused(inside("evaluate", tmp_path, data), 5, "9.0.0")
    refused(inside("pretrain", data, "--out", tmp_path, "--steps", 1, "--resume"), 5, "9.0.0")


def test_a_full_disk_is_one_line_and_leaves_nothing_behind(command: Run, corpus: Path, tmp_path: Path) -> None:
    done = command(
        "prepare", corpus, "--out", "data", "--vocab-size", 300, cwd=tmp_path, preexec_fn=partial(limit_files, 4096)
    )
    refused(done, NoSpace.code, "the disk is full")
    assert list(tmp_path.iterdir()) == []


def test_work_that_is_there_is_not_overwritten(inside: Run, corpus: Path, data: Path, tmp_path: Path) -> None:
    refused(inside("prepare", corpus, "--out", data), 5, "is not empty")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes").write_text("mine")
    refused(inside("pretrain", data, "--out", tmp_path / "run", "--steps", 1), 5, "choose another --out, as ")


def test_a_refused_command_leaves_the_data_whole(inside: Run, data: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(data, tmp_path / "data"))
    for words in (("pretrain", place, "--steps", 5), ("compare", "--data", place, "--recipes", "tiny", "--tokens", 99)):
        for resume in ((), ("--resume",)):
            done = inside(*words, "--out", place, *resume)
            refused(done, 5, "so it is not a")
            assert "--resume" not in done.stderr
    assert inside("verify", place).returncode == 0


def test_damage_is_named_and_has_its_code(command: Run, data: Path, tmp_path: Path) -> None:
    broken = Path(shutil.copytree(data, tmp_path / "data"))
    victim = next(broken.rglob("*.tokens.npy"))
    content = bytearray(victim.read_bytes())
    content[-1] ^= 1
    victim.write_bytes(content)
    done = command("verify", broken)
    assert done.returncode == Damaged.code and done.stderr == ""
    assert victim.name in done.stdout
    assert victim.name in json.loads(command("verify", broken, "--json").stdout)["damage"][0]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("pretrain", "data", "--out", "run", "--rows", 8), "--rows is now --batch-size"),
        (("plan", "--micro=4"), "--micro is now --micro-batch"),
        (("pretrain", "data", "--out", "run", "--checkpointing"), "--checkpointing is now --recompute"),
        (("show", "a text", "--model", "data"), '--model is now the first word: unmask show DATA_OR_MODEL "A text."'),
        (("compare", "--recipes", "bert", "--data", "data", "--tag", "a"), "--tag is now --probe-tags"),
    ],
)
def test_a_flag_that_has_another_name_now_is_told_its_name(inside: Run, words: tuple[object, ...], line: str) -> None:
    done = inside(*words)
    assert (done.returncode, done.stderr) == (2, f"unmask: {line}; see unmask {words[0]} --help\n")


def test_an_empty_word_is_not_taken_for_this_folder(inside: Run, tmp_path: Path) -> None:
    refused(inside("prepare", "", "--out", tmp_path / "data"), 3, "an argument is empty: a variable that is not set?")


def test_two_budgets_or_none_are_refused(inside: Run, data: Path, tmp_path: Path) -> None:
    start = ("pretrain", data, "--out", tmp_path / "run")
    refused(inside(*start), 2, "--minutes, --steps, --tokens or --epochs")  # an option is missing
    refused(inside("plan", "--recipe", "tiny"), 2, "give --data, or a --vocab-size")
    refused(inside("plan", "--vocab-size", 3), 3, "give --data, or a --vocab-size")
    refused(inside(*start, "--steps", 1, "--minutes", 1), 3, "one budget")
    refused(inside(*start, "--steps", 1, "--recipe", "huge"), 3, "--recipe huge")


# results


def test_prepare_and_verify_print_one_json_document_and_nothing_else(
    command: Run, corpus: Path, tmp_path: Path
) -> None:
    done = command("prepare", corpus, "--out", tmp_path / "data", "--vocab-size", 300, "--json")
    assert answered(done), done.stderr
    prepared = json.loads(done.stdout)
    assert prepared["counts"]["train"] + prepared["counts"]["valid"] == 300
    assert json.loads(command("verify", tmp_path / "data", "--json").stdout)["damage"] == []


def test_standard_input_is_read(inside: Run, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "data"
    done = inside("prepare", "-", "--out", out, "--vocab-size", 300, "--json", stdin=corpus.read_bytes())
    assert json.loads(done.stdout)["counts"]["read"] == 300


def test_evaluate_prints_one_json_document(inside: Run, make_model: Make, data: Path) -> None:
    done = inside("evaluate", make_model(), data, "--length", 64, "--json")
    assert answered(done), done.stderr
    found = json.loads(done.stdout)
    assert found["loss"]["low"] < found["loss"]["value"] < found["loss"]["high"]


def test_fill_reads_lines_and_prints_a_json_line_for_each(inside: Run, make_model: Make) -> None:
    texts = [f"{'The king ' * n}sees [MASK]." for n in (3, 0, 5, 1)]
    stdin = "\n".join(texts) + "\n\n"
    done = inside("fill", make_model(), "--top", 2, "--json", stdin=stdin)
    assert answered(done), done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["text"] for line in lines] == texts
    assert all(len(line["blanks"][0]) == 2 for line in lines)
    again = inside("fill", make_model(), "-", "--top", 2, "--json", stdin=stdin)
    assert [json.loads(line)["completed"] for line in again.stdout.splitlines()] == [
        line["completed"] for line in lines
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("prepare", "TEXT"),
        ("pretrain", "DATA", "--steps", 1),
        ("compare", "--data", "DATA", "--recipes", "tiny", "--minutes", 1),
        ("collocations", "DATA"),
        ("demo",),
    ],
    ids=lambda words: words[0],
)
def test_a_place_that_cannot_be_written_is_told_before_the_work(
    inside: Run, corpus: Path, data: Path, tmp_path: Path, words: tuple[object, ...]
) -> None:
    (tmp_path / "notes").write_text("mine")
    places = {"TEXT": corpus, "DATA": data}
    done = inside(*(places.get(str(word), word) for word in words), "--out", tmp_path / "notes" / "out")
    refused(done, 3, f"{tmp_path}/notes/out: {tmp_path}/notes is a file, not a folder; choose another place")


def test_fill_goes_on_past_bad_lines_and_names_them_in_the_end(inside: Run, make_model: Make) -> None:
    lines = [b"a [MASK]", b"", b"none", b"\xff [MASK]", b"the king " * 60 + b"[MASK]", b"nor here", b"b [MASK]"]
    done = inside("fill", make_model(), "--json", "--on-long", "error", stdin=b"\n".join(lines))
    assert done.returncode == BadInput.code
    assert [json.loads(line)["text"] for line in done.stdout.splitlines()] == ["a [MASK]", "b [MASK]"]
    blankless, latin, long, summary = complaints(done)
    assert latin == "unmask: line 4: not UTF-8 at byte 1 of the line"
    assert blankless == "unmask: lines 3, 6: there is no blank to fill: write [MASK] where a word is missing"
    assert re.match(r"unmask: line 5: 1\d\d tokens, but this model takes 62; without --on-long error", long)
    assert summary == "unmask: 4 of 6 lines could not be filled"
    drawn = inside("fill", make_model(), "-", "--on-long", "error", stdin=b"\n".join(lines))
    assert drawn.returncode == BadInput.code and drawn.stdout.count("%") == 10 and complaints(drawn) == complaints(done)


def test_lines_are_answered_as_they_come(make_model: Make) -> None:
    line = [sys.executable, "-m", "unmask", "fill", str(make_model()), "-", "--json"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        for text in ("a [MASK]", "b [MASK]"):
            print(text, file=process.stdin, flush=True)
            assert json.loads(process.stdout.readline())["text"] == text
        process.stdin.close()
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("verb", ["fill", "show"])
def test_a_file_given_in_the_place_of_texts_is_read_line_by_line(
    verb: str, inside: Run, make_model: Make, tmp_path: Path
) -> None:
    (tmp_path / "texts.txt").write_text("a [MASK]\n\nthe [MASK]\n")
    from_file = inside(verb, make_model(), "texts.txt", "--json", cwd=tmp_path)
    given = inside(verb, make_model(), "a [MASK]", "the [MASK]", "--json")
    assert answered(from_file), from_file.stderr
    assert from_file.stdout == given.stdout
    assert len(given.stdout.splitlines()) == 2
    line = "texts.txt: is a file, and there is more than it; give one file, or texts"
    refused(inside(verb, make_model(), "a [MASK]", "texts.txt", cwd=tmp_path), 3, line)


def test_fills_of_a_file_are_written_to_another(inside: Run, make_model: Make, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a [MASK]\nnothing here\n")
    done = inside("fill", make_model(), "in.txt", "--out", "out.jsonl", "--json", cwd=tmp_path)
    assert answered(done), done.stderr
    assert json.loads(done.stdout) == {"path": "out.jsonl", "lines": 2, "refused": 1, "continued_after": 0}
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["line"] for row in rows] == [1, 2]
    assert "no blank" in rows[1]["error"]


@pytest.mark.parametrize(("verb", "done"), [("fill", "filled"), ("show", "shown")])
def test_nothing_on_standard_input_is_said(inside: Run, make_model: Make, verb: str, done: str) -> None:
    line = f"standard input: has no text in it, so nothing was {done}"
    for words in (("--json",), ("-",)):
        refused(inside(verb, make_model(), *words, stdin="\n"), 3, line)


def test_help_says_where_json_is_a_document_and_where_it_is_lines(inside: Run) -> None:
    for verb, said in (("fill", "Print the results as JSON lines: an object a line"), ("plan", "the result as JSON.")):
        assert said in " ".join(inside(verb, "--help").stdout.replace("│", " ").split())


def test_fill_draws_bars_and_the_completed_text_for_people(inside: Run, make_model: Make) -> None:
    done = inside("fill", make_model(), "The dog and the [MASK].", "--targets", "king", "the")
    assert answered(done), done.stderr
    assert "\x1b" not in done.stdout
    first, *rest = done.stdout.splitlines()
    assert first in ("The dog and the king.", "The dog and the the.")
    assert [line.split()[0] for line in rest if re.search(r"\d(%|e-\d)", line)] in (["king", "the"], ["the", "king"])


def test_fill_tells_in_json_what_blanks_agree_on_why_and_what_was_read(inside: Run, make_model: Make) -> None:
    text = "The [MASK] sees the [MASK:word]. " + "the king " * 60
    done = inside("fill", make_model(), text, "--explain", "--top", 2, "--pieces", "1-2", "--json")
    assert answered(done), done.stderr
    found = json.loads(done.stdout)
    (agreement,) = found["agreements"]
    assert agreement["blanks"] == [0, 1] and len(agreement["fillings"]) == 2
    assert all(filling["spread"] >= 0 for filling in agreement["fillings"])
    assert found["windows"] == 1 and found["tokens_read"] < found["tokens"] and found["cut"] == 0
    assert found["explained"][0]["words"] and found["word_lengths"]
    drawn = inside("fill", make_model(), text, "--explain", "--top", 2, "--pieces", "1-2")
    assert "blanks 1, 2 together" in drawn.stdout and "in sight of a blank" in " ".join(drawn.stdout.split())
    assert all(len(line) <= 80 for line in drawn.stdout.splitlines()) and "+" in drawn.stdout


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([""], "the text is empty: write one with [MASK] where a word is missing"),
        (["  "], "the text is empty"),
        (["\udcff [MASK]"], "not valid Unicode: give it as UTF-8"),
        (["a [MASK:wrd]"], "[MASK:wrd] is not a blank here: write [MASK], or [MASK:word] for a whole word"),
        (["a [MASK]", "--pieces", "0"], "--pieces 0: give a number of tokens or a range, such as 1-4"),
        (
            ["the king " * 60 + "[MASK]", "--on-long", "cut"],
            "blank 1 is token 121, beyond the 62 that --on-long cut keeps",
        ),
        (["a [MASK]", "--on-long", "maybe"], "--on-long maybe"),
    ],
)
def test_what_fill_cannot_do_is_one_line(inside: Run, make_model: Make, words: list[str], line: str) -> None:
    done = inside("fill", make_model(), *words)
    assert done.returncode in (2, 3) and done.stdout == ""
    (complaint,) = complaints(done)
    assert line in complaint


# hiding, seen and measured

SENTENCE = "The king sees the capital of France."


def test_show_draws_with_signs_for_a_pipe_and_in_colour_for_a_terminal(
    inside: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("show", data, SENTENCE, "--policy", "token", "--rate", "0.9")
    done = inside(*words)
    assert answered(done), done.stderr
    assert done.stdout.startswith("token · ") and "[MASK]" in done.stdout and "▔" in done.stdout
    assert "~a random token~" in done.stdout and "\x1b" not in done.stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = inside(*words).stdout
    assert "\x1b[1;31m[MASK]" in coloured and "~a random token~" not in coloured


def test_show_takes_lines_and_prints_a_json_line_for_each(command: Run, data: Path) -> None:
    done = command("show", data, "--policy", "word", "--json", stdin=f"{SENTENCE}\n\nMusic and the sea.\n")
    assert answered(done), done.stderr
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["policy"], second["pieces"][0]["text"][0]) == ("word", "M")
    assert first["hidden"] == sum(piece["unit"] > 0 for piece in first["pieces"]) > 0


def test_all_policies_are_shown_on_one_text(inside: Run, make_model: Make, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("capital of France\n")
    without = inside("show", make_model(), SENTENCE, "--all")
    assert sum(" tokens hidden" in line for line in without.stdout.splitlines()) == 8
    done = inside("show", make_model(), SENTENCE, "--all", "--phrases", tmp_path / "list.txt", "--json")
    assert [json.loads(line)["policy"] for line in done.stdout.splitlines()][3:6] == ["entity", "phrase", "collocation"]


def test_audit_prints_bars_for_people_and_one_json_document(inside: Run, data: Path) -> None:
    words = ("audit", data, "--policy", "span 0.7, token 0.3", "--rate", "0.3", "--length", 64, "--blocks", 150)
    done = inside(*words)
    assert done.returncode == 0 and "specials  0 hidden" in done.stdout and "█" in done.stdout
    assert "no position is favoured (p = " in done.stdout and ", not below 0.001)" in done.stdout
    done = inside(*words, "--json")
    assert answered(done), done.stderr
    found = json.loads(done.stdout)
    assert found["policy"] == "span 0.7, token 0.3" and abs(found["rate"] - 0.3) < 0.02
    assert found["specials_hidden"] == found["silent"] == 0
    assert (found["position_threshold"], found["position_favoured"]) == (0.001, False)


def test_hardness_is_a_table_of_all_policies_or_of_one_beside_token(inside: Run, data: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(data, tmp_path / "data")  # lists are mined, and kept there
    done = inside("audit", folder, "--hardness", "--length", 64)
    assert done.returncode == 0, done.stderr
    rows = [line.split()[0] for line in done.stdout.splitlines() if " ± " in line and "%" in line.split()[1]]
    assert len(rows) == len(POLICIES) and all(map(str.startswith, POLICIES, rows))  # long names are broken
    assert max(map(len, done.stdout.splitlines())) <= 80 and "of the training text" in done.stdout
    done = inside("audit", data, "--hardness", "--policy", "span 0.7, token 0.3", "--length", 64, "--json")
    assert answered(done), done.stderr
    token, mixed = json.loads(done.stdout)["policies"]
    assert (token["policy"], token["beyond_reference"]) == ("token", None)
    assert mixed["policy"] == "span 0.7, token 0.3" and mixed["beyond_reference"]["low"] > 0
    assert token["bits"]["value"] < mixed["bits"]["value"] < mixed["unigram_bits"]["value"]


def test_collocations_are_written_to_be_edited_and_never_written_over(inside: Run, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "phrases.txt"
    done = inside("collocations", data, "--out", out, "--least", 3, "--above", -20, "--top", 40)
    assert "stopped at score -20.00, as asked" in done.stdout
    assert done.returncode == 0 and "the best 30 of them" in done.stdout and "bread and butter" in done.stdout
    listed = [line.rpartition("\t")[2] for line in out.read_text().splitlines()[1:]]
    assert len(listed) == 40 and "bread and butter" in listed
    out.write_text("the king\n")
    refused(inside("collocations", data, "--out", out), 5, "is already there", "--overwrite")
    assert inside("audit", data, "--policy", "collocation", "--phrases", out, "--blocks", 50, "--json").returncode == 0
    done = inside("collocations", data, "--out", out, "--least", 3, "--overwrite", "--json")
    assert json.loads(done.stdout)["phrases"][0]["text"] in out.read_text()


def test_hidden_phrases_need_no_list_the_data_is_mined_and_the_list_can_be_edited(
    inside: Run, data: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(data, tmp_path / "data")
    words = (
        "show",
        folder,
        "Nobody likes bread and butter.",
        "--policy",
        "collocation",
        "--rate",
        1,
        "--json",
    )
    first = inside(*words)
    assert "collocations mined, kept in" in " ".join(first.stderr.split())
    units = len({piece["unit"] for piece in json.loads(first.stdout)["pieces"]})
    (folder / "collocations.txt").write_text("Nobody likes bread and butter\n")
    second = inside(*words)
    assert "1 collocation from" in " ".join(second.stderr.split())
    assert len({piece["unit"] for piece in json.loads(second.stdout)["pieces"]}) == 2 < units  # it, and the full stop
    training = ("pretrain", folder, "--out", tmp_path / "run", "--recipe", "ernie-tiny", "--steps", 2, "--json")
    assert json.loads(inside(*training).stdout)["steps"] == 2
    assert inside("verify", folder).returncode == 0
    assert inside("plan", "--recipe", "ernie-tiny", "--data", folder, "--hardware", "A100", "--json").returncode == 0


def test_what_cannot_be_hidden_is_one_line(inside: Run, data: Path, make_model: Make, tmp_path: Path) -> None:
    model = make_model()
    refused(inside("show", tmp_path / "nowhere", "a cat"), 3, "nowhere: does not exist")
    refused(inside("show", tmp_path, "a cat"), 3, "holds no tokenizer")
    refused(inside("show", model, "a cat", "--policy", "spam"), 3, "no policy is called 'spam'")
    refused(inside("show", model, "a cat", "--policy", "entity"), 3, "give --phrases")
    refused(inside("show", model, "a cat", "--rate", "1.5"), 3, "1.5")
    refused(inside("show", model, ""), 3, "nothing to hide")
    refused(inside("audit", tmp_path / "nowhere"), 3, "nowhere: does not exist")
    refused(inside("audit", data, "--policy", "phrase kind=verse"), 3, "give --phrases")
    xlm_r = ("pretrain", data, "--out", tmp_path / "run", "--recipe", "xlm-r-tiny", "--steps", 1)
    refused(inside(*xlm_r), 3, "unmask prepare … --languages file")
    refused(inside("audit", data, "--rate", "-0.1"), 3, "-0.1")
    refused(inside("audit", data, "--length", 2), 3, "length 2")
    refused(inside("collocations", data, "--longest", 1), 3, "longest 1")
    refused(inside("collocations", tmp_path), 3, "not a data directory")
    latin = tmp_path / "latin.txt"
    latin.write_bytes("New York\nMötley Crüe\n".encode("latin-1"))
    for words in (
        ("show", model, "a cat"),
        ("audit", data),
        ("pretrain", data, "--out", "run", "--steps", 1),
    ):
        done = inside(*words, "--policy", "entity", "--phrases", latin, cwd=tmp_path)
        refused(done, 3, "latin.txt, line 2: not UTF-8")


def test_what_cannot_be_marked_is_one_line(
    inside: Run, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    (tmp_path / "latin.txt").write_bytes("Mötley Crüe\n".encode("latin-1"))
    (tmp_path / "marked.jsonl").write_text('{"text": "She lives in New York, we hear.", "spans": [[13, 99, "entity"]]}')
    for source, words, said in (
        (corpus, ("--entities", tmp_path / "nowhere.txt"), "nowhere.txt: cannot be read"),
        (corpus, ("--phrases", tmp_path / "latin.txt"), "latin.txt, line 1: not UTF-8"),
        (corpus, ("--spacy", "en_core_web_sm"), "pip install 'unmask[spacy]'"),
        (tmp_path / "marked.jsonl", (), "marked.jsonl:1: span 1 is from 13 to 99, and the text has 31 characters"),
    ):
        refused(inside("prepare", source, "--out", tmp_path / "data", *words), 3, said)
        assert not (tmp_path / "data").exists()


def test_a_gazetteer_is_all_that_training_on_entities_takes(inside: Run, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("capital of France\nbread and butter\n")
    words = ("prepare", corpus, "--out", tmp_path / "data", "--vocab-size", 300, "--entities", tmp_path / "names.txt")
    prepared = json.loads(inside(*words, "--json").stdout)
    assert prepared["spans"]["train"]["entity"] > 20
    found = json.loads(inside("audit", tmp_path / "data", "--policy", "entity", "--length", 64, "--json").stdout)
    assert found["lengths"]["3"] > 0 and found["specials_hidden"] == 0
    training = ("pretrain", tmp_path / "data", "--out", tmp_path / "run", "--recipe", "tiny", "--steps", 2)
    done = inside(*training, "--policy", "token until 0.5; entity", "--static-masks", "--json")
    assert json.loads(done.stdout)["steps"] == 2
    described = json.loads((tmp_path / "run" / "run.json").read_text())["recipe"]["settings"]
    assert described["static_masks"] is True and described["phrases"] is None


def test_a_tokenizer_that_cannot_hide_is_named(inside: Run, make_model: Make, tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    made = PreTrainedTokenizerFast.from_pretrained(make_model())
    made.mask_token = None
    made.save_pretrained(tmp_path / "maskless")
    refused(inside("show", tmp_path / "maskless", "a cat"), 3, "maskless: has no mask token")


def test_ctrl_c_is_one_line_and_130(make_model: Make) -> None:
    line = [sys.executable, "-m", "unmask", "fill", str(make_model()), "-"]
    pipe = subprocess.PIPE
    listen = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # tests in the background may have it ignored
    with subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, preexec_fn=listen) as process:
        assert process.stdin is not None
        process.stdin.write(b"a [MASK]\n")
        process.stdin.flush()
        try:
            process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, b"unmask: stopped\n")
