"""Several rates, seeds and folds: every trial is a run, the best on dev is kept, and what is done is not done again."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import unmask
from unmask.errors import BadInput, Interrupted, Refused
from unmask.files import sha256_of

SMALL = {"epochs": 6, "precision": "float32", "save_seconds": 0.0}


@pytest.fixture(scope="module")
def tried(start: Path, files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> unmask.Tuned:
    out = tmp_path_factory.mktemp("tried") / "run"
    places = {"dev": files["dev"], "test": files["test"]}
    return unmask.tune("classify", start, files["train"], out=out, lr="1e-6,3e-3", seeds=2, **places, **SMALL)


def weights(run: Path) -> str:
    return sha256_of(run / "model" / "model.safetensors")


def test_the_rate_and_the_seed_that_do_best_on_dev_are_kept(tried: unmask.Tuned) -> None:
    names = [trial.name for trial in tried.trials]
    assert names == ["lr-1e-06", "lr-0.003", "seed-1"]
    slow, fast, *others = tried.trials
    assert fast.dev > slow.dev and all(trial.lr == 3e-3 for trial in others) and tried.lr == 3e-3
    best = max((fast, *others), key=lambda trial: trial.dev)
    assert weights(tried.path) == weights(best.path) == tried.weights_sha256
    assert tried.figures["accuracy"] == best.dev


def test_the_test_figure_of_a_trial_is_of_what_its_own_model_says(tried: unmask.Tuned, files: dict[str, Path]) -> None:
    records = [json.loads(line) for line in files["test"].read_text().splitlines()]
    judged = [trial for trial in tried.trials if trial.test is not None]
    assert len(judged) == 2
    for trial in judged:
        said = unmask.load(trial.path).predict(*(record["text"] for record in records))
        right = [one.label == record["label"] for one, record in zip(said, records, strict=True)]
        assert trial.test == pytest.approx(sum(right) / len(right))


def test_the_spread_over_seeds_is_that_of_the_trials_on_test(tried: unmask.Tuned) -> None:
    tests = [trial.test for trial in tried.trials if trial.test is not None]
    assert tried.spread is not None and tried.spread.seeds == len(tests) == 2
    assert tried.spread.mean == pytest.approx(sum(tests) / 2)
    assert (tried.spread.least, tried.spread.most) == (min(tests), max(tests))
    assert tried.test is not None and tried.test.accuracy.value in tests
    assert json.loads((tried.path / "tuned.json").read_text())["spread"]["seeds"] == 2


def test_stopped_in_a_trial_it_goes_on_with_that_one(
    tried: unmask.Tuned,
    start: Path,
    files: dict[str, Path],
    tmp_path: Path,
    interrupted: Callable[..., AbstractContextManager[None]],
) -> None:
    run = tmp_path / "run"
    places = {"dev": files["dev"], "test": files["test"]}
    with interrupted(7), pytest.raises(Interrupted, match="to go on: unmask tune classify --resume"):
        unmask.tune("classify", start, files["train"], out=run, lr="1e-6,3e-3", seeds=2, **places, **SMALL)
    assert [trial.name for trial in (run / "trials").iterdir()] == ["lr-1e-06"] and not (run / "model").exists()
    again = unmask.tune("classify", resume=run)
    assert again.weights_sha256 == tried.weights_sha256 and again.spread == tried.spread
    models = [*run.rglob("model.safetensors")]
    times = [file.stat().st_mtime_ns for file in models]
    unmask.tune("classify", resume=run)
    assert [file.stat().st_mtime_ns for file in models] == times


def test_few_examples_are_judged_by_folds(start: Path, files: dict[str, Path], tmp_path: Path) -> None:
    settings = {**SMALL, "lr": 3e-3}
    result = unmask.tune("classify", start, files["train"], out=tmp_path / "run", **settings)
    assert [trial.name for trial in result.trials] == [f"fold-{number}" for number in range(1, 6)]
    assert result.folds is not None and result.test is None
    assert result.folds.examples == 160 and result.folds.accuracy.value > 0.8
    assert {baseline.name for baseline in result.folds.baselines} == {"majority", "TF-IDF", "frozen vectors"}
    tested = unmask.tune("classify", resume=tmp_path / "run", test=files["test"])
    assert tested.test is not None and tested.test.examples == 60 and tested.folds == result.folds
    again = unmask.tune("classify", resume=tmp_path / "run")  # which knows its test set now
    assert again.test == tested.test and again.measured_before == tested.measured_before
    with pytest.raises(BadInput, match="is a tuning to classify; unmask tune classify --resume"):
        unmask.tune("tag", resume=tmp_path / "run")
    with pytest.raises(Refused, match=rf"^{tmp_path / 'run'}: cannot go on: --epochs"):
        unmask.tune("classify", resume=tmp_path / "run", epochs=3)
    one = unmask.tune("classify", start, files["train"], out=tmp_path / "one", folds=0, **{**SMALL, "epochs": 1})
    assert one.folds is None and not one.trials


def test_what_cannot_be_tried_is_told(start: Path, files: dict[str, Path], tmp_path: Path) -> None:
    def tune(**settings: object) -> unmask.Tuned:
        return unmask.tune("classify", start, files["train"], out=tmp_path / "run", **settings)  # type: ignore[arg-type]

    with pytest.raises(BadInput, match="--lr fast: give a number"):
        tune(lr="fast")
    with pytest.raises(BadInput, match="--seeds -1: give 1 or more"):
        tune(seeds=-1)
    with pytest.raises(BadInput, match="--seeds 0: give 1 or more"):
        tune(seeds=0)
    with pytest.raises(BadInput, match="--folds 1: give 2 or more"):
        tune(folds=1)
    with pytest.raises(BadInput, match="--folds 100: 160 examples are too few"):
        tune(folds=100)
    with pytest.raises(BadInput, match="--length 0: give 1 or more"):
        tune(length=0)
    assert not (tmp_path / "run").exists()


def test_a_directory_of_trials_is_not_begun_again(tried: unmask.Tuned, start: Path, files: dict[str, Path]) -> None:
    with pytest.raises(Refused, match="is not empty; add --resume"):
        unmask.tune("classify", start, files["train"], out=tried.path, lr="1e-6,3e-3", seeds=2)
    with pytest.raises(Refused, match="--seeds: the run has 2, asked for 5"):
        unmask.tune("classify", resume=tried.path, seeds=5)
