"""The whole journey, on a corpus that is quickly read: a made-up language of as many words as the demo's vocabulary."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

import unmask
from unmask import progress
from unmask.corpus.read import builtin
from unmask.records import Document
from unmask.tokens.store.dataset import Dataset
from unmask.training.machine.computing import FASTEST, device_for
from unmask.training.machine.fastest import fastest_precision


def made_up(taken: Callable[[int], None] = lambda count: None) -> Iterator[Document]:
    """800 documents of four sentences each."""
    draw = random.Random(0)
    words = ["".join(draw.choices("aeiouklmnprst", k=draw.randint(5, 9))) for _ in range(9000)]
    for number in range(800):
        sentences = [" ".join(draw.choices(words, k=10)).capitalize() + "." for _ in range(4)]
        yield Document("\n".join(sentences), f"builtin:made/{number}", 1)


@pytest.mark.slow
def test_the_story_is_told_from_text_to_filled_blanks_over_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtin, "documents", made_up)
    monkeypatch.setattr(builtin, "source_bytes", lambda: 1)
    (tmp_path / "demo" / "run").mkdir(parents=True)
    (tmp_path / "demo" / "run" / "old").touch()
    said = io.StringIO()
    with progress.show_progress(Console(file=said, width=100)):
        told = unmask.demo(out=tmp_path / "demo", minutes=0.01)
    story = said.getvalue()
    chapters = re.findall(r"^(\d)  (\w+)  ", story, re.M)
    assert chapters == [("1", "Prepare"), ("2", "Corrupt"), ("3", "Pretrain"), ("4", "Use")]
    assert len(told.before) == len(told.after) == 5
    assert [len(re.findall(rf"^ *{word} ", story, re.M)) for word in ("text", "before", "after")] == [5, 5, 5]
    for filled in told.after:  # the hidden word is marked without colour too
        head, tail = filled.text.split("[MASK]")
        assert re.search(re.escape(head[-12:]) + r"\[\w+\]" + re.escape(tail[:8]), story)
    assert [filled.text for filled in told.before] == [filled.text for filled in told.after]
    texts = list(Dataset.open(tmp_path / "demo" / "data").texts("valid"))
    for filled in told.after:
        head, tail = filled.text.split("[MASK]")
        assert any(head in text and tail in text for text in texts), "it is of what was held out"
        assert len(filled.blanks[0]) == 5
    assert told.trained.path == tmp_path / "demo" / "run" and not (told.trained.path / "old").exists()
    assert told.trained.precision == fastest_precision(FASTEST, device_for("auto")), "as pretrain takes it"
    assert f"{told.prepared.tokens['train']:,}" in story and f"{told.evaluated.unigram_loss:.2f}" in story
