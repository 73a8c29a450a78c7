"""Spans on their way from a corpus, a gazetteer or spaCy to a data directory and its blocks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from unmask.errors import BadInput
from unmask.tokens.prepare import prepare
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.documents import read_documents
from unmask.tokens.store.manifest import verify
from unmask.tokens.store.readme import data_readme

PLACES = ("New York", "Buenos Aires", "Nai\u0308ve City", "東京")


def line(number: int) -> dict[str, object]:
    """A raw text that cleaning changes before, inside and behind its span."""
    head, place = f"  Nobody\t knows  number {number} of\u00a0", PLACES[number % len(PLACES)]
    text = f"{head}{place}, where  bread and butter are sold. \r\n"
    return {"text": text, "spans": [[len(head), len(head) + len(place), "entity"]]} if number % 3 else {"text": text}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("marked") / "in.jsonl"
    path.write_text("".join(json.dumps(line(number)) + "\n" for number in range(600)), encoding="utf-8")
    return path


def told(dataset: Dataset, split: str, kind: str) -> list[str]:
    """What each span says, as its tokens spell it."""
    stream, tokenizer = dataset.split(split), dataset.tokenizer()
    ids = [stream.read(begin, end)[0] for begin, end in dataset.spans(split)[kind].stretches.tolist()]
    return [text.strip().replace("東 京", "東京") for text in tokenizer.batch_decode(ids)]


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_the_spans_of_jsonl_are_those_of_the_tokens(source: Path, tmp_path: Path, kind: str) -> None:
    size = {"wordpiece": 150, "bpe": 350, "unigram": 90}[kind]
    prepared = prepare([str(source)], tmp_path / "data", tokenizer=kind, vocab_size=size, valid=0.1)
    dataset = Dataset.open(tmp_path / "data")
    assert prepared.spans["train"]["entity"] + prepared.spans["valid"]["entity"] == 400
    assert prepared.spans == dataset.manifest["spans"]
    for split in ("train", "valid"):
        documents = [text for text, marks in zip(*documents_of(dataset, split), strict=True) if marks]
        places = [next(place for place in (*PLACES, "Naïve City") if place in text) for text in documents]
        assert told(dataset, split, "entity") == places
        assert set(dataset.spans(split)) == {"entity"}
    assert verify(tmp_path / "data").damage == ()
    assert "spans.entity.npy" in (tmp_path / "data" / "README.md").read_text()


def documents_of(dataset: Dataset, split: str) -> tuple[list[str], list[object]]:
    texts, marks = zip(*read_documents(dataset.path / "documents" / split), strict=True)
    return [text for some in texts for text in some], [mark for some in marks for mark in some]


def test_a_gazetteer_marks_what_the_corpus_does_not_and_the_longest_stands(source: Path, tmp_path: Path) -> None:
    (tmp_path / "places.txt").write_text("York\nBuenos Aires\n")
    (tmp_path / "phrases.txt").write_text("bread and butter\n")
    prepared = prepare(
        [str(source)],
        tmp_path / "data",
        vocab_size=150,
        valid=0.1,
        entities=str(tmp_path / "places.txt"),
        phrases=str(tmp_path / "phrases.txt"),
    )
    dataset = Dataset.open(tmp_path / "data")
    marked = told(dataset, "train", "entity")
    assert {"York", "New York", "Buenos Aires", "Naïve City"} <= set(marked)  # York where New York is not marked
    assert set(told(dataset, "train", "phrase")) == {"bread and butter"}
    assert prepared.spans["train"]["phrase"] == prepared.counts["train"]
    stretches = dataset.spans("train")["entity"].stretches
    assert (np.diff(stretches.ravel()) >= 0).all()
    assert dataset.manifest["settings"]["entities"] == str(tmp_path / "places.txt")


def test_without_spans_nothing_of_them_is_there(data: Path) -> None:
    dataset = Dataset.open(data)
    assert dataset.spans("train") == {}
    assert not list(data.rglob("*spans*")) and "spans" not in dataset.manifest
    assert not {"entities", "phrases", "spacy"} & set(dataset.manifest["settings"])
    assert "spans" not in (data / "README.md").read_text() == data_readme(dataset.manifest)
    (table,) = (data / "documents" / "train").iterdir()
    assert pq.read_schema(table).names == ["text", "source", "line", "number"]


def test_a_gazetteer_that_cannot_be_read_is_named_before_the_text_is_read(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("Mötley Crüe\n".encode("latin-1"))
    (tmp_path / "empty.txt").write_text("# nothing\n")
    for name, why in (("latin", "line 1: not UTF-8"), ("empty", "holds no phrase"), ("nowhere", "cannot be read")):
        with pytest.raises(BadInput, match=rf"{name}\.txt.*{why}"):
            prepare(["nowhere.jsonl"], tmp_path / "data", entities=str(tmp_path / f"{name}.txt"))


def test_spacy_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "spacy", None)
    with pytest.raises(BadInput, match=r"spaCy is not installed: pip install 'unmask\[spacy\]'"):
        prepare(["nowhere.jsonl"], tmp_path / "data", spacy="en_core_web_sm")
