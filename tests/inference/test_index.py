"""An index is whole or as it was, belongs to its model, and is changed without embedding everything again."""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import processes
import pytest

from unmask.errors import BadInput, Damaged, Refused
from unmask.inference import write_vectors as writing
from unmask.inference.corpus_records import TextRecord
from unmask.inference.index import Index, IndexSettings, add_documents, create_index, remove_documents
from unmask.inference.vectors import Encoder, encoder_digest, load_encoder

Make = Callable[..., Path]
WHO, DOES = ("the captain", "a quiet boy", "my sister", "the moon"), ("crosses", "likes", "forgets")
DRAW = random.Random(5)


def a_text() -> str:
    sentence = "{} {} music and {} old stories {}."
    return " ".join(
        sentence.format(DRAW.choice(WHO), DRAW.choice(DOES), DRAW.randrange(99), DRAW.choice(("again", "at night")))
        for _ in range(DRAW.randint(2, 9))
    )


DOCUMENTS = [TextRecord(f"d{n}", a_text()) for n in range(30)]
FROM = {"source": "corpus.jsonl"}


@pytest.fixture(scope="module")
def encoder(make_model: Make) -> Encoder:
    return load_encoder(make_model())


@pytest.fixture(scope="module")
def settings(make_model: Make) -> IndexSettings:
    path = make_model()
    return IndexSettings(str(path), encoder_digest(path), False, "mean", whiten=False, passage=40, overlap=10)


def rows_of(index: Index) -> dict[str, np.ndarray]:
    names = [record.id for segment in index.segments for record in segment.records()]
    vectors = np.concatenate([block for _, block in index.blocks()])
    return dict(zip(names, vectors, strict=True))


def test_an_index_that_was_added_to_and_removed_from_is_one_made_anew(
    encoder: Encoder, settings: IndexSettings, tmp_path: Path, recorded: Callable[[Any, str], list[dict[str, Any]]]
) -> None:
    index = create_index(encoder, DOCUMENTS[:20], tmp_path / "index", settings, source=FROM)
    calls = recorded(writing, "embed_texts")
    index = add_documents(encoder, DOCUMENTS[20:], index, source=FROM)
    embedded = sum(len(call["texts"]) for call in calls)
    assert embedded == len(index.segments[1]) < len(index)  # only what is new
    gone = {"d3", "d25", "d7"}
    index = remove_documents(index, gone)
    assert sum(len(call["texts"]) for call in calls) == embedded  # no model is asked
    kept = [record for record in DOCUMENTS if record.id not in gone]
    anew = create_index(encoder, kept, tmp_path / "anew", settings, source=FROM)
    assert rows_of(index).keys() == rows_of(anew).keys()
    for name, vector in rows_of(anew).items():
        np.testing.assert_allclose(rows_of(index)[name], vector, atol=1e-6)
    for query in ("the captain crosses", "music"):
        ours, theirs = (
            {each.record(number).id: score for number, score in zip(*each.words.top(query, 999), strict=True)}
            for each in (index, anew)
        )
        assert ours == pytest.approx(theirs, rel=1e-5)
    assert (index.manifest["documents"], len(index)) == (27, len(anew))
    text = b"".join(file.read_bytes() for file in (tmp_path / "index").rglob("*.jsonl"))
    assert b'"document": "d3"' not in text and b'"document": "d4"' in text  # nothing of it stays on the disk


def test_whitening_is_fitted_once_and_what_is_added_is_whitened_alike(
    encoder: Encoder, settings: IndexSettings, tmp_path: Path
) -> None:
    whitened = IndexSettings(**{**vars(settings), "whiten": True})
    index = create_index(encoder, DOCUMENTS[:20], tmp_path / "index", whitened, source=FROM)
    before = index.whitening
    index = add_documents(encoder, [TextRecord("again", DOCUMENTS[0].text)], index, source=FROM)
    assert before is not None and index.whitening is not None
    np.testing.assert_array_equal(index.whitening.as_array(), before.as_array())
    rows = rows_of(index)
    again = [name for name in rows if name.startswith("again")]
    for name in again:
        np.testing.assert_allclose(rows[name], rows[name.replace("again", "d0")], atol=1e-6)


def test_ids_that_are_unknown_or_taken_change_nothing(
    encoder: Encoder, settings: IndexSettings, tmp_path: Path
) -> None:
    index = create_index(encoder, DOCUMENTS[:3], tmp_path / "index", settings, source=FROM)
    manifest = (tmp_path / "index" / "index.json").read_bytes()
    with pytest.raises(BadInput, match=r"--remove a b c and 1 more: no document .* nothing is removed"):
        remove_documents(index, {"d1", "a", "b", "c", "d"})
    with pytest.raises(BadInput, match="the id 'd1' is in the index already; --remove d1"):
        add_documents(encoder, DOCUMENTS[1:2], index, source=FROM)
    with pytest.raises(BadInput, match="the id 'x' is there twice"):
        add_documents(encoder, [TextRecord("x", "a"), TextRecord("x", "b")], index, source=FROM)
    with pytest.raises(BadInput, match=r"nothing of .* would be left"):
        remove_documents(index, {"d0", "d1", "d2"})
    with pytest.raises(BadInput, match="has no text"):
        create_index(encoder, [], tmp_path / "empty", settings, source=FROM)
    assert (tmp_path / "index" / "index.json").read_bytes() == manifest and len(Index.open(tmp_path / "index")) > 2


def test_a_place_that_is_taken_and_sizes_that_cannot_be_are_refused(
    encoder: Encoder, settings: IndexSettings, tmp_path: Path
) -> None:
    create_index(encoder, DOCUMENTS[:2], tmp_path / "index", settings, source=FROM)
    with pytest.raises(Refused, match="is an index already; --add and --remove change it"):
        create_index(encoder, DOCUMENTS[:2], tmp_path / "index", settings, source=FROM)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("mine")
    with pytest.raises(Refused, match="is there already and is no index"):
        create_index(encoder, DOCUMENTS[:2], tmp_path / "mine", settings, source=FROM)
    for changes, match in (({"passage": 99}, "takes 62 tokens"), ({"overlap": 30}, "less than half of --passage 40")):
        with pytest.raises(BadInput, match=match):
            changed = IndexSettings(**{**vars(settings), **changes})
            create_index(encoder, DOCUMENTS[:2], tmp_path / "new", changed, source=FROM)


def test_another_model_is_refused_and_damage_is_named(
    encoder: Encoder, settings: IndexSettings, tmp_path: Path, make_model: Make
) -> None:
    index = create_index(encoder, DOCUMENTS[:2], tmp_path / "index", settings, source=FROM)
    other = make_model("electra")
    with pytest.raises(Refused, match=r"made with another model than .*electra"):
        index.check_model(encoder_digest(other), other)
    vectors = tmp_path / "index" / "segments" / "0001" / "vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-1])
    with pytest.raises(Damaged, match=r"segments/0001/vectors\.npy: truncated"):
        Index.open(tmp_path / "index")


KILLED = """
import os, signal, sys
from pathlib import Path
from unmask.inference import {module} as module
from unmask.inference.corpus_records import TextRecord
from unmask.inference.index import Index, add_documents, remove_documents
from unmask.inference.vectors import load_encoder
module.{function} = lambda *arguments, **settings: os.kill(os.getpid(), signal.SIGKILL)
index = Index.open(Path(sys.argv[1]))
if sys.argv[3] == "add":
    add_documents(load_encoder(Path(sys.argv[2])), [TextRecord("new", "A new text.")], index, source={{}})
else:
    remove_documents(index, {{"d1"}})
"""


@pytest.mark.parametrize(
    ("module", "function", "change"),
    [("write_vectors", "embed_texts", "add"), ("index", "write_words", "remove"), ("index", "write_sealed", "add")],
)
def test_killed_while_it_is_changed_the_old_index_is_whole_and_the_change_can_be_made_again(
    encoder: Encoder, settings: IndexSettings, tmp_path: Path, make_model: Make, module: str, function: str, change: str
) -> None:
    path = tmp_path / "index"
    before = rows_of(create_index(encoder, DOCUMENTS[:3], path, settings, source=FROM))
    script = tmp_path / "killed.py"
    script.write_text(KILLED.format(module=module, function=function))
    done = processes.run(tmp_path / "said", 1, [str(path), str(make_model()), change], script=script)
    assert done.returncode == -signal.SIGKILL, done.stderr
    index = Index.open(path)
    assert rows_of(index).keys() == before.keys() and len(index.words.top("the", 99)[0])
    index = add_documents(encoder, [TextRecord("new", "A new text.")], index, source={})
    assert "new" in rows_of(index)
    index = remove_documents(index, {"d1"})
    left = {entry.name for entry in (path / "segments").iterdir()}
    assert left == {*index.manifest["segments"]}  # what the killed one left behind is gone


def test_an_index_that_was_killed_while_it_was_made_goes_on(
    encoder: Encoder, settings: IndexSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*arguments: object, **settings: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("unmask.inference.index.write_words", stopped)
        with pytest.raises(KeyboardInterrupt):
            create_index(encoder, DOCUMENTS[:3], tmp_path / "index", settings, source=FROM)
    assert len(create_index(encoder, DOCUMENTS[:3], tmp_path / "index", settings, source=FROM)) > 3
    shutil.rmtree(tmp_path / "index")
    assert not any(tmp_path.iterdir())
