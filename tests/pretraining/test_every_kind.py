"""Every kind of recipe, tiny: its loss falls, it is exported as it is, and it goes on exactly where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers.utils import logging

import golden
import unmask
from unmask.corruption.rate import parse_rate
from unmask.errors import BadInput, Interrupted
from unmask.models.heads import load_boundary_head
from unmask.objectives.causal import Causal
from unmask.pretraining import pretrain as pretrains
from unmask.pretraining.batches import BlockRange
from unmask.pretraining.pretrain import Pretraining, pretrain
from unmask.pretraining.recipes import KINDS, recipe_named
from unmask.pretraining.settings import Recipe
from unmask.pretraining.validation import measure_objective
from unmask.results import Trained
from unmask.tokens.held_out import HeldOutSet
from unmask.tokens.store.dataset import Dataset
from unmask.training import checkpoint, loop
from unmask.training import session as sessions
from unmask.training.budget import Budget
from unmask.training.job import ValidationSample, micro_batches_of
from unmask.training.observer import Saving
from unmask.training.optimizer import Optimizing
from unmask.training.session import Session
from unmask.training.timetable import Timetable

STEPS, STOPPED = 24, 10
SHORTENED = {"modernbert", "diffusion", "causal-then-mlm"}  # trained as ModernBERT on a CPU: see `models.kernels`


@dataclass(frozen=True)
class Expected:
    """The class of transformers that loads it, and what its own objectives log of a step and of held-out text."""

    model: str
    logged: frozenset[str] = frozenset({"accuracy"})
    held_out: frozenset[str] = frozenset()


BERTS = {
    "bert-wwm",
    "roberta",
    "ernie",
    "xlm-r",
    "xlm-r-xl",
    "pmi",
}  # stop and go on as bert does: same objective, same loop
DETECTION = frozenset(
    {"mlm_loss", "detection_loss", "generator_accuracy", "detection_accuracy", "detection_recall", "detection_auc"}
)
EXPECTED = {
    "modernbert": Expected("ModernBertForMaskedLM"),
    "bert": Expected("BertForMaskedLM"),
    "bert-wwm": Expected("BertForMaskedLM"),
    "roberta": Expected("RobertaForMaskedLM"),
    "ernie": Expected("ErnieForMaskedLM"),
    "xlm-r": Expected("XLMRobertaForMaskedLM"),
    "xlm-r-xl": Expected("XLMRobertaXLForMaskedLM"),
    "pmi": Expected("BertForMaskedLM"),
    "causal": Expected("GPT2LMHeadModel", held_out=frozenset({"bits_per_byte"})),
    "diffusion": Expected("ModernBertForMaskedLM", held_out=frozenset({"bits_per_byte"})),
    "causal-then-mlm": Expected("ModernBertForMaskedLM"),
    "spanbert": Expected(
        "BertForMaskedLM",
        logged=frozenset({"accuracy", "boundary_accuracy", "mlm_loss", "boundary_loss"}),
        held_out=frozenset({"mlm_loss", "boundary_loss", "boundary_accuracy"}),
    ),
    "deberta": Expected("DebertaV2ForMaskedLM"),
    "electra": Expected("ElectraForPreTraining", logged=DETECTION, held_out=DETECTION),
    "deberta-v3": Expected("DebertaV2ForTokenClassification", logged=DETECTION, held_out=DETECTION),
    "xlnet": Expected("XLNetLMHeadModel", held_out=frozenset({"accuracy"})),
    "mpnet": Expected("MPNetForMaskedLM"),
    "t5": Expected(
        "T5ForConditionalGeneration",
        logged=frozenset({"accuracy", "spans_restored"}),
        held_out=frozenset({"accuracy", "spans_restored"}),
    ),
}

Trains = Callable[..., Trained]


@pytest.fixture(scope="module", autouse=True)
def _small_validations() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sessions, "USUAL_SAMPLE", ValidationSample(0.01, 512, 512))
        yield


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recipe]:
    """A kind's recipe, tiny, with phrases for those that hide them."""
    phrases = tmp_path_factory.mktemp("phrases") / "phrases.txt"
    phrases.write_text("the capital of France\nbread and butter\nsince the beginning of the year\n")
    settings = {"length": 32, "batch_size": 8, "micro_batch": 4, "phrases": str(phrases), "dropout": 0.1}
    return lambda kind: recipe_named(f"{kind}-tiny", **settings)


@pytest.fixture(scope="module")
def fitting(data: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The data of a kind: the small corpus, or, where languages are sampled, its halves as if each were one."""

    @cache
    def halves() -> Path:
        folder = tmp_path_factory.mktemp("halves")
        texts = corpus.read_text(encoding="utf-8").split("\n\n")
        (folder / "en.txt").write_text("\n\n".join(texts[:250]), encoding="utf-8")
        (folder / "xx.txt").write_text("\n\n".join(texts[250:]).lower(), encoding="utf-8")
        unmask.prepare(folder, out=folder / "data", languages="file", vocab_size=300, valid=0.1)
        return folder / "data"

    return lambda kind: halves() if KINDS[kind].settings.get("smoothing") else data


@pytest.fixture(scope="module")
def train(fitting: Callable[[str], Path], plan: Callable[[str], Recipe]) -> Trains:
    """Train a kind to its end in a directory of its own, or go on with what is there."""

    def run(kind: str, out: Path, *, resume: bool = False) -> Trained:
        return pretrain(fitting(kind), out, plan(kind), Budget(steps=STEPS), resume=resume, saving=Saving(report=False))

    return run


@pytest.fixture(scope="module")
def trained(train: Trains, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Trained]:
    """The run of a kind that nothing happened to."""
    return cache(lambda kind: train(kind, tmp_path_factory.mktemp(kind) / "run"))


def logged(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_one_model_learns_from_both_sides_and_from_the_left(family: str, data: Path) -> None:
    plan = recipe_named(f"{family}-tiny", objective="mlm 0.5, causal 0.5", length=32, batch_size=8, micro_batch=2)
    session = Session.begin(Pretraining.of(dataset := Dataset.open(data), plan).job(), STEPS)
    text = HeldOutSet.of(dataset.split("valid"), dataset.vocabulary, length=32, policy=None)
    before, lines = measure_objective(session.learner, Causal(), text).loss, list[dict[str, float]]()
    loop.train(
        session.learner,
        session.optimizer,
        session.source,
        position=loop.Position(),
        after_step=lambda _, figures: lines.append(figures),
    )
    assert measure_objective(session.learner, Causal(), text).loss < 0.97 * before
    # of the micro-batches of a step
    causal = [each.objective.name for each in session.source.plan_step(0)].count("causal") / 4
    assert lines[0]["loss"] == pytest.approx(causal * lines[0]["causal_loss"] + (1 - causal) * lines[0]["mlm_loss"])
    assert {"mlm_accuracy", "causal_accuracy", "causal_bits_per_token"} <= lines[0].keys()


def test_the_stages_of_a_training_follow_their_objectives(data: Path) -> None:
    plan = recipe_named("causal-then-mlm-tiny", length=32, batch_size=8, micro_batch=4)
    feed = Pretraining.of(Dataset.open(data), plan).feed(Timetable(40))
    named = ["".join({each.objective.name for each in feed.plan_step(step)}) for step in range(40)]
    assert named == ["causal"] * 10 + ["mlm"] * 30
    last, first = (micro_batches_of(feed, step)[0].batch for step in (9, 10))
    assert not len(last.targets) and len(first.targets)


@pytest.mark.parametrize(
    ("kind", "changes", "line"),
    [
        ("causal", {"policy": "span"}, "--policy span: the objective causal takes text as it is; leave --policy out"),
        ("diffusion", {"policy": "token"}, "--policy token: the objective diffusion learns from what diffusion hide"),
        ("bert", {"policy": "sentinel"}, "--policy sentinel: the objective mlm learns from what collocation, entity"),
        (
            "ernie",
            {"policy": "entity kind=verse"},
            "policy 'verse' hides spans, .* give --phrases, a file with a phrase",
        ),
    ],
)
def test_what_does_not_fit_is_one_line_with_what_does(
    kind: str, changes: dict[str, str], line: str, data: Path, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=line):
        pretrain(data, tmp_path / "run", recipe_named(f"{kind}-tiny", **changes), Budget(steps=2))
    assert not (tmp_path / "run").exists()


def test_every_kind_is_expected_here() -> None:
    assert EXPECTED.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", EXPECTED)
def test_the_held_out_loss_falls_and_the_own_figures_are_logged(kind: str, trained: Callable[[str], Trained]) -> None:
    result = trained(kind)
    lines = logged(result.path)
    steps = [line for line in lines if "loss" in line]
    held_out = [line for line in lines if "validation_loss" in line]
    assert len(steps) == STEPS and not any("skipped" in line for line in steps)
    assert held_out[-1]["validation_loss"] < 0.995 * held_out[0]["validation_loss"]  # on the same masks
    assert all(EXPECTED[kind].logged <= line.keys() for line in steps)
    assert all({f"validation_{name}" for name in EXPECTED[kind].held_out} <= line.keys() for line in held_out)


@pytest.mark.parametrize("kind", [kind for kind in EXPECTED if kind != "causal"])
def test_a_micro_batch_that_hides_nothing_has_a_loss_and_gradients_that_are_numbers(
    kind: str, fitting: Callable[[str], Path], plan: Callable[[str], Recipe]
) -> None:
    pretraining = Pretraining.of(Dataset.open(fitting(kind)), plan(kind))
    batches = pretraining.batches()
    batch = replace(batches, masking=replace(batches.masking, rate=parse_rate("0"))).batch(BlockRange(0, 2, True, 0.9))
    assert not len(batch.targets)
    learner = pretraining.learner()
    outcome = pretraining.objective.outcome(learner, batch)
    sum(outcome.losses.values()).backward()
    assert all(loss.item() == 0 for term, loss in outcome.losses.items() if term != "detection")
    assert all(weight.grad.isfinite().all() for weight in learner.parameters() if weight.grad is not None)


@pytest.mark.parametrize("kind", EXPECTED)
def test_its_losses_are_yesterdays(
    kind: str, trained: Callable[[str], Trained], request: pytest.FixtureRequest
) -> None:
    numbers = golden.numbers_of(trained(kind).path)
    if request.config.getoption("--record-golden"):
        golden.record(kind, numbers)
    assert golden.difference(numbers, kind) < 1


@pytest.mark.parametrize(
    "change",
    [
        {"rate": "linear 0.29 0.15"},
        {"optimizing": Optimizing(adamw_lr=3.03e-3)},
        {"dropout": 0.101},
        {"policy": "word"},
        {"seed": 1},
    ],
    ids=["a rate", "a learning rate", "dropout", "the masks", "the initial values and the order"],
)
def test_another_computation_has_other_losses(change: dict[str, Any], data: Path, tmp_path: Path) -> None:
    settings = {"length": 32, "batch_size": 8, "micro_batch": 4, "dropout": 0.1, **change}
    seed = settings.pop("seed", 0)
    other = recipe_named("bert-tiny", **settings)
    run = pretrain(data, tmp_path / "run", other, Budget(steps=STEPS), seed=seed, saving=Saving(report=False))
    assert golden.difference(golden.numbers_of(run.path), "bert") > 20


def test_one_other_initial_value_has_other_losses(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: Callable[[str], Recipe]
) -> None:
    built = pretrains.build_model

    def build(*args: Any, **kwargs: Any) -> transformers.PreTrainedModel:
        model = built(*args, **kwargs)
        model.get_input_embeddings().weight.data[50:60] *= 1.05
        return model

    monkeypatch.setattr(pretrains, "build_model", build)
    run = pretrain(data, tmp_path / "run", plan("bert"), Budget(steps=STEPS), saving=Saving(report=False))
    assert golden.difference(golden.numbers_of(run.path), "bert") > 5


@pytest.mark.parametrize("kind", [kind for kind in EXPECTED if kind not in BERTS])
def test_a_stopped_run_goes_on_to_the_same_weights(
    kind: str,
    train: Trains,
    trained: Callable[[str], Trained],
    tmp_path: Path,
    interrupted: Callable[..., AbstractContextManager[None]],
) -> None:
    stopped = pytest.raises(Interrupted, match=f"stopped after step {STOPPED} of {STEPS}")
    with interrupted(STOPPED), stopped:
        train(kind, tmp_path / "run")
    assert train(kind, tmp_path / "run", resume=True).weights_sha256 == trained(kind).weights_sha256


@pytest.mark.parametrize("kind", EXPECTED)
def test_what_is_exported_loads_in_its_stock_class_and_says_the_same(
    kind: str, fitting: Callable[[str], Path], plan: Callable[[str], Recipe], trained: Callable[[str], Trained]
) -> None:
    logging.disable_progress_bar()
    result = trained(kind)
    pretraining = Pretraining.of(Dataset.open(fitting(kind)), plan(kind))
    session = Session.begin(pretraining.job(), STEPS)
    saved = checkpoint.newest(result.path / "checkpoints")
    assert saved is not None
    session.restore(saved)
    ours = pretraining.objective.exports(session.learner)["model"].model.eval()
    stock = getattr(transformers, EXPECTED[kind].model)
    theirs, told = stock.from_pretrained(result.model, local_files_only=True, output_loading_info=True)
    assert type(theirs) is type(ours) is stock
    assert not any(told[name] for name in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    ids = torch.randint(5, 300, (3, 17), generator=torch.Generator().manual_seed(0))
    inputs = {"input_ids": ids} | ({"decoder_input_ids": ids} if ours.config.is_encoder_decoder else {})
    for weight in theirs.parameters():  # a file's bytes may lie so that a product adds up in another order
        weight.data = weight.data.clone()
    assert all(torch.equal(weight, ours.get_parameter(name)) for name, weight in theirs.named_parameters())
    with torch.no_grad():
        said, says = ours(**inputs)[0], theirs.eval()(**inputs)[0]
    if kind in SHORTENED:  # our layers add up in another order
        torch.testing.assert_close(said, says, rtol=1e-5, atol=1e-5)
    else:
        assert torch.equal(said, says)
    card = (result.model / "README.md").read_text()
    assert f"pipeline_tag: {pretraining.objective.card.pipeline}" in card and f"{result.loss:.3f}" in card


@pytest.mark.parametrize("kind", ["xlnet", "t5"])
def test_the_example_on_the_card_runs_where_the_model_is(
    kind: str,
    trained: Callable[[str], Trained],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    logging.disable_progress_bar()
    result = trained(kind)
    example = (result.model / "README.md").read_text().split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(result.model)
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip()


def test_the_boundary_head_beside_spanbert_is_the_one_that_was_trained(trained: Callable[[str], Trained]) -> None:
    result = trained("spanbert")
    saved = checkpoint.newest(result.path / "checkpoints")
    assert saved is not None
    for name, tensor in load_boundary_head(result.model).state_dict().items():
        assert torch.equal(tensor, saved.model[f"boundary.{name}"])
