from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

import unmask
from unmask.console.vocabulary import draw_sweep
from unmask.errors import BadInput
from unmask.evaluation.vocabulary_race import parse_seconds, race_sizes
from unmask.planning.cost import cost_of
from unmask.planning.vocabulary import ImaginedDataset
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.tokens.store.dataset import Dataset


@pytest.mark.slow
def test_each_size_is_trained_with_as_much_work_on_the_same_documents(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = race_sizes(Dataset.open(data), (150,), 1.0, recipe="tiny")
    works = []
    for row in sweep.sizes:
        assert row.bits_per_byte is not None and row.steps is not None
        assert row.bits_per_byte.low < row.bits_per_byte.value < row.bits_per_byte.high
        works.append(
            row.steps * cost_of(Pretraining.of(ImaginedDataset.of(row.vocabulary), recipe_named("tiny"))).a_step
        )
    assert works[1] == pytest.approx(works[0], rel=0.6 / max(1, sweep.sizes[1].steps or 1) + 0.02)
    Console(width=80, no_color=True).print(draw_sweep(sweep))
    page = capsys.readouterr().out
    assert "after equal work" in page and "fewest bits per byte" in page


@pytest.mark.parametrize("text", ["", "soon", "5x", "-1s", "0"])
def test_a_time_that_is_none_is_told_before_anything_is_trained(text: str, data: Path) -> None:
    with pytest.raises(BadInput, match="--train"):
        parse_seconds(text)
    with pytest.raises(BadInput, match="--train"):
        unmask.tokenizer(data, train=text)
