"""Tuned runs are compared on the same examples: paired differences, and a test that knows chance."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import ttest_rel

import unmask
from unmask.console.pages import draw_result
from unmask.errors import BadInput, Damaged
from unmask.evaluation.tuned.answers import read_answers, write_answers
from unmask.evaluation.tuned.comparison import MEASURES, compare_tuned, p_value, paired_figure
from unmask.tasks.tune import TASKS


def judged_run(path: Path, scores: list[float], **changes: Any) -> Path:
    """A run as judging leaves it."""
    path.mkdir()
    result = {"task": "classify", "start": "model", "parameters": 7, "test": {"data": "test.jsonl"}, "test_sha256": "a"}
    (path / "tuned.json").write_text(json.dumps({**result, **changes}))
    write_answers(path, {"line": list(range(1, len(scores) + 1)), "score": scores})
    return path


def drawn(result: object) -> str:
    console = Console(file=io.StringIO(), width=100, record=True)
    console.print(draw_result(result))
    return console.export_text()


def test_the_interval_is_that_of_a_paired_t_and_narrower_than_of_two_samples(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    hard = draw.random(400) < 0.3
    one = (~hard | (draw.random(400) < 0.1)).astype(float)
    other = (~hard & (draw.random(400) < 0.95)).astype(float)
    compared = compare_tuned([judged_run(tmp_path / "a", one.tolist()), judged_run(tmp_path / "b", other.tolist())])
    (difference,) = compared.differences
    interval = ttest_rel(other, one).confidence_interval()
    figure = difference.difference
    assert (figure.low, figure.high) == pytest.approx((interval.low, interval.high))
    assert figure.value == pytest.approx((other - one).mean()) and difference.narrower is not None
    assert difference.narrower > 1.5
    assert (difference.only_this, difference.only_other) == ((other > one).sum(), (one > other).sum())


def test_what_is_compared_has_its_name_in_every_task(tmp_path: Path) -> None:
    assert MEASURES.keys() == TASKS.keys()
    for task, measure in MEASURES.items():
        (tmp_path / task).mkdir()
        compared = compare_tuned([judged_run(tmp_path / task / name, [1.0, 0.0], task=task) for name in "ab"])
        assert compared.measure == measure and f"run {measure} 95" in " ".join(drawn(compared).split())


def test_over_seeds_that_both_share_the_interval_is_that_of_a_paired_t_and_narrower(tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    luck = draw.normal(size=5) / 20
    tests = [luck + 0.8 + draw.normal(size=5) / 200, luck + 0.82 + draw.normal(size=5) / 200]
    paths = []
    for name, values in zip("ab", tests, strict=True):
        trials = [{"seed": seed, "test": value} for seed, value in enumerate(values.tolist())]
        paths.append(judged_run(tmp_path / name, [1.0, 0.0, 1.0], trials=[*trials, {"seed": 9, "test": None}]))
    (difference,) = compare_tuned(paths).differences
    assert difference.over_seeds is not None and difference.over_seeds.seeds == (0, 1, 2, 3, 4)
    figure, interval = difference.over_seeds.difference, ttest_rel(tests[1], tests[0]).confidence_interval()
    assert (figure.low, figure.high) == pytest.approx((interval.low, interval.high))
    assert difference.over_seeds.narrower is not None and difference.over_seeds.narrower > 3
    assert compare_tuned(paths, by_seed=True).differences == (difference,)
    seedless = judged_run(tmp_path / "c", [1.0, 0.0, 1.0])
    (alone,) = compare_tuned([paths[0], seedless]).differences
    assert alone.over_seeds is None
    with pytest.raises(BadInput, match=r"--paired: .*c and .*a share fewer than two seeds .*--seeds 3"):
        unmask.compare(*paths[:1], seedless, paired=True)


def test_chance_is_called_chance_as_often_as_it_should() -> None:
    draw = np.random.default_rng(1)
    for scores in (lambda: draw.integers(0, 2, 60).astype(float), lambda: draw.random(60)):
        p = np.array([p_value(scores() - scores()) for _ in range(120)])
        assert (p < 0.05).mean() <= 0.11 and 0.35 < p.mean() < 0.7
    assert p_value(np.full(20, 0.25)) < 1e-3


def test_one_example_tells_no_interval() -> None:
    assert np.isnan(paired_figure(np.array([1.0])).low)


def test_other_tasks_other_examples_and_runs_without_test_are_refused(tmp_path: Path) -> None:
    first = judged_run(tmp_path / "a", [1.0, 0.0])
    for name, changes, message in (
        ("task", {"task": "tag"}, "is tuned to tag"),
        ("test", {"test_sha256": "b"}, "another file"),
        ("none", {"test": None}, "was not judged on test examples; unmask tune classify --resume"),
    ):
        with pytest.raises(BadInput, match=message):
            compare_tuned([first, judged_run(tmp_path / name, [1.0, 0.0], **changes)])
    with pytest.raises(BadInput, match="not of the same examples"):
        compare_tuned([first, judged_run(tmp_path / "less", [1.0])])
    with pytest.raises(BadInput, match="compare it with what"):
        compare_tuned([first])
    (first / "answers.jsonl").write_text("{}\n")
    with pytest.raises(Damaged, match="cannot be read"):
        read_answers(first)


def test_the_command_compares_two_tuned_runs(
    inside: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    runs = [judged_run(tmp_path / name, scores) for name, scores in (("a", [1.0, 0.0, 0.0]), ("b", [1.0, 1.0, 0.0]))]
    done = inside("compare", *runs)
    assert done.returncode == 0 and "+33.3%" in done.stdout and "1 : 0" in done.stdout
    told = inside("compare", runs[0], tmp_path / "nowhere")
    assert told.returncode == 3 and "nowhere: does not exist" in told.stderr
    told = inside("compare", tmp_path)
    assert told.returncode == 2 and told.stderr.startswith("unmask: --data is missing: models are compared on held-out")
    assert f"unmask compare {tmp_path} --data DATA" in told.stderr
    assert unmask.compare(*runs).differences[0].only_this == 1
    told = inside("compare", *runs, "--data", tmp_path, "--paired")
    assert told.returncode == 3 and "--paired is of tuned runs" in told.stderr
