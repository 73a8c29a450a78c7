from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.console.pages import draw_result
from unmask.corpus.rules.request import RuleRequest
from unmask.errors import BadInput
from unmask.evaluation import rule_race
from unmask.evaluation.rule_race import ALL_RULES, NO_RULES, race_rules

WORDS = ("the", "ship", "and", "cat", "of", "winter", "that", "river", "with", "stone", "have", "bread", "be", "to")


def write_corpus(path: Path, documents: int) -> Path:
    """Sentences of words, and every third document a list of hashes that a rule drops."""
    draw = np.random.default_rng(0)
    texts = []
    for number in range(documents):
        words = [WORDS[n] for n in draw.integers(0, len(WORDS), 60)]
        texts.append(" ".join(f"#{word} #" for word in words) if number % 3 == 0 else " ".join(words) + ".")
    path.write_text("\n\n".join(texts), encoding="utf-8")
    return path


def test_models_with_and_without_rules_are_measured_on_the_same_documents_with_intervals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_corpus(tmp_path / "in.txt", 600)
    tried = race_rules([str(path)], RuleRequest(filters="gopher-hashes"), 0.5)
    assert [row.name for row in tried.trained] == [NO_RULES, ALL_RULES, "gopher-hashes"]
    without, everything, alone = tried.trained
    assert len({row.steps for row in tried.trained}) == 1
    assert tried.dropped == 200
    assert without.documents == 600 - tried.measured_on
    assert everything.documents == alone.documents == without.documents - 200
    assert everything.bits_per_byte == alone.bits_per_byte  # the same texts, the same steps
    for row in tried.trained:
        assert 0 < row.bits_per_byte.low < row.bits_per_byte.value < row.bits_per_byte.high
    assert without.beyond_no_rule is None and everything.beyond_no_rule == alone.beyond_no_rule
    paired = everything.beyond_no_rule
    assert paired is not None
    assert paired.value == pytest.approx(everything.bits_per_byte.value - without.bits_per_byte.value)
    assert paired.low < paired.value < paired.high
    from rich.console import Console

    Console(width=80, no_color=True).print(draw_result(tried))
    page = capsys.readouterr().out
    assert "trained with" in page and "documents that all rules keep" in page and f"{paired.value:+.3f}" in page


def test_too_little_to_measure_on_is_one_line_before_anything_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_race, "pretrain", None)  # whoever trains, fails
    path = write_corpus(tmp_path / "in.txt", 60)
    with pytest.raises(BadInput, match=r"^--train: of 60 documents in the sample the rules keep 40, of which "):
        race_rules([str(path)], RuleRequest(filters="gopher-hashes"), 0.5)
    with pytest.raises(BadInput, match=r"^--train 60s: is for --try"):
        unmask.prepare(str(path), out=tmp_path / "data", train="60s")
