"""Held-out sentences are filled as `unmask fill` fills them, within the time there is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import unmask
from unmask.inference import held_out_fills
from unmask.inference.held_out_fills import held_out_sentences, write_fills
from unmask.tokens.store.dataset import Dataset


def written(run: Path, data: Path) -> dict[str, Any]:
    write_fills(run, Dataset.open(data), 0.0)
    fills: dict[str, Any] = json.loads((run / "fills.json").read_text(encoding="utf-8"))
    return fills


def test_every_word_at_every_moment_is_what_fill_says(kept_run: Path, data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(kept_run, run)
    fills = written(run, data)
    assert [moment["step"] for moment in fills["moments"]] == [0, 5, 10] and len(fills["sentences"]) == 20
    for sentence in fills["sentences"][::7]:
        text = sentence["text"]
        words = [text[start:end] for start, end in sentence["words"]]
        assert all(any(letter.isalnum() for letter in word) for word in words) and 5 <= len(words) <= 14
        for place, (start, end) in [*enumerate(sentence["words"])][::5]:
            blanked = text[:start] + "[MASK]" + text[end:]
            for number, step in enumerate((0, 5, 10)):
                (filled,) = unmask.fill(kept_run, blanked, step=step)
                said = [(guess.token, guess.probability) for guess in filled.blanks[0]]
                kept = sentence["fills"][number][place]
                assert [token for token, _ in kept] == [token for token, _ in said]
                assert [p for _, p in kept] == pytest.approx([p for _, p in said], abs=1e-4)


def test_a_model_that_is_slow_shows_its_last_moment_of_fewer_sentences(
    kept_run: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    shutil.copytree(kept_run, run)
    monkeypatch.setattr(held_out_fills, "ASKED", 0.0)
    fills = written(run, data)
    assert [moment["step"] for moment in fills["moments"]] == [10]
    assert fills["kept"] == 3 and len(fills["sentences"]) == 1


def test_a_run_of_something_else_and_data_that_is_gone_are_no_reason_to_stop(
    kept_run: Path, data: Path, tmp_path: Path
) -> None:
    write_fills(tmp_path, Dataset.open(data), 0.0)  # no model
    shutil.copytree(kept_run / "model", tmp_path / "model")
    shutil.copytree(data, tmp_path / "data")
    dataset = Dataset.open(tmp_path / "data")
    for file in (tmp_path / "data" / "documents" / "valid").iterdir():
        file.write_bytes(b"no parquet")
    write_fills(tmp_path, dataset, 0.0)
    assert not (tmp_path / "fills.json").exists()


def test_sentences_are_the_same_each_time_and_from_all_over(data: Path) -> None:
    once, again = (held_out_sentences(Dataset.open(data)) for _ in range(2))
    assert once == again and len({sentence.text for sentence in once}) == 20
