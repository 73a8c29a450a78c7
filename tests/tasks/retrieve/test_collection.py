"""Collections as BEIR has them and pairs; what cannot be used is named in one line."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.tasks.retrieve.collection import read_collection, read_pairs


def test_a_folder_has_documents_with_titles_queries_and_splits(split: Path, tmp_path: Path) -> None:
    collection, splits = read_collection(split)
    assert len(collection.documents) == 45 and collection.titled
    assert collection.documents["d1"].startswith("cat\nthe cat sees the river")
    assert collection.documents["d0"].startswith("the cat sees the dog")
    assert {name: len(queries) for name, queries in splits.items()} == {"train": 15, "dev": 15, "test": 15}
    pairs = splits["train"].pairs(collection)
    first = splits["train"].examples[0]
    assert collection.texts[pairs[0, 1]] == collection.documents[first.answers[0]] and pairs.shape == (15, 2)
    packed = Path(shutil.copytree(split, tmp_path / "packed"))
    (packed / "corpus.jsonl.gz").write_bytes(gzip.compress((packed / "corpus.jsonl").read_bytes()))
    (packed / "corpus.jsonl").unlink()
    assert read_collection(packed)[0].documents == collection.documents


@pytest.mark.parametrize(
    ("file", "added", "said"),
    [
        ("qrels/test.tsv", "q999\td1\t1", r"test\.tsv:17: the query 'q999' is not in queries\.jsonl"),
        ("qrels/test.tsv", "q1\td999\t1", r"test\.tsv:17: the document 'd999' is not in corpus\.jsonl"),
        ("qrels/test.tsv", "q1\td1", r"test\.tsv:17: has 2 columns; give query-id, corpus-id and score"),
        ("qrels/test.tsv", "q1\td1\thigh", r"test\.tsv:17: the score is 'high', which is no whole number"),
        ("qrels/test.tsv", "silent\td1\t0", "no document answers the query 'silent': none has a score above 0"),
        ("corpus.jsonl", '{"_id": "d1", "text": "x"}', r"corpus\.jsonl:47: the id 'd1' is that of line 2 too"),
        ("corpus.jsonl", '{"text": "x"}', r"corpus\.jsonl:47: has no field '_id'"),
        ("corpus.jsonl", '{"_id": "x"}', r"corpus\.jsonl:47: has no field 'text'"),
        ("queries.jsonl", '{"_id": "q1", "text": "x"}', r"queries\.jsonl:47: the id 'q1' is that of line 2 too"),
        ("queries.jsonl", '{"_id": "x", "text": " "}', r"queries\.jsonl:47: the query 'x' has no text"),
    ],
)
def test_what_cannot_be_used_is_named_in_one_line(
    file: str, added: str, said: str, split: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(split, tmp_path / "folder"))
    with (folder / "corpus.jsonl").open("a") as corpus:
        corpus.write('{"_id": "empty", "text": ""}\n')
    with (folder / "queries.jsonl").open("a") as queries:
        queries.write('{"_id": "silent", "text": "nothing answers"}\n')
    with (folder / file).open("a") as opened:
        opened.write(added + "\n")
    with pytest.raises(BadInput, match=said) as error:
        read_collection(folder)
    assert "\n" not in str(error.value)


def test_an_answer_without_text_is_judged_by_and_not_learnt_from(split: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(split, tmp_path / "folder"))
    for file, line in (("corpus.jsonl", '{"_id": "empty", "text": ""}'), ("qrels/train.tsv", "q1\tempty\t2")):
        with (folder / file).open("a") as opened:
            opened.write(line + "\n")
    collection, splits = read_collection(folder)
    assert collection.empty == 1
    answers = [name for query in splits["train"].examples for name in query.answers]
    assert "empty" in answers and len(splits["train"].pairs(collection)) == len(answers) - 1


def test_a_folder_without_documents_or_judgments_is_refused(split: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(split, tmp_path / "folder"))
    shutil.rmtree(folder / "qrels")
    with pytest.raises(BadInput, match=r"has no judgments; give qrels/train\.tsv"):
        read_collection(folder)
    (folder / "corpus.jsonl").unlink()
    with pytest.raises(BadInput, match=r"corpus\.jsonl: does not exist"):
        read_collection(folder)


def test_pairs_of_several_files_share_their_passages(tmp_path: Path) -> None:
    lines = [("who sleeps?", "The cat sleeps."), ("who sleeps?", "The dog sleeps."), ("who eats?", "The cat eats.")]
    (tmp_path / "train.tsv").write_text("query\tpassage\n" + "".join(f"{a}\t{b}\n" for a, b in lines))
    (tmp_path / "test.jsonl").write_text(json.dumps({"query": "sleeping", "passage": "The cat sleeps."}))
    collection, splits, fields = read_pairs({"train": tmp_path / "train.tsv", "test": tmp_path / "test.jsonl"})
    assert fields == ("query", "passage") and len(collection.documents) == 3
    assert [len(query.answers) for query in splits["train"].examples] == [2, 1]
    assert splits["test"].examples[0].answers == splits["train"].examples[0].answers[:1]
    (tmp_path / "train.tsv").write_text("query\tpassage\nwho?\t \n")
    with pytest.raises(BadInput, match=r"train\.tsv:2: the field 'passage' is empty"):
        read_pairs({"train": tmp_path / "train.tsv"})
    (tmp_path / "train.tsv").write_text("query\tpassage\nwho?\n")
    with pytest.raises(BadInput, match=r"train\.tsv:2: has 1 columns, the first line 2"):
        read_pairs({"train": tmp_path / "train.tsv"})
