"""A run's model at its moments is the model of then, and fills as it did."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import Module

import unmask
from unmask.errors import BadInput, Damaged
from unmask.inference.ask import Question, ask
from unmask.inference.moments import MomentModels, model_at_step
from unmask.models.load import LoadedModel, load_model

TEXT = "The king sees the [MASK] in winter."


def test_the_last_moment_fills_as_the_model_does_and_the_first_does_not(kept_run: Path) -> None:
    first, last, exported = (unmask.fill(kept_run, TEXT, **which)[0] for which in ({"step": 0}, {"step": 10}, {}))
    assert last == exported and first.blanks != last.blanks


def test_a_run_without_moments_has_its_model(kept_run: Path, tmp_path: Path) -> None:
    shutil.copytree(kept_run / "model", tmp_path / "model")
    models = MomentModels.open(tmp_path)
    assert [moment.names for moment in models.moments] == [("as exported",)]
    assert models.at(models.moments[0]).model is models.loaded.model


def test_a_run_that_has_no_model_yet_is_asked_at_its_moments_and_says_the_same_when_it_is_finished(
    data: Path, tmp_path: Path, inside: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    run = tmp_path / "run"
    unmask.pretrain(data, out=run, recipe="tiny", steps=2, keep_moments=True)
    steps = [moment.step for moment in MomentModels.open(run).moments]
    finished = [unmask.fill(run, TEXT, step=step)[0] for step in steps]
    shutil.rmtree(run / "model")
    assert [unmask.fill(run, TEXT, step=step)[0] for step in steps] == finished and len(steps) > 1
    refused = inside("fill", run, TEXT)
    assert refused.returncode == 3 and "has no model yet" in refused.stderr
    config = json.loads((run / "shape" / "config.json").read_text())
    (run / "shape" / "config.json").write_text(json.dumps(config | {"hidden_size": 1 << 20}))
    with pytest.raises(Damaged, match="describes no model of these files"):
        unmask.fill(run, TEXT, step=steps[0])


def test_what_is_built_from_its_shape_is_the_exported_model_to_the_bit_but_for_where_its_weights_lie(
    kept_run: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(kept_run, run)
    (run / "model").rename(run / "shape")
    (run / "shape" / "model.safetensors").unlink()
    shaped, exported = model_at_step(run, 10), load_model(kept_run / "model")
    for named in (Module.named_parameters, Module.named_buffers):
        ours, theirs = dict(named(shaped.model)), dict(named(exported.model))
        assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert not any(module.training for lm in (shaped, exported) for module in lm.model.modules())
    assert shaped.model.get_output_embeddings().weight is shaped.model.get_input_embeddings().weight
    questions = [Question(np.arange(6, 9 + more), np.array([1])) for more in range(8)]

    def answers(lm: LoadedModel) -> list[Tensor]:
        return [log_probabilities for _, log_probabilities in sorted(ask(lm, questions), key=lambda each: each[0])]

    # a file's weights lie in memory as they lie in the file, at odd places, where sums are rounded otherwise
    assert all((one - two).abs().max() < 1e-5 for one, two in zip(answers(shaped), answers(exported), strict=True))
    for parameter in exported.model.parameters():
        parameter.data = parameter.data.clone()
    assert all(torch.equal(one, two) for one, two in zip(answers(shaped), answers(exported), strict=True))


def test_weights_that_a_run_has_let_go_are_forgotten(kept_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(kept_run, run)
    models = MomentModels.open(run)
    for moment in models.moments:
        models.at(moment)
    shutil.rmtree(run / "moments" / "step-0000000")
    assert len(models.remembered) == 3 and len(models.with_moments().remembered) == 2


def test_weights_of_what_was_trained_around_the_model_are_found(kept_run: Path, tmp_path: Path) -> None:
    from unmask.training.checkpoint import Checkpoint, load_weights, save

    weights = load_weights(kept_run / "moments" / "step-0000005")
    shutil.copytree(kept_run / "model", tmp_path / "model")
    inside = {f"model.{name}": tensor for name, tensor in weights.items()}
    save(tmp_path / "moments", Checkpoint(5, inside | {"head.weight": next(iter(weights.values())).clone()}, {}, {}))
    assert unmask.fill(tmp_path, TEXT, step=5)[0].blanks == unmask.fill(kept_run, TEXT, step=5)[0].blanks


def test_what_cannot_be_asked_is_said(
    kept_run: Path, tmp_path: Path, inside: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    refused = inside("fill", kept_run, TEXT, "--step", 7)
    assert (refused.returncode, refused.stdout) == (3, "") and "kept 0, 5, 10" in refused.stderr
    run = tmp_path / "run"
    shutil.copytree(kept_run, run)
    weights = run / "moments" / "step-0000005" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(Damaged, match="is not the file that was saved"):
        unmask.fill(run, TEXT, step=5)
    shutil.rmtree(run / "model")
    with pytest.raises(BadInput, match="has no model yet"):
        MomentModels.open(run)


def test_a_step_is_part_of_what_is_asked_for(kept_run: Path, inside: Callable[..., object]) -> None:
    done = inside("fill", kept_run, TEXT, "--step", 5, "--json")
    (wanted,) = unmask.fill(kept_run, TEXT, step=5)
    assert json.loads(done.stdout)["blanks"][0][0]["token"] == wanted.blanks[0][0].token  # type: ignore[attr-defined]
