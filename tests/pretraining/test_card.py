"""The card of a model: what it was made of, how well it does, and at which moment."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
import torch

from unmask.objectives.text import Export
from unmask.pretraining.card import export_model, model_card
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.tokens.store.dataset import Dataset
from unmask.training.job import FinishedRun

FINISHED = FinishedRun(
    path=Path("run"),
    description={"unmask": "0.1.0", "seed": 3, "computing": {"precision": "float32"}},
    parameters=1234,
    step=40,
    progress=1.0,
    steps=40,
    tokens=5678,
    seconds=9.0,
    figures={"loss": 2.5, "perplexity": 12.18, "accuracy": 0.25, "predictions": 4321.0},
)


def card(data: Path, finished: FinishedRun, *, fixed_masks: bool = True, **settings: object) -> str:
    plan, dataset = recipe_named("bert-tiny", **settings), Dataset.open(data)
    kind = Pretraining.of(dataset, plan).objective.card
    return model_card(kind, plan, dataset, finished, objective="mlm", epochs=1.5, fixed_masks=fixed_masks)


def table(text: str) -> dict[str, str]:
    """The figures under their names."""
    names, _, values = text.partition("On held-out text")[2].partition("\n\n")[2].splitlines()[:3]
    return dict(zip(*([cell.strip() for cell in row.strip("|").split("|")] for row in (names, values)), strict=True))


def test_which_moment_was_measured_is_said_where_it_is_not_the_last(data: Path) -> None:
    assert "On held-out text, with fixed masks (15 % of tokens, 4,321 positions):" in card(data, FINISHED)
    best = card(data, replace(FINISHED, step=30))
    assert "On held-out text, the best moment, step 30, with fixed masks" in best
    assert "5,678 tokens in 40 steps (1.5 passes)" in best


def test_figures_stand_under_their_names_and_what_is_no_number_is_left_out(data: Path) -> None:
    assert table(card(data, FINISHED)) == {"loss": "2.500", "perplexity": "12.2", "masked-token accuracy": "25.0%"}
    own = {**FINISHED.figures, "accuracy": nan, "bits_per_byte": 1.25}
    assert table(card(data, replace(FINISHED, figures=own), fixed_masks=False)) == {
        "loss": "2.500",
        "perplexity": "12.2",
        "bits per byte": "1.250",
    }


@pytest.mark.parametrize(
    ("settings", "hidden"),
    [
        ({"policy": "span", "rate": "0.3"}, "policy `span`, rate `0.3`, fresh masks each epoch"),
        ({"static_masks": True, "rate": "0.15"}, "policy `token`, rate `0.15`, the same in each epoch"),
        ({"objective": "causal"}, "nothing"),
    ],
)
def test_what_was_hidden_is_said(settings: dict[str, object], hidden: str, data: Path) -> None:
    assert f"| hidden | {hidden} |" in card(data, FINISHED, **settings)


def test_a_model_is_exported_whole_or_not_at_all(data: Path, tmp_path: Path) -> None:
    dataset = Dataset.open(data)
    model = Pretraining.of(dataset, recipe_named("bert-tiny")).job().build()
    weight = {"weight": torch.ones(2)}
    with pytest.raises(Exception, match="No such file or directory"):
        export_model(Export(model, {"no/such/folder": weight}), dataset, tmp_path / "model", "# card", length=32)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    export_model(Export(model, {"more.safetensors": weight}), dataset, tmp_path / "model", "# card", length=32)  # type: ignore[arg-type]
    assert {"config.json", "model.safetensors", "more.safetensors", "tokenizer.json", "README.md"} <= {
        path.name for path in (tmp_path / "model").iterdir()
    }
