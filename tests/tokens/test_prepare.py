"""Laws of preparing data: raw text in, the same bytes out, whole or not there."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from full_disk import files_of_at_most
from rich.console import Console
from transformers import PreTrainedTokenizerFast

from unmask import progress
from unmask.corpus.rules.request import RuleRequest
from unmask.errors import BadInput, NoSpace, Refused
from unmask.results import Decontaminated
from unmask.tokens.prepare import prepare
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.manifest import verify
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.load import save_tokenizer


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def beside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.iterdir())


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_the_tokens_are_those_of_the_documents_in_order(texts: list[str], tmp_path: Path, kind: str) -> None:
    (tmp_path / "in.txt").write_text("\n\n".join(texts), encoding="utf-8")
    prepared = prepare(
        [str(tmp_path / "in.txt")],
        tmp_path / "data",
        tokenizer=kind,
        vocab_size=900,
        valid=0.1,
        shard_tokens=5000,
    )
    dataset = Dataset.open(tmp_path / "data")
    tokenizer, total = dataset.tokenizer(), np.zeros(900, dtype=np.int64)
    for split in ("train", "valid"):
        shards, documents = dataset.split(split), list(dataset.texts(split))
        assert shards.documents == len(documents) == prepared.counts[split]
        assert shards.tokens == prepared.tokens[split] == dataset.manifest["tokens"][split]
        begins = [0, *shards.ends[:-1].tolist()]
        for expected, begin, end in zip(encode(tokenizer, documents), begins, shards.ends.tolist(), strict=True):
            ids, word_starts = shards.read(begin, end)
            np.testing.assert_array_equal(ids, expected.ids)
            np.testing.assert_array_equal(word_starts, expected.word_starts)
            total += np.bincount(ids, minlength=900) if split == "train" else 0
    assert len(list((tmp_path / "data" / "train").glob("*.tokens.npy"))) > 2
    np.testing.assert_array_equal(dataset.counts, total)
    assert dataset.vocabulary.size == prepared.vocabulary == 900
    assert prepared.fingerprint == dataset.fingerprint
    assert prepared.tokens["valid"] > 0
    assert set(dataset.texts("train")) | set(dataset.texts("valid")) == set(texts)


def test_the_same_input_and_settings_give_the_same_bytes(corpus: Path, data: Path, tmp_path: Path) -> None:
    prepare([str(corpus)], tmp_path / "again", vocab_size=300, valid=0.1)
    assert contents(tmp_path / "again") == contents(data)
    assert verify(tmp_path / "again").damage == ()


def test_the_size_of_the_shards_changes_no_token(corpus: Path, data: Path, tmp_path: Path) -> None:
    prepare([str(corpus)], tmp_path / "small", vocab_size=300, valid=0.1, shard_tokens=1000)
    one, many = Dataset.open(data).split("train"), Dataset.open(tmp_path / "small").split("train")
    np.testing.assert_array_equal(one.ends, many.ends)
    for part in (0, 1):
        np.testing.assert_array_equal(one.read(0, one.tokens)[part], many.read(0, many.tokens)[part])


def test_the_manifest_says_what_was_read_left_out_and_how(corpus: Path, data: Path, tmp_path: Path) -> None:
    manifest = Dataset.open(data).manifest
    assert manifest["input"]["files"] == 1
    assert manifest["input"]["bytes"] == corpus.stat().st_size
    assert list(manifest["counts"]) == ["read", "malformed", "empty", "short", "duplicate", "train", "valid"]
    assert manifest["settings"]["vocab_size"] == 300
    texts = {split: list(Dataset.open(data).texts(split)) for split in ("train", "valid")}
    assert manifest["text_bytes"] == {split: sum(len(text.encode()) for text in texts[split]) for split in texts}
    assert set(manifest["files"]) == set(contents(data)) - {"manifest.json"}
    assert str(tmp_path) not in (data / "manifest.json").read_text(encoding="utf-8")


def test_the_readme_of_the_directory_is_right_and_its_code_runs(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (data / "README.md").read_text(encoding="utf-8")
    dataset = Dataset.open(data)
    assert f"| train | {dataset.split('train').documents:,} | {dataset.split('train').tokens:,} |" in text
    code = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
    exec(code[code.index("from unmask") :].replace("DIRECTORY", str(data)), {})
    assert next(dataset.texts("train")) in capsys.readouterr().out
    names = set(re.findall(r"[|,] `([a-z]+)/?[`/]", text))
    assert {"documents", "tokenizer", "train"} <= names
    assert [name for name in names if not (data / name).exists()] == []


def test_a_given_tokenizer_is_taken_as_it_is(
    corpus: Path, tmp_path: Path, trained: Callable[[str], PreTrainedTokenizerFast]
) -> None:
    save_tokenizer(trained("unigram"), tmp_path / "given")
    prepared = prepare([str(corpus)], tmp_path / "data", tokenizer=str(tmp_path / "given"))
    dataset = Dataset.open(tmp_path / "data")
    assert prepared.vocabulary == len(trained("unigram"))
    assert contents(tmp_path / "data" / "tokenizer") == contents(tmp_path / "given")
    text = next(dataset.texts("train"))
    assert (
        dataset.split("train").read(0, int(dataset.split("train").ends[0]))[0].tolist()
        == (trained("unigram")(text, add_special_tokens=False)["input_ids"])
    )


@pytest.mark.parametrize("folder", ["model", "tokenizer"])
def test_the_tokenizer_of_a_run_and_of_data_is_found_where_it_lies(
    folder: str, corpus: Path, tmp_path: Path, trained: Callable[[str], PreTrainedTokenizerFast]
) -> None:
    save_tokenizer(trained("wordpiece"), tmp_path / "given" / folder)
    prepare([str(corpus)], tmp_path / "data", tokenizer=str(tmp_path / "given"))
    assert contents(tmp_path / "data" / "tokenizer") == contents(tmp_path / "given" / folder)


def test_a_tokenizer_that_cannot_be_used_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match=r"'wordpeace': neither a directory nor one of the kinds wordpiece, bpe, unigram"
    ):
        prepare(["nowhere.txt"], tmp_path / "data", tokenizer="wordpeace")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"no tokenizer\.json"):
        prepare(["nowhere.txt"], tmp_path / "data", tokenizer=str(tmp_path / "empty"))
    with pytest.raises(BadInput, match="vocab_size is 0"):
        prepare(["nowhere.txt"], tmp_path / "data", vocab_size=0)


def test_lines_that_cannot_be_read_are_in_the_quarantine_and_nowhere_else(tmp_path: Path, texts: list[str]) -> None:
    lines = [json.dumps({"text": text}) for text in texts[:80]]
    lines[3] = '{"text": broken'
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    prepared = prepare([str(tmp_path / "in.jsonl")], tmp_path / "data", vocab_size=500)
    assert prepared.counts["malformed"] == 1
    told = [json.loads(line) for line in (tmp_path / "data" / "quarantine.jsonl").read_text().splitlines()]
    assert len(told) == 1
    assert told[0]["line"] == 4
    assert "quarantine.jsonl" in Dataset.open(tmp_path / "data").manifest["files"]
    assert verify(tmp_path / "data").damage == ()


def test_files_that_were_passed_over_are_in_the_result_and_in_the_manifest(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "in").mkdir()
    shutil.copy(corpus, tmp_path / "in")
    for name in ("a.odt", "b.odt", "c.bin"):
        (tmp_path / "in" / name).write_text("x")
    prepared = prepare([str(tmp_path / "in")], tmp_path / "data", vocab_size=300)
    assert list(prepared.passed_over.items()) == [(".odt", 2), (".bin", 1)]
    assert Dataset.open(tmp_path / "data").manifest["input"]["passed_over"] == {".odt": 2, ".bin": 1}


def test_one_document_leaves_the_other_split_empty(tmp_path: Path, texts: list[str]) -> None:
    (tmp_path / "in.txt").write_text(" ".join(texts[:60]), encoding="utf-8")
    prepare([str(tmp_path / "in.txt")], tmp_path / "data", vocab_size=400)
    dataset = Dataset.open(tmp_path / "data")
    assert sorted(dataset.split(name).documents for name in ("train", "valid")) == [0, 1]
    assert verify(tmp_path / "data").damage == ()


def test_what_is_there_is_not_overwritten_unless_told_and_never_if_it_is_something_else(
    corpus: Path, data: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(data, tmp_path / "data"))
    before = contents(out)
    with pytest.raises(Refused, match=r"not empty.*--overwrite"):
        prepare([str(corpus)], out, vocab_size=350)
    assert contents(out) == before
    prepare([str(corpus)], out, vocab_size=350, overwrite=True)
    assert Dataset.open(out).vocabulary.size == 350
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "letter.txt").write_text("dear")
    with pytest.raises(Refused, match="never overwritten"):
        prepare([str(corpus)], precious, overwrite=True)
    with pytest.raises(BadInput, match="is a file"):
        prepare([str(corpus)], precious / "letter.txt", overwrite=True)
    assert contents(precious) == {"letter.txt": b"dear"}


def test_an_empty_directory_and_a_relative_path_will_do(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    assert prepare([str(corpus)], Path(), vocab_size=300).path == Path()
    monkeypatch.chdir(tmp_path)
    assert verify(Path("data")).damage == ()


def test_a_preparation_that_fails_leaves_nothing_behind(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "data"
    with pytest.raises(BadInput, match="larger than the text allows: ask for"):
        prepare([str(corpus)], out, vocab_size=60_000)
    with pytest.raises(BadInput, match=r"nowhere\.txt: no such file"):
        prepare([str(tmp_path / "nowhere.txt")], out)
    assert beside(out) == []


def test_a_preparation_killed_at_work_leaves_no_directory_and_the_next_one_succeeds(
    corpus: Path, tmp_path: Path
) -> None:
    code = "import sys, unmask; unmask.prepare(sys.argv[1], out=sys.argv[2], vocab_size=300)"
    work = subprocess.Popen([sys.executable, "-c", code, str(corpus), str(tmp_path / "data")])
    while not list(tmp_path.iterdir()) and work.poll() is None:
        time.sleep(0.001)
    work.kill()
    work.wait()
    assert not (tmp_path / "data").exists()
    assert beside(tmp_path / "data") != []
    prepare([str(corpus)], tmp_path / "data", vocab_size=300)
    assert beside(tmp_path / "data") == ["data"]


def test_a_failed_overwriting_leaves_what_was_there(corpus: Path, data: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(data, tmp_path / "data"))
    with pytest.raises(BadInput, match="larger than the text allows"):
        prepare([str(corpus)], out, vocab_size=60_000, overwrite=True)
    assert contents(out) == contents(data)


def test_text_that_will_not_fit_on_the_disk_is_told_before_it_is_read(tmp_path: Path) -> None:
    (text := tmp_path / "in.txt").touch()
    os.truncate(text, 8 << 40)  # a hole of 8 TB
    with pytest.raises(NoSpace, match=r"data: about 8,796,093 MB are going to be written and [\d,]+ MB are free"):
        prepare([str(text)], tmp_path / "data")
    assert beside(tmp_path / "data") == ["in.txt"]


def test_a_place_below_a_file_is_told_before_anything_is_read(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(BadInput, match=r"notes is a file, not a folder"):
        prepare([str(corpus)], tmp_path / "notes" / "data")


def test_text_in_another_encoding_is_read_where_that_is_told(tmp_path: Path, texts: list[str]) -> None:
    content = "\n\n".join(f"Café {text}" for text in texts)
    (path := tmp_path / "in.txt").write_bytes(content.encode("latin-1", "replace"))
    with pytest.raises(BadInput, match=r"in\.txt:1: not UTF-8 .*; if the file is latin-1, give --encoding latin-1"):
        prepare([str(path)], tmp_path / "data")
    prepared = prepare([str(path)], tmp_path / "data", encoding="latin-1", vocab_size=500)
    assert (prepared.counts["malformed"], prepared.encodings) == (0, {"latin-1": 1})
    assert next(Dataset.open(tmp_path / "data").texts("train")).startswith("Café ")


def test_an_encoding_given_for_one_file_leaves_the_others_in_utf8(tmp_path: Path, texts: list[str]) -> None:
    (folder := tmp_path / "texts").mkdir()
    (folder / "a.txt").write_text("\n\n".join(f"β-Kinase {text}" for text in texts[::2]), encoding="utf-8")
    content = "\n\n".join(f"Café {text}" for text in texts[1::2])
    (folder / "b.txt").write_bytes(content.encode("latin-1", "replace"))
    prepared = prepare([str(folder)], tmp_path / "data", encoding="latin-1", vocab_size=500)
    assert (prepared.counts["malformed"], prepared.encodings) == (0, {"latin-1": 1})
    assert prepared.formats == {"text": 2}
    begins = {text.split()[0] for text in Dataset.open(tmp_path / "data").texts("train")}
    assert begins == {"β-Kinase", "Café"}


def test_a_misspelt_source_is_told_before_a_place_that_is_taken(tmp_path: Path, data: Path) -> None:
    (tmp_path / "texts").mkdir()
    with pytest.raises(BadInput, match=r"txts: no such file or folder; did you mean .*texts/\?"):
        prepare([str(tmp_path / "txts")], data)


@pytest.mark.parametrize("room", [2_000, 60_000])  # the documents, the shards
def test_a_full_disk_is_one_line_and_leaves_nothing_behind(corpus: Path, tmp_path: Path, room: int) -> None:
    with files_of_at_most(room), pytest.raises(NoSpace, match="the disk is full") as error:
        prepare([str(corpus)], tmp_path / "data", vocab_size=300)
    assert "\n" not in str(error.value)
    assert beside(tmp_path / "data") == []


def test_the_line_of_encoding_counts_the_tokens_of_all_splits(
    texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SHORT", 0.0)  # seconds, below which no line is left behind
    (tmp_path / "in.txt").write_text("\n\n".join(texts), encoding="utf-8")
    console = Console(file=io.StringIO(), width=200, color_system=None)
    with progress.show_progress(console, moving=False):
        prepared = prepare([str(tmp_path / "in.txt")], tmp_path / "data", vocab_size=900, valid=0.1)
    assert min(prepared.tokens.values()) > 100
    assert isinstance(console.file, io.StringIO)
    (line,) = (line for line in console.file.getvalue().splitlines() if "Encoding" in line)
    assert line.endswith(f" {sum(prepared.tokens.values()):,} tokens")


def test_what_rules_leave_out_is_told_by_rule_and_in_the_table_of_what_was_removed(tmp_path: Path) -> None:
    prose = "The old house stood at the end of the road, and nobody had lived in it with number"
    rows = [{"text": f"Menu\n{prose} {n}.", "spans": [[9, 18, "entity"]]} for n in range(60)]
    rows += [{"text": "Die Katze saß auf der Matte und sah dem Regen vor dem Fenster zu."}]
    rows += [{"text": "# # # " * 8 + prose}, {"text": f"He wrote to jane@company.org: itâ€™s so. {prose} 99."}]
    rows += [{"text": "Somebody said that all that glitters is not gold, and that the rest of it is."}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "test.txt").write_text("All that glitters is not gold.\n")
    asked = RuleRequest(
        filters="gopher-hashes,c4-few-words",
        language="en",
        mask_personal=True,
        decontaminate=(str(tmp_path / "test.txt"),),
    )
    result = prepare([str(tmp_path / "a.jsonl")], tmp_path / "data", asked_rules=asked, valid=0.1)
    assert result.counts["dropped"] == 3
    assert result.dropped == {"language": 1, "gopher-hashes": 1, "decontaminate": 1}
    assert result.changed == {"c4-few-words": 60, "unicode": 1, "personal": 1}
    assert result.languages_told == {"en": 63, "de": 1}
    assert result.decontaminated == Decontaminated(items=1, too_short=0, removed=1, touched=0, before=1.0, after=0.0)
    removed = {row["rule"]: row for row in pq.read_table(tmp_path / "data" / "removed.parquet").to_pylist()}
    assert removed["decontaminate"]["detail"] == "test.txt:1: all that glitters is not gold"
    assert removed["gopher-hashes"]["value"] > removed["gopher-hashes"]["limit"] == 0.1
    assert removed["language"]["detail"].startswith("de ") and removed["language"]["line"] == 61
    kept = pa.concat_tables(pq.read_table(tmp_path / "data" / "documents" / split) for split in ("train", "valid"))
    assert set(kept["language"].to_pylist()) == {"en"} and min(kept["language_score"].to_pylist()) > 0.5
    spans = [(row["text"], row["spans"][0]) for row in kept.to_pylist() if row["spans"]]
    assert len(spans) == 60 and {text[span["start"] : span["end"]] for text, span in spans} == {"old house"}
    assert any("name@example.com: it’s so" in text for text in kept["text"].to_pylist())
    manifest = json.loads((tmp_path / "data" / "manifest.json").read_text())
    assert manifest["settings"]["rules"]["limits"] == {"gopher-hashes": [None, 0.1]}
    assert manifest["dropped"] == result.dropped
