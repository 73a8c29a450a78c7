"""What is compared has a name that tells it from the others, and says what can be asked of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import unmask
from unmask.errors import BadInput
from unmask.evaluation.contenders import contender_names, model_contender, trained_before, untrained_encoder
from unmask.tokens.store.dataset import Dataset


def test_names_are_the_shortest_ends_of_paths_that_differ() -> None:
    assert contender_names([Path("a/x/model"), Path("b/x/model"), Path("c/run")]) == ["a/x/model", "b/x/model", "run"]
    with pytest.raises(BadInput, match="run: is named twice"):
        contender_names([Path("run"), Path("a/../run")])


def test_of_a_model_from_elsewhere_nothing_is_known_and_one_like_it_has_other_weights(
    data: Path, make_model: Callable[..., Path]
) -> None:
    path = make_model("bert", "bpe")
    contender = model_contender(path, "bert", Dataset.open(data))
    known = trained_before(contender)
    assert known["parameters"] > 0 and known["tokens"] is None and contender.recipe is None
    fresh, again = (untrained_encoder(contender).model.state_dict() for _ in range(2))
    name = "encoder.layer.0.attention.self.query.weight"
    assert fresh[name].equal(again[name])
    assert fresh[name].std() != model_weights(path)[f"bert.{name}"].std()


def model_weights(path: Path) -> dict[str, object]:
    from safetensors.torch import load_file

    return load_file(path / "model.safetensors")  # type: ignore[return-value]


def test_a_run_on_other_data_is_one_whose_training_cannot_be_repeated_here(
    data: Path, corpus: Path, tmp_path: Path
) -> None:
    unmask.prepare(corpus, out=tmp_path / "other", vocab_size=280, valid=0.2)
    unmask.pretrain(tmp_path / "other", out=tmp_path / "run", recipe="causal-tiny", length=32, batch_size=4, steps=2)
    here = model_contender(tmp_path / "run", "run", Dataset.open(data))
    there = model_contender(tmp_path / "run", "run", Dataset.open(tmp_path / "other"))
    assert here.pretraining is None and there.pretraining is not None
    assert here.recipe == there.recipe == "causal-tiny" and here.masked is None and here.length == 32
    assert trained_before(here)["steps"] == 2
