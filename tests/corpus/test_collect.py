from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import full_disk
import pyarrow.parquet as pq
import pytest

from unmask.corpus import collect, read_part
from unmask.corpus.collect import CollectedCorpus, collect_corpus
from unmask.corpus.engines.engine import Engine
from unmask.corpus.parts import Part
from unmask.corpus.read.find import TextSource
from unmask.corpus.settings import CollectConfig
from unmask.errors import BadInput, Refused, TooManyLosses

TEXTS = [f"This is document number {number}, and it is long enough." for number in range(400)]


def write(path: Path, texts: list[str]) -> Path:
    path.write_text("\n\n".join(texts), encoding="utf-8")
    return path


def rows(corpus: Path, side: str) -> list[dict[str, object]]:
    return [row for path in sorted((corpus / side).iterdir()) for row in pq.read_table(path).to_pylist()]


def texts(corpus: Path, side: str) -> list[object]:
    return [row["text"] for row in rows(corpus, side)]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("source") / "source.txt", TEXTS)


@pytest.fixture(scope="module")
def collected(source: Path, tmp_path_factory: pytest.TempPathFactory) -> CollectedCorpus:
    return collect_corpus([str(source)], tmp_path_factory.mktemp("collected") / "corpus")


def test_documents_stay_in_order_with_their_place(collected: CollectedCorpus, source: Path) -> None:
    train, valid = rows(collected.path, "train"), rows(collected.path, "valid")
    both = sorted([*train, *valid], key=lambda row: row["line"])  # type: ignore[arg-type, return-value]
    expected = [
        {"text": text, "source": str(source), "line": 2 * n + 1, "number": n + 1} for n, text in enumerate(TEXTS)
    ]
    assert both == expected
    assert train == [row for row in expected if row in train]
    assert {path.name for path in collected.path.iterdir()} == {"train", "valid"}


def test_the_side_is_the_digest_of_the_text_alone(collected: CollectedCorpus) -> None:
    def place(text: str) -> float:
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest()[:8], "big") / 2**64

    assert texts(collected.path, "valid") == [text for text in TEXTS if place(text) < 0.01]
    assert texts(collected.path, "train") == [text for text in TEXTS if place(text) >= 0.01]


def test_every_document_read_is_accounted_for(tmp_path: Path) -> None:
    lines = [
        '{"text": "The first of two that are alike."}',
        '{"text": "short"}',
        '{"text": " \\u0000\\n "}',
        '{"text": "  The first of two\\tthat are alike. "}',
        '{"text": "A document of its own, as it should be."}',
        '{"body": "no text"}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    result = collect_corpus([str(tmp_path / "a.jsonl")], tmp_path / "corpus")
    assert result.counts == {
        "read": 5,
        "malformed": 1,
        "empty": 1,
        "short": 1,
        "duplicate": 1,
        "train": 1,
        "valid": 1,
    }
    assert list(result.counts) == ["read", "malformed", "empty", "short", "duplicate", "train", "valid"]
    kept = [*rows(tmp_path / "corpus", "train"), *rows(tmp_path / "corpus", "valid")]
    assert sorted(row["line"] for row in kept) == [1, 5]  # type: ignore[type-var]
    assert sum(result.text_bytes.values()) == sum(len(str(row["text"])) for row in kept)
    assert result.bytes_read == (tmp_path / "a.jsonl").stat().st_size
    [line] = (tmp_path / "corpus" / "quarantine.jsonl").read_text().splitlines()
    assert json.loads(line)["line"] == 6


def test_the_same_input_gives_the_same_bytes(collected: CollectedCorpus, source: Path, tmp_path: Path) -> None:
    again = collect_corpus([str(source)], tmp_path / "corpus")
    for side in ("train", "valid"):
        one, two = (corpus / side / "00000.parquet" for corpus in (collected.path, again.path))
        assert one.read_bytes() == two.read_bytes()
    assert again.fingerprint == collected.fingerprint


def test_the_fingerprint_is_of_the_documents_not_of_the_files(collected: CollectedCorpus, tmp_path: Path) -> None:
    lines = "".join(json.dumps({"text": f"  {text} "}) + "\n" for text in TEXTS[:200])
    (tmp_path / "1.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    write(tmp_path / "2.txt", TEXTS[200:])
    assert collect_corpus([str(tmp_path)], tmp_path / "corpus").fingerprint == collected.fingerprint
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=16).digest() for text in TEXTS)
    assert collected.fingerprint == hashlib.sha256(digests).hexdigest()


def contents(corpus: Path) -> dict[str, bytes]:
    return {str(path.relative_to(corpus)): path.read_bytes() for path in corpus.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Sources of several kinds, with spans, duplicates, broken lines, long documents and line ends of all sorts."""
    folder = tmp_path_factory.mktemp("hostile")
    lines = [json.dumps({"text": f"{text} {number % 300}"}) for number, text in enumerate(TEXTS)]
    lines[7] = '{"text": broken'
    lines[11] = json.dumps({"text": "It  is about New York, is it not?", "spans": [[13, 21, "entity"]]})
    lines[250] = lines[249]
    (folder / "a.jsonl").write_bytes("\r\n".join(lines).encode() + b'\n{"text": "b\xff"}\n')
    texts = [*TEXTS[:150], "x", "\n".join(TEXTS[:90]) * 40, *TEXTS[100:]]
    (folder / "b.txt").write_bytes("\n \t\n".join(texts).encode() + b"\n\n caf\xe9 au lait, as it was spelt then\n")
    (folder / "c.csv").write_text("text\n" + "".join(f'"A row,\n{text}"\n' for text in TEXTS[:50]))
    (folder / "d.txt.gz").write_bytes(gzip.compress("\n\n".join(TEXTS).encode()))
    return [str(folder)]


@pytest.fixture(scope="module")
def whole(hostile: list[str], tmp_path_factory: pytest.TempPathFactory) -> CollectedCorpus:
    return collect_corpus(
        hostile, tmp_path_factory.mktemp("whole") / "corpus", config=CollectConfig(encoding="latin-1")
    )


@pytest.mark.parametrize(("part_bytes", "processes"), [(2_000, 1), (20_000, 2)])
def test_neither_the_size_of_parts_nor_the_number_of_processes_changes_a_byte(
    hostile: list[str], whole: CollectedCorpus, tmp_path: Path, part_bytes: int, processes: int
) -> None:
    again = collect_corpus(
        hostile,
        tmp_path / "corpus",
        config=CollectConfig(encoding="latin-1"),
        engine=Engine(processes=processes),
        part_bytes=part_bytes,
    )
    assert contents(again.path) == contents(whole.path)
    assert {**vars(again), "path": None} == {**vars(whole), "path": None}
    assert (whole.counts["malformed"], whole.encodings, whole.kinds) == (1, {"latin-1": 2}, ("entity",))
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_what_is_left_out_has_its_place_its_step_and_the_one_that_was_kept_for_it(whole: CollectedCorpus) -> None:
    removed = pq.read_table(whole.path / "removed.parquet").to_pylist()
    kept = {row["number"]: row for side in ("train", "valid") for row in rows(whole.path, side)}
    assert len(removed) == whole.counts["short"] + whole.counts["duplicate"] > 300
    numbers = [row["number"] for row in removed]
    assert numbers == sorted(numbers) and sorted([*kept, *numbers]) == list(range(1, whole.counts["read"] + 1))
    for row in removed:
        if row["step"] == "duplicate":
            twin = kept[row["twin"]]
            assert (row["twin_source"], row["twin_line"], row["similarity"]) == (twin["source"], twin["line"], 1)
            assert str(twin["text"])[:240] == row["excerpt"] and twin["number"] < row["number"]  # type: ignore[operator]
        else:
            assert (row["step"], row["twin"]) == ("short", None) and row["excerpt"] in ("x", "bÿ")


def test_a_run_that_was_interrupted_goes_on_without_reading_again_what_was_read(
    hostile: list[str], whole: CollectedCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = CollectConfig(encoding="latin-1")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(collect, "first_of_each", lambda digests: (_ for _ in ()).throw(KeyboardInterrupt))
        collect_corpus(hostile, tmp_path / "corpus", config=config, part_bytes=20_000)
    assert [path.name for path in tmp_path.iterdir()] == [".corpus.parts"]
    monkeypatch.setattr(read_part, "CorpusReader", None)  # whoever reads, fails
    again = collect_corpus(hostile, tmp_path / "corpus", config=config, part_bytes=20_000)
    assert contents(again.path) == contents(whole.path)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_killed_at_any_moments_it_ends_with_the_same_bytes(
    hostile: list[str], whole: CollectedCorpus, tmp_path: Path
) -> None:
    prelude = "from functools import partial; from unmask.corpus.settings import CollectConfig\n"
    prelude += "from unmask.corpus.engines.engine import Engine\n"
    prelude += "collect_corpus = partial(collect_corpus, config=CollectConfig(encoding='latin-1'), part_bytes=8_000,"
    prelude += "engine=Engine(processes=2))"
    seen = []
    for moment in (0.05, 0.2, 0.35):
        with start(hostile[0], tmp_path / "corpus", prelude) as process:
            time.sleep(moment)
            process.kill()
        if (tmp_path / "corpus").exists():  # on a machine that is quicker than that: then it is whole
            assert contents(tmp_path / "corpus") == contents(whole.path)
            shutil.rmtree(tmp_path / "corpus")
            break
        stage = tmp_path / ".corpus.parts"
        seen.append(len([path for path in stage.glob("*") if not path.name.startswith(".")]))
    assert seen == sorted(seen) and seen
    config = CollectConfig(encoding="latin-1")
    again = collect_corpus(hostile, tmp_path / "corpus", config=config, part_bytes=8_000, engine=Engine(processes=2))
    assert contents(again.path) == contents(whole.path)


def test_documents_that_are_added_move_none_of_those_already_there(collected: CollectedCorpus, tmp_path: Path) -> None:
    more = [f"Yet another document, number {number}, comes first." for number in range(300)]
    result = collect_corpus([str(write(tmp_path / "more.txt", more + TEXTS))], tmp_path / "corpus")
    for side in ("train", "valid"):
        old = set(TEXTS)
        assert [text for text in texts(result.path, side) if text in old] == texts(collected.path, side)


def test_a_lone_document_is_for_training_and_of_two_one_is_held_out(tmp_path: Path) -> None:
    one = collect_corpus([str(write(tmp_path / "one.txt", TEXTS[:1]))], tmp_path / "one")
    assert (texts(one.path, "train"), texts(one.path, "valid")) == (TEXTS[:1], [])
    two = collect_corpus([str(write(tmp_path / "two.txt", TEXTS[:2]))], tmp_path / "two")
    assert (two.counts["train"], two.counts["valid"]) == (1, 1)


def test_files_that_are_passed_over_are_counted_by_kind_and_those_that_are_read_are_not(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("texts.txt", "a.odt", "b.odt", "c.bin", ".hidden.txt", ".named.txt"):
        write(tmp_path / "in" / name, TEXTS[:3])
    (tmp_path / "in" / "nothing.txt").touch()
    result = collect_corpus([str(tmp_path / "in"), str(tmp_path / "in" / ".named.txt")], tmp_path / "corpus")
    assert list(result.passed_over.items()) == [(".odt", 2), (".bin", 1), ("empty", 1), ("hidden", 1)]
    assert result.files == 2


def test_nothing_left_is_one_line_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "short"}\n{"text": ""}\n{"txt": "x"}\n')
    with pytest.raises(BadInput) as raised:
        collect_corpus([str(tmp_path / "a.jsonl")], tmp_path / "corpus")
    assert str(raised.value) == (
        f"no document is left of 2 read from 1 file: 1 malformed (first {tmp_path}/a.jsonl:3: no field 'text'; "
        "there are 'txt'), 1 empty, 1 shorter than 20 characters"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_file_of_blank_lines_is_said_to_have_no_text(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"a\.txt: no text in it: nothing, or nothing but blank lines$"):
        collect_corpus([str(write(tmp_path / "a.txt", ["", ""]))], tmp_path / "corpus")


def test_what_is_already_there_is_not_touched(source: Path, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "mine").write_text("precious")
    with pytest.raises(Refused, match="already there"):
        collect_corpus([str(source)], tmp_path / "corpus")
    assert (tmp_path / "corpus" / "mine").read_text() == "precious"


@pytest.mark.parametrize(("field", "value"), [("valid", 0.0), ("valid", 1.0), ("min_characters", 0)])
def test_a_setting_that_cannot_be_is_named(field: str, value: float) -> None:
    with pytest.raises(BadInput, match=f"{field} is {value}"):
        CollectConfig(**{field: value})


RUN = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started the tests in the background
from unmask.corpus.collect import collect_corpus
{prelude}
print("ready", flush=True)
collect_corpus([sys.argv[1]], Path(sys.argv[2]))
"""


def start(source: str, out: Path, prelude: str = "") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", RUN.format(prelude=prelude), source, str(out)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_leaves_nothing_that_looks_complete(tmp_path: Path, ending: signal.Signals) -> None:
    with start("-", tmp_path / "corpus") as process:
        assert process.stdin
        process.stdin.write(b"A document that is long enough.\n\n" * 1_000)
        process.stdin.flush()
        while not any(tmp_path.iterdir()):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(ending)
        assert process.wait() == -ending
    left = [path.name for path in tmp_path.iterdir()]
    assert left == ([] if ending == signal.SIGINT else [".corpus.parts"])
    if left:  # what a killed run leaves does not stand in the way of the next
        collect_corpus([str(write(tmp_path / "a.txt", TEXTS))], tmp_path / "corpus")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "corpus"]


def test_a_full_disk_is_one_line_that_names_the_place(tmp_path: Path) -> None:
    large = write(tmp_path / "large.txt", [f"{number} " + "some words " * 50 for number in range(20_000)])
    limiting = Path(full_disk.__file__).parent
    prelude = f"import sys; sys.path.append({str(limiting)!r}); import full_disk; full_disk.limit_files(50_000)"
    with start(str(large), tmp_path / "corpus", prelude) as process:
        _, errors = process.communicate()
    assert errors.decode().splitlines()[-1].startswith(f"unmask.errors.NoSpace: {tmp_path}/corpus: the disk is full")
    assert [path.name for path in tmp_path.iterdir()] == ["large.txt"]


def test_spans_go_with_their_documents_and_their_column_is_there_only_with_them(tmp_path: Path) -> None:
    lines = [{"text": f"  Document  {n} is of\tNew  York."} for n in range(40)]
    begin = lines[7]["text"].index("New")
    lines[7]["spans"] = [[begin, begin + 9, "entity"]]  # type: ignore[assignment]
    lines[8]["spans"] = [[begin, 99, "entity"]]  # type: ignore[assignment]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = collect_corpus([str(tmp_path / "in.jsonl")], tmp_path / "corpus")
    assert (result.kinds, result.counts["malformed"]) == (("entity",), 1)
    kept = [*rows(tmp_path / "corpus", "train"), *rows(tmp_path / "corpus", "valid")]
    assert len(kept) == 39 and all(set(row) == {"text", "source", "line", "number", "spans"} for row in kept)
    (marked,) = (row for row in kept if row["spans"])
    (span,) = marked["spans"]  # type: ignore[misc]
    assert marked["line"] == 8 and str(marked["text"])[span["start"] : span["end"]] == "New York"
    [told] = (tmp_path / "corpus" / "quarantine.jsonl").read_text().splitlines()
    assert json.loads(told)["reason"] == f"span 1 is from {begin} to 99, and the text has 30 characters"


@pytest.mark.parametrize(("broken", "allowed"), [(10, 0.0), (11, 0.5), (11, 0.01)])
def test_more_losses_than_are_allowed_are_an_error_of_their_own_and_allowing_them_reads_nothing_again(
    tmp_path: Path, broken: int, allowed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.dumps({"text": text}) for text in TEXTS[:50]] + ["broken"] * broken
    (path := tmp_path / "a.jsonl").write_text("\n".join(lines))
    config = CollectConfig(max_losses=allowed)
    if broken <= 10 or allowed == 0.5:
        assert collect_corpus([str(path)], tmp_path / "corpus", config=config).counts["malformed"] == broken
        return
    with pytest.raises(TooManyLosses, match=r"11 of 61 documents could not be read \(18\.0%\).*first .*a\.jsonl:51"):
        collect_corpus([str(path)], tmp_path / "corpus", config=config)
    assert not (tmp_path / "corpus").exists()
    assert len((tmp_path / "corpus.quarantine.jsonl").read_text().splitlines()) == 11
    monkeypatch.setattr(read_part, "CorpusReader", None)  # whoever reads, fails
    assert collect_corpus([str(path)], tmp_path / "corpus", config=CollectConfig(max_losses=1)).counts["train"] > 40


def test_files_that_vanish_are_cut_off_or_cannot_be_opened_are_losses_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "in").mkdir()
    write(folder / "a.txt", TEXTS[:100])
    for name in ("b.txt", "c.jsonl"):
        write(folder / name, TEXTS)
    (folder / "d.txt.gz").write_bytes(gzip.compress("\n\n".join(TEXTS[100:200]).encode())[:-9])
    cut = collect.cut_parts

    def cut_and_lose(files: list[TextSource], size: int) -> list[Part]:
        parts = cut(files, size)
        (folder / "b.txt").unlink()
        (folder / "c.jsonl").unlink()
        (folder / "c.jsonl").mkdir()
        return parts

    monkeypatch.setattr(collect, "cut_parts", cut_and_lose)
    result = collect_corpus([str(folder)], tmp_path / "corpus", part_bytes=20_000)
    assert result.counts["read"] >= 195
    told = [json.loads(line) for line in (result.path / "quarantine.jsonl").read_text().splitlines()]
    reasons = {(Path(line["source"]).name, line["reason"]) for line in told}
    assert ("b.txt", "No such file or directory") in reasons and ("c.jsonl", "Is a directory") in reasons
    assert ("d.txt.gz", "breaks off (the compressed data is truncated)") in reasons


def test_of_a_file_that_grows_what_was_there_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder := tmp_path / "in").mkdir()
    write(folder / "a.txt", TEXTS[:300])
    cut = collect.cut_parts

    def cut_and_write(files: list[TextSource], size: int) -> list[Part]:
        parts = cut(files, size)
        with (folder / "a.txt").open("a") as file:
            file.write("\n\n" + "\n\n".join(f"Written later, number {n}." for n in range(50)))
        return parts

    monkeypatch.setattr(collect, "cut_parts", cut_and_write)
    result = collect_corpus([str(folder)], tmp_path / "corpus", part_bytes=2_000)
    assert (result.counts["read"], result.counts["malformed"], result.counts["duplicate"]) == (300, 0, 0)


def test_a_file_that_may_not_be_read_is_a_loss_in_a_folder_and_one_line_by_its_name() -> None:
    with tempfile.TemporaryDirectory() as name:  # which others than root can get to, unlike those of pytest
        folder, user = Path(name), os.geteuid()
        folder.chmod(0o777)
        (folder / "in").mkdir(mode=0o755)
        (folder / "in" / "open.txt").write_text("A document that everybody may read.\n")
        (folder / "in" / "closed.txt").write_text("A document that nobody may read.\n")
        (folder / "in" / "closed.txt").chmod(0)
        try:
            if user == 0:  # root may read everything
                os.seteuid(65534)
            corpus = collect_corpus([str(folder / "in")], folder / "corpus", engine=Engine(processes=1))
            with pytest.raises(BadInput, match=r"closed\.txt: Permission denied$"):
                collect_corpus([str(folder / "in" / "closed.txt")], folder / "other", engine=Engine(processes=1))
            told = json.loads((corpus.path / "quarantine.jsonl").read_text())
        finally:
            os.seteuid(user)
        assert (corpus.counts["read"], corpus.counts["malformed"]) == (1, 1)
        assert (Path(told["source"]).name, told["reason"]) == ("closed.txt", "Permission denied")
