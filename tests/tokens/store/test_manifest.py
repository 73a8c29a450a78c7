"""Laws of verification: whatever has happened to a file, it is named; nothing outside the directory is touched."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unmask.errors import BadInput, Damaged
from unmask.files import with_seal
from unmask.tokens.store import manifest as manifests
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.manifest import verify


@pytest.fixture
def folder(data: Path, tmp_path: Path) -> Path:
    """A copy of the data directory, to damage."""
    return Path(shutil.copytree(data, tmp_path / "data"))


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def rewritten(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """The manifest with a change, sealed again as if it had been made so."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest.pop("seal")
    change(manifest)
    text = json.dumps(with_seal(manifest), indent=2, ensure_ascii=False)
    (folder / "manifest.json").write_text(text + "\n", encoding="utf-8")


def test_a_whole_directory_verifies(data: Path) -> None:
    verified = verify(data)
    assert verified.damage == ()
    assert verified.files == len(files(data)) - 1
    assert verified.bytes == sum(path.stat().st_size for path in files(data) if path.name != "manifest.json")


def test_a_flipped_bit_anywhere_is_found_and_its_file_named(folder: Path) -> None:
    for path in files(folder):
        whole = path.read_bytes()
        for place in {0, len(whole) // 2, len(whole) - 1}:
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            damage = verify(folder).damage
            assert len(damage) == 1, (path, place)
            assert path.relative_to(folder).as_posix() in damage[0]
        path.write_bytes(whole)
    assert verify(folder).damage == ()


def test_every_byte_of_the_manifest_counts(folder: Path) -> None:
    path = folder / "manifest.json"
    whole = path.read_bytes()
    for place in [*range(120), *range(120, len(whole), 97), *range(len(whole) - 90, len(whole))]:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert "manifest.json" in verify(folder).damage[0], place
        with pytest.raises(Damaged, match=r"manifest\.json"):
            Dataset.open(folder)
    path.write_bytes(whole.replace(b"  ", b"   ", 1))
    assert verify(folder).damage


def test_truncated_grown_missing_and_unexpected_files_are_each_named(folder: Path) -> None:
    tokens, counts = folder / "train" / "00000.tokens.npy", folder / "train" / "counts.npy"
    tokens.write_bytes(tokens.read_bytes()[:-10])
    counts.write_bytes(counts.read_bytes() + b"\0")
    (folder / "tokenizer" / "tokenizer.json").unlink()
    (folder / "valid" / "notes.txt").write_text("mine")
    damage = sorted(verify(folder).damage)
    told = [line.split(",")[0] for line in damage]
    assert told == [
        "tokenizer/tokenizer.json: missing",
        "train/00000.tokens.npy: truncated",
        "train/counts.npy: grown",
        "valid/notes.txt: unexpected",
    ]


def test_opening_finds_a_missing_or_truncated_file_without_hashing(folder: Path) -> None:
    tokens = folder / "train" / "00000.tokens.npy"
    tokens.write_bytes(tokens.read_bytes()[:-10])
    with pytest.raises(Damaged, match=r"train/00000\.tokens\.npy: truncated.*unmask verify"):
        Dataset.open(folder)
    tokens.unlink()
    with pytest.raises(Damaged, match=r"train/00000\.tokens\.npy: missing"):
        Dataset.open(folder)


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "train/../../secret", "..\\secret"])
def test_a_name_that_leads_out_of_the_directory_is_not_followed(folder: Path, name: str) -> None:
    (folder.parent / "secret").write_text("x")
    rewritten(folder, lambda manifest: manifest["files"].update({name: {"bytes": 1, "sha256": "0"}}))
    assert verify(folder).damage == (f"{name}: leads out of the data directory, and is not followed",)
    with pytest.raises(Damaged, match="leads out"):
        Dataset.open(folder)


def test_a_link_out_of_the_directory_is_not_followed(folder: Path) -> None:
    tokens, outside = folder / "train" / "00000.tokens.npy", folder.parent / "tokens.npy"
    tokens.rename(outside)
    tokens.symlink_to(outside)
    assert verify(folder).damage == ("train/00000.tokens.npy: leads out of the data directory, and is not followed",)
    (folder / "more").symlink_to(folder.parent)
    assert "more: unexpected, the manifest does not know it" in verify(folder).damage


def test_a_missing_manifest_is_damage_and_any_other_directory_no_data_directory(folder: Path, tmp_path: Path) -> None:
    (folder / "manifest.json").unlink()
    assert verify(folder).damage == (f"{folder / 'manifest.json'}: missing; prepare the data again",)
    (tmp_path / "empty").mkdir()
    for look in (verify, Dataset.open):
        with pytest.raises(BadInput, match="not a data directory"):
            look(tmp_path / "empty")
        with pytest.raises(BadInput, match="does not exist"):
            look(tmp_path / "nowhere")


def test_a_file_in_place_of_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("text")
    with pytest.raises(BadInput, match="not a data directory"):
        verify(tmp_path / "data")


@pytest.mark.parametrize("text", ["[]", "{}", "null", '{"files": {}, "format": 1}', "\xff"])
def test_any_other_json_is_no_manifest(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_bytes(text.encode("latin-1"))
    with pytest.raises((BadInput, Damaged), match=r"manifest\.json"):
        Dataset.open(folder)


def test_a_sealed_manifest_of_nonsense_is_refused(folder: Path) -> None:
    for nonsense in ([], {"a": 1}, {"a": {"bytes": "many"}}):
        rewritten(folder, lambda manifest, files=nonsense: manifest.update(files=files))
        with pytest.raises(BadInput, match=r"manifest\.json"):
            Dataset.open(folder)


def test_another_format_is_named_with_its_version(folder: Path) -> None:
    rewritten(folder, lambda manifest: manifest.update(format=99, unmask="7.0"))
    for look in (verify, Dataset.open):
        with pytest.raises(BadInput, match=r"unmask 7\.0 in data format 99, and this one reads format 1"):
            look(folder)


def test_the_fingerprint_is_of_tokens_and_tokenizer_alone(folder: Path) -> None:
    before = Dataset.open(folder)
    assert before.fingerprint == manifests.fingerprint_of(before.manifest)
    told = {}
    for name in (
        "README.md",
        "documents/train/00000.parquet",
        "train/00000.tokens.npy",
        "tokenizer/tokenizer.json",
    ):
        manifest = json.loads(json.dumps(before.manifest))
        manifest["files"][name]["sha256"] = "0" * 64
        told[name] = manifests.fingerprint_of(manifest) == before.fingerprint
    assert list(told.values()) == [True, True, False, False]
