"""What a model was asked before is not asked again, unless it has changed."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from unmask.tasks.asked_once import AskedOnce
from unmask.tasks.classify.export import calibrated
from unmask.tasks.classify.labelled import read_labelled
from unmask.tasks.classify.learning import classifying_of
from unmask.tasks.settings import TuneSettings
from unmask.training.machine.distributed import ALONE


def test_a_model_is_asked_again_after_any_change_of_its_weights_and_another_model_always() -> None:
    asked = AskedOnce[float]()
    model, other = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    answers = iter((1.0, 2.0, 3.0, 4.0))

    def ask(one: nn.Module) -> float:
        return asked(one, lambda: next(answers))

    assert ask(model) == ask(model) == 1.0
    with torch.no_grad():
        model.weight.add_(1)
    assert ask(model) == ask(model) == 2.0
    model.load_state_dict(other.state_dict())  # the running mean too, which is no parameter
    assert ask(model) == 3.0
    assert ask(other) == 4.0


def test_the_measurement_of_the_end_is_what_calibration_goes_by(start: Path, files: dict[str, Path]) -> None:
    train, dev = (read_labelled(files[name]) for name in ("train", "dev"))
    tuning = classifying_of(start, TuneSettings(), train, dev)
    learner, passes = tuning.learner(), []
    learner.register_forward_hook(lambda *_: passes.append(1))
    figures = tuning.held_out.measure(learner, None, ALONE)
    once = len(passes)
    card = calibrated(tuning.card, learner, tuning.held_out)
    assert once and len(passes) == once
    with torch.no_grad():
        next(learner.parameters()).mul_(1.5)
    assert tuning.held_out.measure(learner, None, ALONE) != figures and len(passes) == 2 * once
    assert calibrated(tuning.card, learner, tuning.held_out).temperature != card.temperature
