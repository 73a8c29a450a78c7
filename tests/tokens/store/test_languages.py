"""Languages told by files or folders, from the text to what is trained on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.errors import BadInput
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.languages import balanced_texts, documents_by_language

WORDS = {"de": "Haus Baum Fluss Berg Wald Himmel", "en": "house tree river hill forest sky", "fi": "talo puu joki"}
DOCUMENTS = {"de": 40, "en": 400, "fi": 10}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("languages")
    draw = np.random.default_rng(0)
    for name, words in WORDS.items():
        texts = [" ".join(draw.choice(words.split(), 30)) for _ in range(DOCUMENTS[name])]
        (folder / f"{name}.txt").write_text("\n\n".join(texts), encoding="utf-8")
    unmask.prepare(folder, out=folder / "data", languages="file", tokenizer="unigram", valid=0.1)
    return folder / "data"


def test_every_document_has_the_language_of_its_file(prepared: Path) -> None:
    data = Dataset.open(prepared)
    assert data.manifest["languages"] == ["de", "en", "fi"]
    for split in ("train", "valid"):
        numbers = data.languages(split)
        for number, text in zip(numbers, data.texts(split), strict=True):
            assert set(text.split()) <= set(WORDS[data.manifest["languages"][number]].split())
    assert not unmask.verify(prepared).damage


def test_the_tokenizer_learns_from_languages_in_their_smoothed_shares(prepared: Path) -> None:
    texts = list(balanced_texts(prepared / "documents" / "train", "file", 1 << 20))
    by = dict.fromkeys(WORDS, 0)
    for text in texts:
        by[next(name for name, words in WORDS.items() if text.split()[0] in words.split())] += len(text)
    sizes = dict.fromkeys(WORDS, 0)
    for name, text in documents_by_language(prepared / "documents" / "train", "file"):
        sizes[name] += len(text)
    wanted = np.array([sizes[name] ** 0.3 for name in WORDS])
    np.testing.assert_allclose(np.array(list(by.values())) / sum(by.values()), wanted / wanted.sum(), atol=0.02)
    assert sum(by.values()) == pytest.approx(sum(sizes.values()), rel=0.05)


def test_steps_are_trained_on_languages_in_their_smoothed_shares(prepared: Path) -> None:
    data = Dataset.open(prepared)
    chosen = recipe_named("xlm-r-tiny", length=32, batch_size=8, micro_batch=8)
    batches = Pretraining.of(data, chosen).batches()
    plan = batches.plan(0)
    language = data.languages("train")[plan.pieces.documents]
    shares = np.bincount(language, weights=plan.pieces.lengths, minlength=3)
    ends = np.concatenate(([0], batches.stream.ends))
    sizes = np.bincount(data.languages("train"), weights=np.diff(ends))
    np.testing.assert_allclose(shares / shares.sum(), sizes**0.3 / (sizes**0.3).sum(), rtol=0.05)
    assert {batches.plan(epoch).blocks for epoch in range(5)} == {batches.per_epoch}


def test_folders_tell_languages_too_and_anything_else_is_one_line(tmp_path: Path) -> None:
    for name, words in WORDS.items():
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "a.txt").write_text("\n\n".join(f"{words} {n} {words}" for n in range(30)))
    made = unmask.prepare(tmp_path / "in", out=tmp_path / "data", languages="folder")
    assert made.languages == ("de", "en", "fi")
    assert Dataset.open(tmp_path / "data").manifest["languages"] == ["de", "en", "fi"]
    with pytest.raises(BadInput, match=r"--languages guess: a document's language is the name of its file or folder"):
        unmask.prepare(tmp_path / "in", out=tmp_path / "other", languages="guess")


def test_data_without_languages_is_refused_for_xlm_r_in_one_line(data: Path) -> None:
    with pytest.raises(BadInput, match=r"xlm-r samples them: make it with unmask prepare … --languages file"):
        Pretraining.of(Dataset.open(data), recipe_named("xlm-r-tiny", length=32)).job()
