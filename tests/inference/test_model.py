from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import unmask
from unmask.errors import BadInput
from unmask.inference import model as module

Make = Callable[..., Path]


def test_a_warm_model_loads_once_and_says_what_the_verb_says(make_model: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    path, loads = make_model(), []
    real = module.load_model

    def counted(*arguments: object, **settings: object) -> object:
        loads.append(arguments)
        return real(*arguments, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "load_model", counted)
    model = unmask.load(path)
    assert not loads  # nothing before it is asked
    first = model.fill("The [MASK] sees.", top=3)
    assert model.fill("The [MASK] sees.", top=3) == first
    assert len(loads) == 1
    assert unmask.fill(path, "The [MASK] sees.", top=3) == first


@pytest.mark.parametrize("precision", ["bfloat16", "float32"])
def test_precision_changes_what_products_are_computed_in(make_model: Make, precision: str) -> None:
    model = unmask.load(make_model(), precision=precision)
    (exact,) = unmask.load(make_model()).fill("The [MASK] sees.")
    (filled,) = model.fill("The [MASK] sees.")
    probabilities = [guess.probability for guess in filled.blanks[0]]
    assert probabilities == pytest.approx([guess.probability for guess in exact.blanks[0]], rel=0.1)
    assert (probabilities == [guess.probability for guess in exact.blanks[0]]) == (precision == "float32")


def test_a_device_that_is_not_there_and_an_unknown_precision_are_named(make_model: Make) -> None:
    with pytest.raises(BadInput, match="--device cuda:99: not on this machine"):
        unmask.load(make_model(), device="cuda:99").fill("[MASK]")
    with pytest.raises(BadInput, match="--precision int4: choose one of float32"):
        unmask.load(make_model(), precision="int4").fill("[MASK]")
    with pytest.raises(BadInput, match="nowhere: does not exist"):
        unmask.load("nowhere")
