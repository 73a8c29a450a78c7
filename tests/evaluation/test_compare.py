"""Recipes are compared under one budget; what is stopped goes on, and what cannot be is said before it begins."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path

import pytest

import unmask
from unmask.errors import BadInput, Interrupted, Refused
from unmask.evaluation import compare as module
from unmask.evaluation.compare import compare
from unmask.evaluation.contenders import recipe_contender
from unmask.evaluation.intrinsic import evaluate
from unmask.planning.cost import cost_of
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.results import Comparison, to_plain
from unmask.runs.directory import read_description
from unmask.training.budget import Budget
from unmask.training.machine.computing import FASTEST, device_for
from unmask.training.machine.fastest import fastest_precision

NAMES = ("bert-tiny", "electra-tiny", "causal-tiny")
Compares = Callable[..., Comparison]


@pytest.fixture(scope="module")
def run(data: Path) -> Compares:
    def compared(out: Path, names: tuple[str, ...] = NAMES, **settings: object) -> Comparison:
        recipes = [recipe_named(name, length=32, batch_size=8) for name in names]
        budget = settings.pop("budget", Budget(tokens=3 * 8 * 32))
        return compare(data, out, recipes, budget, **settings)  # type: ignore[arg-type]

    return compared


@pytest.fixture(scope="module")
def whole(run: Compares, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return run(tmp_path_factory.mktemp("compare") / "out")


def test_each_recipe_has_the_same_budget_and_what_is_defined_for_it(whole: Comparison) -> None:
    bert, electra, causal = whole.runs
    assert [each.recipe for each in whole.runs] == list(NAMES)
    assert {each.steps for each in whole.runs} == {3} and len({each.tokens for each in whole.runs}) == 1
    assert causal.masked_loss is None and causal.hidden_bits_per_byte is None and not causal.text_bound
    assert bert.text_bits_per_byte is None and electra.text_bits_per_byte is None
    assert causal.text_bits_per_byte is not None
    assert causal.text_bits_per_byte.value == pytest.approx(causal.figures["bits_per_byte"], rel=1e-4)
    for each in whole.runs:
        assert set(each.probes) == {"order", "punctuation"}
        for probed in each.probes.values():
            assert probed.score.low <= probed.score.value <= probed.score.high
            assert probed.tested >= 20 and 0 <= probed.majority < 0.7


def test_losses_on_the_same_masks_are_compared_document_by_document(whole: Comparison) -> None:
    bert, electra, causal = whole.runs
    assert bert.beyond_first is None and causal.beyond_first is None
    assert bert.masked_loss is not None and electra.masked_loss is not None and electra.beyond_first is not None
    beyond = electra.beyond_first
    assert beyond.value == pytest.approx(electra.masked_loss.value - bert.masked_loss.value)
    assert beyond.low < beyond.value < beyond.high
    told = (whole.path / "README.md").read_text()
    assert "| beside bert-tiny, on the same tokens | masked loss |\n" in told
    assert f"\n| electra-tiny | {beyond.value:+.3f} (" in told


def test_recipes_are_trained_in_the_precision_that_pretrain_would_take_and_it_is_told(whole: Comparison) -> None:
    fastest = fastest_precision(FASTEST, device_for("auto"))
    for each in whole.runs:
        assert each.precision == fastest == read_description(each.run)["computing"]["precision"]


def test_a_precision_that_is_asked_for_is_kept(run: Compares, tmp_path: Path) -> None:
    (only,) = run(tmp_path / "out", ("bert-tiny",), precision="float32").runs
    assert only.precision == "float32"
    with pytest.raises(BadInput, match="--precision double: choose one of auto, float32"):
        run(tmp_path / "other", ("bert-tiny",), precision="double")
    assert not (tmp_path / "other").exists()


def test_masked_figures_are_those_of_evaluate_on_the_part_that_restores(whole: Comparison, data: Path) -> None:
    for each, part in zip(whole.runs, ("model", "generator"), strict=False):
        expected = evaluate(each.run / part, data, length=32)
        assert (each.masked_loss, each.masked_accuracy) == (expected.loss, expected.top1)


def test_the_directory_has_the_comparison_as_json_and_as_a_picture(whole: Comparison) -> None:
    assert json.loads((whole.path / "compare.json").read_text()) == to_plain(asdict(whole))
    assert whole.plot.read_bytes().startswith(b"\x89PNG")
    told = (whole.path / "README.md").read_text()
    loss = whole.runs[0].masked_loss
    assert loss is not None and f"| bert-tiny | {loss.value:.2f} (" in told and "| causal-tiny | – | – |" in told


def test_the_command_says_the_same_and_what_is_finished_is_only_read_again(
    whole: Comparison, data: Path, inside: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    words = ("--data", data, "--tokens", 3 * 8 * 32, "--length", 32, "--batch-size", 8, "--out", whole.path, "--resume")
    done = inside("compare", "--recipes", ", ".join(NAMES), *words, "--json")
    assert done.returncode == 0 and json.loads(done.stdout) == to_plain(asdict(whole))
    done = inside("compare", "--recipes", "bert-tiny,gpt5", *words)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "--recipe gpt5: there is no such recipe; kinds are" in done.stderr


def test_stopped_in_the_second_recipe_it_goes_on_without_the_first(
    run: Compares, whole: Comparison, tmp_path: Path, before_step: Callable[..., AbstractContextManager[None]]
) -> None:
    out, names = tmp_path / "out", NAMES[1:]
    trained: list[str] = []

    def note(learner: object) -> None:
        trained.append(type(learner).__name__)

    def stop_the_second(learner: object) -> None:
        note(learner)
        if len(trained) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    stopped = "stopped after step 2 of 3, which is saved; to go on: the same command with --resume"
    with before_step(1, stop_the_second), pytest.raises(Interrupted, match=stopped):
        run(out, names)
    assert trained == ["Pair", "GPT2LMHeadModel"]
    with before_step(2, note):
        again = run(out, names, resume=True)
        assert trained[2:] == ["GPT2LMHeadModel"]
        run(out, names, resume=True)
        assert len(trained) == 3
    assert [_by_itself(each) for each in again.runs] == [_by_itself(each) for each in whole.runs[1:]]
    with pytest.raises(Refused, match="cannot go on: --seed: the comparison has 0, asked for 1"):
        run(out, names, resume=True, seed=1)


def _by_itself(compared_run: object) -> dict[str, object]:
    other = {"seconds", "tokens_per_second", "run", "beyond_first"}  # of the clock, the place and the others
    return {name: value for name, value in to_plain(asdict(compared_run)).items() if name not in other}  # type: ignore[call-overload]


def test_asked_to_stop_between_two_measurements_it_stops_there(
    run: Compares, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated = module.intrinsic.evaluate

    def stop(*args, **more):
        os.kill(os.getpid(), signal.SIGINT)
        return evaluated(*args, **more)

    monkeypatch.setattr(module.intrinsic, "evaluate", stop)
    with pytest.raises(Interrupted, match=r"stopped after masks of bert-tiny, saved in .*; to go on: the same command"):
        run(tmp_path / "out", ("bert-tiny",))


def test_operations_become_as_many_steps_as_they_pay_for(data: Path) -> None:
    from unmask.tokens.store.dataset import Dataset

    dataset, small = Dataset.open(data), recipe_named("bert-tiny", length=32, batch_size=8)
    flops = 7.2 * cost_of(Pretraining.of(dataset, small)).a_step
    contender = recipe_contender(small, dataset, Path("out"), seed=0, budget=Budget(), flops=flops)
    assert contender.budget == Budget(steps=7)


def test_recipes_of_phrases_are_compared_at_once(data: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(data, tmp_path / "data"))
    recipes = [recipe_named(name, length=32, batch_size=8) for name in ("pmi-tiny", "ernie-tiny")]
    compared = compare(folder, tmp_path / "out", recipes, Budget(tokens=2 * 8 * 32))
    assert [each.steps for each in compared.runs] == [2, 2] and (folder / "entities.txt").exists()


@pytest.mark.parametrize(
    ("names", "settings", "line"),
    [
        (("bert-tiny", "bert-tiny"), {}, "--recipes: bert-tiny is named twice"),
        ((), {}, "nothing to compare: name runs or model directories, or give --recipes"),
        (("bert-tiny",), {"budget": Budget()}, "give one of --minutes, --tokens or --flops"),
        (("bert-tiny",), {"flops": 1e9}, "give one of --minutes, --tokens or --flops"),
        (("bert-tiny",), {"budget": Budget(), "flops": -1.0}, "--flops -1.0: give a number above 0"),
        (("bert-tiny", "xlm-r-tiny"), {}, "xlm-r-tiny: .*--languages file"),
        ((), {"models": [Path("nowhere")], "budget": Budget()}, "nowhere: does not exist"),
        ((), {"models": [Path("nowhere")]}, "a budget is for training"),
        ((), {"models": [Path("a"), Path("b/../a")], "budget": Budget()}, "a: is named twice"),
    ],
)
def test_what_cannot_be_compared_is_one_line_before_anything_is_trained(
    names: tuple[str, ...], settings: dict[str, object], line: str, run: Compares, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=line):
        run(tmp_path / "out", names, **settings)
    assert not (tmp_path / "out").exists()


def test_runs_that_exist_are_measured_as_those_that_are_trained_and_nothing_of_them_is_trained(
    run: Compares,
    whole: Comparison,
    data: Path,
    tmp_path: Path,
    before_step: Callable[..., AbstractContextManager[None]],
) -> None:
    models = [each.run for each in whole.runs]

    def fail(_learner: object) -> None:
        raise AssertionError("something is trained")

    with before_step(0, fail):
        again = run(tmp_path / "out", (), models=models, budget=Budget())
    assert [each.name for each in again.runs] == list(NAMES) and again.budget == {} and again.notes == ()
    for before, after in zip(whole.runs, again.runs, strict=True):
        assert not after.trained_here and after.same_data and after.same_tokenizer
        for figure in (
            "masked_loss", "masked_accuracy", "hidden_bits_per_byte", "text_bits_per_byte", "text_bound", "probes",
            "parameters", "steps", "tokens", "recipe",
        ):  # fmt: skip
            assert getattr(after, figure) == getattr(before, figure), (before.name, figure)
        assert after.seconds == pytest.approx(before.seconds, rel=0.2)
    assert "side by side" in (again.path / "README.md").read_text()


def test_a_model_from_elsewhere_stands_beside_a_recipe_by_its_bits_per_byte(
    run: Compares, whole: Comparison, make_model: Callable[..., Path], tmp_path: Path
) -> None:
    foreign = make_model("bert", "bpe")
    mixed = run(tmp_path / "out", ("bert-tiny",), models=[foreign, whole.runs[0].run])
    other, existing, trained = mixed.runs
    assert (other.name, existing.name, trained.name) == ("bert-bpe", "out/bert-tiny", "bert-tiny")
    assert other.masked_loss is None and other.masked_accuracy is None and not other.same_tokenizer
    assert other.hidden_bits_per_byte == evaluate(foreign, mixed.data, length=mixed.length).bits_per_byte
    assert (other.steps, other.tokens, other.seconds, other.recipe, other.same_data) == (None,) * 5
    assert set(other.probes) == set(trained.probes) and other.probes["order"].untrained != other.probes["order"].score
    assert existing.masked_loss == trained.masked_loss is not None and trained.trained_here
    told = (mixed.path / "README.md").read_text()
    assert "| bert-bpe | – | – | – |" in told and "hidden, bits a byte" in told
    assert [note.partition(":")[0] for note in mixed.notes] == ["budgets differ", "bert-bpe", "bert-bpe"]
    assert "bert-bpe not known" in mixed.notes[0]


def test_only_models_with_one_tokenizer_that_is_not_the_datas_compare_among_themselves(
    run: Compares, make_model: Callable[..., Path], tmp_path: Path
) -> None:
    models = [make_model("bert", "bpe"), make_model("roberta", "bpe")]
    result = run(tmp_path / "out", (), models=models, budget=Budget())
    assert all(each.masked_loss is not None and each.same_tokenizer for each in result.runs)


def test_rows_are_as_long_as_the_shortest_of_them_takes(
    run: Compares, data: Path, make_model: Callable[..., Path], tmp_path: Path
) -> None:
    short = make_model("bert", "wordpiece", max_position_embeddings=24)
    result = run(tmp_path / "out", ("bert-tiny",), models=[short])
    assert result.length == 24
    assert result.runs[1].masked_loss == evaluate(result.runs[1].run, data, length=24).loss


def test_a_model_that_cannot_be_compared_is_told_before_anything_is_trained(
    run: Compares, whole: Comparison, make_model: Callable[..., Path], tmp_path: Path
) -> None:
    detector = whole.runs[1].run / "model"
    with pytest.raises(BadInput, match=r"model: not a whole masked language model.*generator"):
        run(tmp_path / "out", ("bert-tiny",), models=[detector])
    writer = whole.runs[2].run / "model"
    with pytest.raises(BadInput, match="gpt2 is not a masked language model"):
        run(tmp_path / "out", ("bert-tiny",), models=[writer])
    assert not (tmp_path / "out").exists()
    model = tmp_path / "model"
    shutil.copytree(make_model("bert"), model)
    run(tmp_path / "out", (), models=[model], budget=Budget())
    other = make_model("bert", "wordpiece", initializer_range=0.1)
    shutil.copy(other / "model.safetensors", model)
    with pytest.raises(Refused, match=r"cannot go on: models.model: the comparison has"):
        run(tmp_path / "out", (), models=[model], budget=Budget(), resume=True)


def test_the_command_takes_runs_and_the_library_too(
    whole: Comparison, data: Path, tmp_path: Path, inside: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    bert = whole.runs[0]
    done = inside("compare", bert.run, "--data", data, "--out", tmp_path / "out", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["runs"][0]["name"] == "bert-tiny"
    result = unmask.compare(bert.run, data=data, out=tmp_path / "out", resume=True)
    assert result.runs[0].masked_loss == bert.masked_loss
    for words, line in (
        ((tmp_path / "none",), f"{tmp_path / 'none'}: does not exist"),
        ((), "nothing to compare: name runs"),
        ((bert.run, "--minutes", 3), "a budget is for training"),
        ((bert.run, bert.run), "is named twice"),
        ((tmp_path,), "holds no model"),
    ):
        failed = inside("compare", *words, "--data", data, "--out", tmp_path / "other")
        assert (failed.returncode, failed.stderr.count("\n")) == (3, 1) and line in failed.stderr
