"""A domain that the model never saw the like of is told: few documents, another language, another script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import unmask
from unmask.adapting.start import AdaptStart
from unmask.adapting.strangeness import strange_text
from unmask.errors import BadInput
from unmask.tokens.store.dataset import Dataset

GERMAN = (
    "Der Mieter zahlt die Miete am ersten Tag des Monats, und der Vermieter bestätigt ihm den Empfang schriftlich. "
)
RUSSIAN = "Арендатор платит арендную плату в первый день месяца, номер {}, и владелец подтверждает получение."


def started(bert: Path, domain: Path, general: Path) -> AdaptStart:
    first, second = Dataset.open(domain), Dataset.open(general)
    return AdaptStart(bert, first, second, bert, first, second)


def test_few_documents_and_foreign_ones_are_told(make_model: Callable[..., Path], corpus: Path, tmp_path: Path) -> None:
    bert = make_model("bert")
    texts = {"de": [GERMAN * 3 + str(n) for n in range(40)], "ru": [RUSSIAN.format(n) for n in range(40)]}
    for name, documents in texts.items():
        (tmp_path / f"{name}.txt").write_text("\n\n".join(documents))
        unmask.prepare(tmp_path / f"{name}.txt", out=tmp_path / name, tokenizer=str(bert), valid=0.1)
    unmask.prepare(corpus, out=tmp_path / "en", tokenizer=str(bert), valid=0.1)
    said = " ".join(strange_text(started(bert, tmp_path / "de", tmp_path / "en")))
    assert "documents: they are soon known by heart" in said
    assert "is in another language (de) than general text (en): --replay-share 0.25" in said
    said = " ".join(strange_text(started(bert, tmp_path / "ru", tmp_path / "en")))
    assert "of its tokens are unknown to the model: is it in another script?" in said
    assert not list(strange_text(started(bert, tmp_path / "en", tmp_path / "en")))


def test_a_domain_of_ten_documents_without_held_out_ones_is_refused(
    make_model: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "ten.txt").write_text("\n\n".join(GERMAN + str(n) for n in range(10)))
    unmask.prepare(tmp_path / "ten.txt", out=tmp_path / "ten", tokenizer=str(make_model("bert")), valid=0.0001)
    with pytest.raises(BadInput, match=r"ten: [01] of its 10 documents are held out, .* or with a larger --valid"):
        unmask.adapt(make_model("bert"), tmp_path / "ten", out=tmp_path / "run")
