"""What is hidden whole where nobody marked it: mined once, kept with the data, edited by whoever likes."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import unmask
from unmask.corruption.schedule import parse_schedule
from unmask.errors import BadInput
from unmask.tokens.spans import lists
from unmask.tokens.spans.lists import listed_phrases, marking_for, phrase_list
from unmask.tokens.store.dataset import Dataset

ERNIE = parse_schedule("token until 0.3; phrase until 0.6; entity")
WORDS = ["old", "new", "red", "tall", "slow", "small", "green", "happy", "or", "but", "so", "then", "soon", "late"]


def sentences(*phrases: str) -> list[str]:
    """Lines in which the phrases stand among words that go together with nothing."""
    draw = random.Random(0)
    return [" ".join([*draw.sample(WORDS, 6), draw.choice(phrases), *draw.sample(WORDS, 6)]) for _ in range(300)]


def prepare_lines(folder: Path, lines: list[str]) -> Path:
    (folder / "in.txt").write_text("\n\n".join(lines), encoding="utf-8")
    unmask.prepare(folder / "in.txt", out=folder / "data", valid=0.1)
    return folder / "data"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data that speaks of Buenos Aires, and of bread and butter; nothing is marked."""
    folder = tmp_path_factory.mktemp("lists")
    return prepare_lines(folder, sentences("bread and butter", "Buenos Aires"))


@pytest.fixture
def data(prepared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(prepared, tmp_path / "data"))


def test_lists_are_mined_once_kept_and_said(data: Path) -> None:
    phrases, lines = listed_phrases(Dataset.open(data), ["phrase", "entity"])
    assert "bread and butter" in phrases["phrase"] and phrases["entity"] == ["Buenos Aires"]
    assert lines == (
        f"{len(phrases['phrase']):,} collocations mined, kept in {data}/collocations.txt to be edited",
        f"1 entity from capitalised words, kept in {data}/entities.txt to be edited",
    )
    again, said = listed_phrases(Dataset.open(data), ["phrase", "entity"])
    assert again == phrases
    assert said == (
        f"{len(phrases['phrase']):,} collocations from {data}/collocations.txt",
        f"1 entity from {data}/entities.txt",
    )


def test_the_data_is_what_it_was_with_lists_in_it(data: Path) -> None:
    before = Dataset.open(data).fingerprint
    marking_for(Dataset.open(data), ERNIE, "train")
    assert {"collocations.txt", "entities.txt"} <= {path.name for path in data.iterdir()}
    assert unmask.verify(data).damage == () and Dataset.open(data).fingerprint == before


def test_an_edited_list_is_taken_as_it_is_and_is_another(data: Path) -> None:
    mined = marking_for(Dataset.open(data), ERNIE, "train")
    assert marking_for(Dataset.open(data), ERNIE, "train").digest == mined.digest is not None
    (data / "collocations.txt").write_text("# my own\nred bread\n")
    edited = marking_for(Dataset.open(data), ERNIE, "train")
    assert edited.digest != mined.digest and f"1 collocation from {data}/collocations.txt" in edited.lines
    assert phrase_list(Dataset.open(data), "collocations").phrases == ("red bread",)
    (data / "collocations.txt").write_bytes("Mötley Crüe\n".encode("latin-1"))
    with pytest.raises(BadInput, match=r"collocations.txt, line 1: not UTF-8"):
        marking_for(Dataset.open(data), ERNIE, "train")


def test_given_phrases_and_marks_of_the_data_come_before_lists(data: Path, tmp_path: Path) -> None:
    marking = marking_for(Dataset.open(data), ERNIE, "train", ["red bread"])
    assert set(marking.lexicons) == {"phrase", "entity"} and not marking.lines
    (tmp_path / "in.jsonl").write_text('{"text": "A text with an entity.", "spans": [[2, 6, "entity"]]}\n')
    unmask.prepare(tmp_path / "in.jsonl", out=tmp_path / "marked")
    marking = marking_for(Dataset.open(tmp_path / "marked"), parse_schedule("entity"), "train")
    assert set(marking.spans) == {"entity"} and not marking.lexicons and marking.digest is None
    assert not (tmp_path / "marked" / "collocations.txt").exists()


def test_data_that_cannot_be_written_is_mined_all_the_same(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = marking_for(Dataset.open(data), ERNIE, "train")
    for name in ("collocations.txt", "entities.txt"):
        (data / name).unlink()

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(lists, "sync", refuse)  # as root, every directory can be written
    mined = marking_for(Dataset.open(data), ERNIE, "train")
    assert mined.digest == kept.digest and f"not kept: {data} cannot be written" in mined.lines[0]
    assert unmask.verify(data).damage == ()


def test_where_nothing_can_be_mined_single_words_are_hidden_and_that_is_said(tmp_path: Path) -> None:
    data = prepare_lines(tmp_path, ["all of these words are small and stand here only once", "nor has this any name"])
    marking = marking_for(Dataset.open(data), ERNIE, "train")
    assert all(not lexicon.by_length for lexicon in marking.lexicons.values())
    assert "single words are hidden" in marking.lines[1] and "no names told by capitals" in marking.lines[2]
    assert unmask.audit(data, policy="entity", length=64).hidden > 0


def test_collocations_stand_for_entities_where_a_script_has_no_capitals(tmp_path: Path) -> None:
    data = prepare_lines(tmp_path, sentences("东京", "面包", "Buenos Aires", "bread and butter"))
    phrases, said = listed_phrases(Dataset.open(data), ["entity"])
    assert {phrase.replace(" ", "") for phrase in phrases["entity"]} == {"BuenosAires", "东京", "面包"}
    assert "collocations for entities, in a script without capitals" in said[-1]


def test_small_letters_alone_have_collocations_for_entities(tmp_path: Path) -> None:
    phrases, said = listed_phrases(Dataset.open(prepare_lines(tmp_path, sentences("bread and butter"))), ["entity"])
    assert "bread and butter" in phrases["entity"] and "collocations stand for entities" in said[-1]


def test_a_kind_that_no_list_tells_is_asked_for(data: Path) -> None:
    with pytest.raises(BadInput, match=r"policy 'verse' hides spans, .* give --phrases"):
        marking_for(Dataset.open(data), parse_schedule("entity kind=verse"), "train")


MINE = """
import sys
from unmask.tokens.spans.lists import phrase_list
from unmask.tokens.store.dataset import Dataset
print(*phrase_list(Dataset.open(sys.argv[1]), "collocations").phrases, sep="\\n")
"""


def test_processes_that_mine_at_once_have_the_same_list_and_leave_nothing_beside_it(data: Path) -> None:
    command = [sys.executable, "-c", MINE, str(data)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [process.communicate()[0] for process in processes]
    assert all(process.returncode == 0 for process in processes) and len(set(answers)) == 1 and answers[0]
    assert unmask.verify(data).damage == ()
