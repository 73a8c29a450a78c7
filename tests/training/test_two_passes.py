"""A loss over all examples of a step: the same however the step is cut up, and among how many processes."""

from __future__ import annotations

import json
from pathlib import Path

import coupled_step
import processes
import pytest
import torch
from coupled_step import CONTRAST, ROWS, Rows, build, one_step

from unmask.training.job import micro_batches_of
from unmask.training.machine.distributed import ALONE
from unmask.training.precision import FLOAT32
from unmask.training.step import micro_batch_seed
from unmask.training.sums import Sums
from unmask.training.timetable import Timetable
from unmask.training.two_passes import TwoPasses


def test_a_step_in_micro_batches_or_parts_has_the_loss_and_the_gradients_of_one_large_batch() -> None:
    whole = one_step(ROWS, ALONE)
    batch = micro_batches_of(Rows(Timetable(10)), 2)[0].batch
    learner = build()
    expected = CONTRAST.outcome(learner, batch).losses["rows"] / ROWS
    expected.backward()
    gradients = [number for p in learner.parameters() for number in p.grad.flatten().tolist()]  # type: ignore[union-attr]
    assert whole[0] == pytest.approx(expected.item(), abs=1e-6) and whole[1] == pytest.approx(gradients, abs=1e-5)
    for micro, splits in ((5, 1), (1, 1), (ROWS, 4), (5, 2)):
        loss, found, _ = one_step(micro, ALONE, splits=splits)
        assert loss == pytest.approx(whole[0], abs=1e-6) and found == pytest.approx(whole[1], abs=1e-5)


def test_a_sum_over_micro_batches_would_be_another_loss() -> None:
    parts = micro_batches_of(Rows(Timetable(10), 4), 2)
    summed = sum(CONTRAST.outcome(build(), part.batch).losses["rows"].item() for part in parts) / ROWS
    assert abs(summed - one_step(4, ALONE)[0]) > 0.1


@pytest.mark.parametrize("way", [[], ["reproducible"]])
def test_two_processes_have_the_loss_the_gradients_and_the_weights_of_one(way: list[str], tmp_path: Path) -> None:
    script = Path(coupled_step.__file__)
    done = processes.run(tmp_path / "said", 2, [str(tmp_path), "5", *way], script=script)
    assert done.returncode == 0, done.stderr
    loss, gradients, weights = one_step(5, ALONE)
    for rank in range(2):
        theirs = json.loads((tmp_path / f"rank-{rank}.json").read_text())
        assert theirs[0] == pytest.approx(loss, abs=1e-6)
        assert theirs[1] == pytest.approx(gradients, abs=1e-5) and theirs[2] == pytest.approx(weights, abs=1e-5)


def test_both_passes_draw_the_same_dropout() -> None:
    source = Rows(Timetable(10), 4)
    micro_batches = micro_batches_of(source, 2)
    learner = build(dropout=0.5)
    two_passes = TwoPasses(
        learner, CONTRAST, lambda each, nth: micro_batch_seed(0, each.number, nth), FLOAT32, alone=False
    )
    rows = two_passes.represent(micro_batches, 2)
    sums = Sums([CONTRAST])
    for each in micro_batches:
        sums.count(CONTRAST, each.batch)
    two_passes.compare(rows, micro_batches, [each.number for each in micro_batches], sums, ALONE)
    two_passes.propagate(micro_batches, None, 2)
    found = [p.grad.clone() for p in learner.parameters()]  # type: ignore[union-attr]
    learner.zero_grad()
    parts = []  # the same draws in one graph
    for each in micro_batches:
        for nth, part in enumerate(each.batch.cut(2)):
            torch.manual_seed(micro_batch_seed(0, each.number, nth))
            parts.append(CONTRAST.represent(learner, part))
    targets = torch.cat([torch.from_numpy(CONTRAST.targets(each.batch)) for each in micro_batches])
    (CONTRAST.joint_outcome(torch.cat(parts), targets).losses["rows"] / ROWS).backward()
    for gradient, parameter in zip(found, learner.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, atol=1e-6, rtol=1e-5)
