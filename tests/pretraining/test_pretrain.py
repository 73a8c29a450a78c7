"""A run from its start to its end, stopped, killed, damaged and resumed on the way."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import processes
import pytest
import torch

import unmask
from unmask.errors import BadInput, Damaged, Interrupted, Refused, Terminated
from unmask.inference.fill import fill_blanks
from unmask.models.load import load_model
from unmask.objectives.causal import Causal
from unmask.pretraining import pretrain
from unmask.pretraining.pretrain import Pretraining, uses_of
from unmask.pretraining.recipes import recipe_named
from unmask.pretraining.settings import Recipe
from unmask.results import Trained
from unmask.runs.directory import FORMAT, Run, open_run
from unmask.runs.history import read_history
from unmask.tokens.example import example_blank
from unmask.tokens.store.dataset import Dataset
from unmask.training import checkpoint, loop, run_job
from unmask.training.budget import Budget
from unmask.training.job import micro_batches_of
from unmask.training.machine.distributed import ALONE
from unmask.training.observer import Saving
from unmask.training.session import Session
from unmask.training.step import take_step

TINY = recipe_named("tiny")
DROPOUT = replace(TINY, settings=replace(TINY.settings, length=32, batch_size=8, micro_batch=4, dropout=0.1))
STEPS = 12
Interrupts = Callable[..., AbstractContextManager[None]]
EVERY_STEP = Saving(seconds=0, report=False)


def train(data: Path, out: Path, plan: Recipe = DROPOUT, *, resume: bool = False, steps: int = STEPS) -> Trained:
    return pretrain.pretrain(data, out, plan, Budget(steps=steps), resume=resume, saving=EVERY_STEP)


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The run that nothing happened to."""
    return train(data, tmp_path_factory.mktemp("whole") / "run")


def lines(run: Path) -> list[dict[str, Any]]:
    logged = list(Run(run, {}).read_log())
    for line in logged:
        for name in ("tokens_per_second", "waited"):
            line.pop(name, None)
    return logged


@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, Interrupted), (signal.SIGTERM, Terminated)])
def test_a_stopped_run_goes_on_to_the_same_weights(
    data: Path, tmp_path: Path, whole: Trained, interrupted: Interrupts, number: int, error: type[Exception]
) -> None:
    line = f"stopped after step 5 of 12, which is saved; to go on: unmask pretrain --resume {tmp_path}/run$"
    stopped = pytest.raises(error, match=line)
    with interrupted(5, number), stopped:
        train(data, tmp_path / "run")
    assert read_history(tmp_path / "run").stopped_in_order
    again = train(data, tmp_path / "run", resume=True)
    assert again.weights_sha256 == whole.weights_sha256
    assert lines(again.path) == lines(whole.path)


def test_a_killed_run_goes_on_to_the_same_weights(data: Path, tmp_path: Path, whole: Trained) -> None:
    script = tmp_path / "going_on.py"
    script.write_text(
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[3])\n"
        "import test_pretrain as here\n"
        "here.train(Path(sys.argv[1]), Path(sys.argv[2]), resume=True)"
    )
    run = tmp_path / "run"
    metrics = run / "metrics.jsonl"
    words = [str(data), str(run), str(Path(__file__).parent)]
    for at in (2, 7):
        started = processes.start(tmp_path / f"said-{at}", 1, words, script=script)
        deadline = time.monotonic() + 120
        while started.at_work and time.monotonic() < deadline:
            if metrics.exists() and f'"step": {at},' in metrics.read_text():
                break
            time.sleep(0.002)
        assert started.kill() == [True]  # while the next step is being taken, or the checkpoint being written
    again = train(data, run, resume=True)
    assert again.weights_sha256 == whole.weights_sha256
    assert lines(run) == lines(whole.path)


def test_a_full_disk_is_one_line_and_the_run_goes_on_when_there_is_space(
    data: Path, tmp_path: Path, whole: Trained, interrupted: Interrupts
) -> None:
    run = tmp_path / "run"
    with interrupted(5), pytest.raises(Interrupted):
        train(data, run)
    kept = sorted(each.name for each in (run / "checkpoints").iterdir())
    script = tmp_path / "full.py"
    script.write_text(
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[3])\n"
        "import test_pretrain as here\n"
        "from full_disk import limit_files\n"
        "from unmask.errors import NoSpace\n"
        "limit_files(100_000)\n"
        "try: here.train(Path(sys.argv[1]), Path(sys.argv[2]), resume=True)\n"
        "except NoSpace as error: sys.exit(f'{error.code} {error}')"
    )
    words = [str(data), str(run), str(Path(__file__).parent)]
    done = processes.run(tmp_path / "said", 1, words, script=script)
    assert done.stderr.startswith("7 ") and "step-0000006: the disk is full; make space" in done.stderr
    assert sorted(each.name for each in (run / "checkpoints").iterdir()) == kept
    assert train(data, run, resume=True).weights_sha256 == whole.weights_sha256


def test_a_damaged_checkpoint_is_passed_over_and_the_weights_still_come_out_the_same(
    data: Path, tmp_path: Path, whole: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr("unmask.training.checkpoint.say", said.append)
    train(data, tmp_path / "run")
    newest = max((tmp_path / "run" / "checkpoints").iterdir())
    weights = newest / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x00")
    again = train(data, tmp_path / "run", resume=True)
    assert again.weights_sha256 == whole.weights_sha256
    assert len(said) == 1 and str(weights) in said[0]


def test_a_checkpoint_of_another_model_is_refused_by_the_name_of_what_differs(data: Path, tmp_path: Path) -> None:
    train(data, tmp_path / "run", steps=2)
    for saved in (tmp_path / "run" / "checkpoints").iterdir():
        found = checkpoint.load(saved)
        wrong = {name: tensor[..., :1].clone() for name, tensor in found.model.items()}
        checkpoint.save(saved.parent, replace(found, model=wrong))
    with pytest.raises(Damaged, match=r"does not fit the model \(.*weight is"):
        train(data, tmp_path / "run", steps=2, resume=True)


def test_a_finished_run_resumed_gives_what_it_gave_and_neither_trains_nor_measures(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = train(data, tmp_path / "run", steps=2)
    metrics = (tmp_path / "run" / "metrics.jsonl").read_text()
    said: list[str] = []

    def work(*_args: object, **_more: object) -> None:
        raise AssertionError("worked on")

    for module in ("run_job", "observer"):
        monkeypatch.setattr(f"unmask.training.{module}.say", said.append)
    monkeypatch.setattr(loop, "take_step", work)
    with monkeypatch.context() as unmeasured:
        unmeasured.setattr(Session, "measure", work)
        assert train(data, tmp_path / "run", steps=2, resume=True) == first
    assert [line.partition(";")[0] for line in said] == ["already finished: 2 steps"]
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == metrics
    shutil.rmtree(tmp_path / "run" / "model")
    again = train(data, tmp_path / "run", steps=2, resume=True)
    assert (again.weights_sha256, again.loss) == (first.weights_sha256, first.loss)
    assert said[1] == "all 2 steps are taken; the model is measured and exported again"


def test_a_run_is_not_overwritten_without_resume(data: Path, whole: Trained) -> None:
    with pytest.raises(Refused, match="is not empty; add --resume"):
        train(data, whole.path)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"seed": 1}, "--seed: the run has 0, asked for 1"),
        ({"budget": Budget(steps=13)}, "--steps: the run has 12, asked for 13"),
        ({"recipe": recipe_named("bert-tiny")}, "--recipe: the run has tiny, asked for bert-tiny"),
        (
            {"recipe": replace(DROPOUT, settings=replace(DROPOUT.settings, rate="0.3"))},
            "--rate: the run has linear 0.3 0.15, asked for 0.3",
        ),
    ],
)
def test_resuming_with_other_settings_is_refused_by_name(
    data: Path, whole: Trained, change: dict[str, object], field: str
) -> None:
    asked = {"recipe": DROPOUT, "budget": Budget(steps=STEPS), **change}
    with pytest.raises(Refused, match=field):
        pretrain.pretrain(data, whole.path, resume=True, **asked)  # type: ignore[arg-type]


def test_resuming_with_other_data_is_refused_by_name(corpus: Path, tmp_path: Path, whole: Trained) -> None:
    other = unmask.prepare(corpus, out=tmp_path / "other", vocab_size=180).path
    with pytest.raises(Refused, match=r"cannot go on: data: the run has \w+…, asked for \w+…; "):
        train(other, whole.path, resume=True)


def test_a_run_of_another_version_is_refused_by_name(data: Path, tmp_path: Path) -> None:
    from unmask.files import seal_holds, with_seal

    train(data, tmp_path / "run", steps=1)
    file = tmp_path / "run" / "run.json"
    description = {k: v for k, v in json.loads(file.read_text()).items() if k != "seal"}
    file.write_text(json.dumps(with_seal({**description, "format": 99, "unmask": "9.9"})))
    assert seal_holds(json.loads(file.read_text()))
    with pytest.raises(Refused, match=r"made by unmask 9\.9 \(run format 99\)"):
        train(data, tmp_path / "run", steps=1, resume=True)


def test_a_second_process_in_the_same_run_is_refused(data: Path, tmp_path: Path) -> None:

    asked = {"format": FORMAT, "budget": None}
    refused = pytest.raises(Refused, match=r"another process .* is training here")
    with open_run(tmp_path / "run", asked, resume=False), refused:
        train(data, tmp_path / "run", resume=True)


def test_a_step_in_micro_batches_is_the_step_in_one_batch(data: Path) -> None:
    dataset = Dataset.open(data)
    gradients = []
    for micro in (8, 3, 1):
        plan = replace(TINY, settings=replace(TINY.settings, length=32, batch_size=8, micro_batch=micro))
        work = Session.begin(Pretraining.of(dataset, plan, 0).job(), STEPS)
        assert work.source.micro_batches == len(micro_batches_of(work.source, 0)) == -(-8 // micro)
        applied: list[torch.Tensor] = []

        def keep(*_args: object, work: Session = work, applied: list[torch.Tensor] = applied) -> None:
            applied.extend(p.grad.clone() for p in work.learner.parameters() if p.grad is not None)

        work.optimizer.step = keep  # type: ignore[method-assign]
        take_step(work.learner, work.optimizer, work.source, step=0)
        gradients.append(torch.cat([gradient.flatten() for gradient in applied]))
    scale = gradients[0].abs().max()
    assert (gradients[0] - gradients[1]).abs().max() < 1e-5 * scale
    assert (gradients[0] - gradients[2]).abs().max() < 1e-5 * scale


def test_a_resumed_run_keeps_the_plans_that_its_minutes_became(
    data: Path, tmp_path: Path, interrupted: Interrupts
) -> None:
    budget, checkpoints = Budget(minutes=0.1), tmp_path / "run" / "checkpoints"
    with interrupted(3), pytest.raises(Interrupted, match="stopped after step 3 of "):
        pretrain.pretrain(data, tmp_path / "run", DROPOUT, budget)
    stopped = checkpoint.newest(checkpoints)
    again = pretrain.pretrain(data, tmp_path / "run", DROPOUT, budget, resume=True)
    finished = checkpoint.newest(checkpoints)
    assert stopped is not None and finished is not None
    plans = finished.state["plans"]
    assert plans[: len(stopped.state["plans"])] == stopped.state["plans"]
    assert plans[-1][1] == finished.step == again.steps
    assert finished.state["spent"]["stepping"] > stopped.state["spent"]["stepping"] > 0


def test_the_model_loads_offline_in_stock_transformers(whole: Trained, data: Path) -> None:
    from transformers import AutoModelForMaskedLM, AutoTokenizer, pipeline
    from transformers.utils import logging

    logging.disable_progress_bar()
    model = AutoModelForMaskedLM.from_pretrained(whole.model, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(whole.model, local_files_only=True)
    text = f"The king {tokenizer.mask_token} the garden."
    every = pipeline("fill-mask", model=model, tokenizer=tokenizer)(text, top_k=200)
    theirs = [guess for guess in every if not guess["token_str"].startswith("##")][:5]  # ours never goes on with a word
    (ours,) = fill_blanks(load_model(whole.path), [text], top=5)
    probabilities = [guess.probability for guess in ours.blanks[0]]  # both computed in float32, summed in another order
    assert [guess["score"] for guess in theirs] == pytest.approx(probabilities, rel=1e-5)
    assert [guess["token_str"] for guess in theirs] == [guess.token for guess in ours.blanks[0]]
    card = (whole.model / "README.md").read_text()
    manifest = Dataset.open(data).manifest
    for fact in (
        f"{manifest['tokens']['train']:,} tokens",
        "policy `token`, rate `linear 0.3 0.15`",
        f"{whole.loss:.3f}",
    ):
        assert fact in card


def test_the_loss_falls(data: Path, tmp_path: Path) -> None:
    plan = replace(TINY, settings=replace(TINY.settings, length=64, batch_size=16))
    result = pretrain.pretrain(data, tmp_path / "run", plan, Budget(steps=150), saving=Saving(report=False))
    first = next(line["validation_loss"] for line in lines(result.path) if "validation_loss" in line)
    assert result.loss < 0.75 * first
    assert result.accuracy > 0.15


@pytest.mark.parametrize("policy", ["word", "span 0.7, token 0.3", "token until 0.5; collocation"])
def test_every_policy_that_hides_in_place_trains(data: Path, tmp_path: Path, policy: str) -> None:
    phrases = tmp_path / "phrases.txt"
    phrases.write_text("the capital of France\nbread and butter\n")
    settings = replace(DROPOUT.settings, policy=policy, rate="0.2", phrases=str(phrases))
    result = train(data, tmp_path / "run", replace(DROPOUT, settings=settings), steps=4)
    rates = [line["hidden_rate"] for line in lines(result.path) if "hidden_rate" in line]
    assert len(rates) == 4 and 0.1 < min(rates) <= max(rates) < 0.3
    assert sum(rates) / 4 == pytest.approx(0.2, abs=0.025)


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        (
            "sentinel",
            "--policy sentinel: the objective mlm learns from what collocation, entity, masked-permutation, ngram",
        ),
        ("entity kind=verse", "has none of that kind: give --phrases"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_policy_that_does_not_fit_is_one_clear_line(data: Path, tmp_path: Path, policy: str, line: str) -> None:
    plan = replace(DROPOUT, settings=replace(DROPOUT.settings, policy=policy))
    with pytest.raises(BadInput, match=line):
        train(data, tmp_path / "run", plan)
    assert not (tmp_path / "run").exists()  # so that the command, put right, finds a free place


def test_a_tokenizer_of_another_kind_than_was_published_is_told(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(pretrain, "say", said.append)
    for name in ("tiny", "roberta-tiny"):
        train(data, tmp_path / name, recipe_named(name, length=32, batch_size=4), steps=1)
    assert len(said) == 1 and "roberta was published with a bpe tokenizer" in said[0] and "wordpiece" in said[0]


def test_a_recipe_of_phrases_trains_on_any_data_at_once_and_says_what_it_mined(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(pretrain, "say", said.append)
    folder = Path(shutil.copytree(data, tmp_path / "data"))
    for name in ("pmi-tiny", "ernie-tiny"):
        plan = recipe_named(name, length=32, batch_size=4)
        assert train(folder, tmp_path / name, plan, steps=3).steps == 3
    assert "collocations mined, kept in" in said[0]
    assert "collocations from" in said[1] and str(folder / "collocations.txt") in said[1]


def test_a_run_goes_on_with_the_mined_list_it_began_with_and_with_no_other(
    data: Path, tmp_path: Path, interrupted: Callable[..., AbstractContextManager[None]]
) -> None:
    folder = Path(shutil.copytree(data, tmp_path / "data"))
    plan = recipe_named("pmi-tiny", length=32, batch_size=4)
    whole = train(folder, tmp_path / "whole", plan, steps=4)
    with interrupted(2), pytest.raises(Interrupted):
        train(folder, tmp_path / "run", plan, steps=4)
    mined = (folder / "collocations.txt").read_bytes()
    (folder / "collocations.txt").write_text("bread and butter\n")
    with pytest.raises(Refused, match="cannot go on: --phrases, or a list in the data: the run has"):
        train(folder, tmp_path / "run", plan, steps=4, resume=True)
    (folder / "collocations.txt").unlink()  # then it is mined again, the same
    resumed = train(folder, tmp_path / "run", plan, steps=4, resume=True)
    assert resumed.weights_sha256 == whole.weights_sha256 and (folder / "collocations.txt").read_bytes() == mined


def test_one_language_is_told_and_trained_on(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(pretrain, "say", said.append)
    unmask.prepare(corpus, out=tmp_path / "data", languages="file", vocab_size=300, valid=0.1)
    plan = recipe_named("xlm-r-tiny", length=32, batch_size=4)
    assert train(tmp_path / "data", tmp_path / "run", plan, steps=1).steps == 1
    assert "has one language, text: there is nothing to sample; for one language there is --recipe roberta" in said[-1]


def test_signals_are_left_alone_in_a_thread(data: Path, tmp_path: Path) -> None:
    results: list[Trained] = []
    thread = threading.Thread(target=lambda: results.append(train(data, tmp_path / "run", steps=2)))
    thread.start()
    thread.join()
    assert results[0].steps == 2


def test_the_settings_of_a_pretraining_are_read_once(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: Counter[str] = Counter()
    phrases = tmp_path / "phrases.txt"
    phrases.write_text("the capital of France\n")

    def counted(place: object, name: str) -> None:
        read = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *args, **more: counts.update([name]) or read(*args, **more))

    for place, name in ((pretrain, "parse_schedule"), (pretrain, "parse_curriculum"), (pretrain, "read_phrases")):
        counted(place, name)
    settings = replace(DROPOUT.settings, policy="collocation", rate="0.2", phrases=str(phrases))
    pretrain.pretrain(data, tmp_path / "run", replace(DROPOUT, settings=settings), Budget(minutes=0.02))
    assert counts == {"parse_schedule": 1, "parse_curriculum": 1, "read_phrases": 1}


def test_a_learner_may_come_from_a_model_directory_as_well_as_fresh(data: Path, tmp_path: Path, whole: Trained) -> None:
    pretraining = Pretraining.of(Dataset.open(data), DROPOUT)
    again = replace(pretraining.job(), build=lambda fresh=True: load_model(whole.path).model)
    fresh, loaded = (Session.begin(job, 4).measure(None, ALONE)["loss"] for job in (pretraining.job(), again))
    assert loaded == pytest.approx(whole.loss, rel=1e-5) and fresh > loaded + 0.1
    finished = run_job.run_job(again, tmp_path / "run", Budget(steps=4), saving=EVERY_STEP)
    assert finished.steps == 4 and (tmp_path / "run" / "model" / "config.json").exists()


def test_what_is_suggested_is_a_sentence_of_the_users_own_text(data: Path, whole: Trained) -> None:
    fill, evaluate = whole.next
    *command, text = shlex.split(fill)
    assert (command, text) == (["unmask", "fill", str(whole.path)], example_blank(data))
    assert shlex.split(evaluate)[2:] == [str(whole.path), str(data)]
    assert unmask.watch(whole.path, once=True).next == whole.next
    assert f'("{text}")' in (whole.model / "README.md").read_text()
    assert unmask.fill(whole.path, text)[0].blanks


@pytest.mark.parametrize(
    ("recipe", "verbs"),
    [("diffusion-tiny", ["generate", "fill", "evaluate"]), ("causal-tiny", ["generate"]), ("t5-tiny", ["fill"])],
)
def test_a_run_that_writes_suggests_that_and_what_is_suggested_runs(
    data: Path, tmp_path: Path, recipe: str, verbs: list[str], inside: Callable[..., Any]
) -> None:
    trained = unmask.pretrain(data, out=tmp_path / "run", recipe=recipe, steps=1, length=32, batch_size=2, report=False)
    assert [shlex.split(command)[1] for command in trained.next] == verbs
    done = inside(*shlex.split(trained.next[0])[1:], "--json")
    assert done.returncode == 0, done.stderr


def test_an_encoder_that_learned_from_left_to_right_suggests_no_writing() -> None:
    assert uses_of(Causal(), "gpt2")[0].startswith("unmask generate")
    assert uses_of(Causal(), "bert") == ()  # transformers' own class would let it see what it is to write


@pytest.mark.parametrize("family", ["bert", "modernbert", "roberta"])
def test_stock_transformers_cuts_a_long_text_where_the_model_ends(family: str, data: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    small = recipe_named(f"{family}-tiny", length=32, batch_size=4, micro_batch=4)
    run = pretrain.pretrain(data, tmp_path / "run", small, Budget(steps=1), saving=Saving(report=False))
    tokenizer = AutoTokenizer.from_pretrained(run.model, local_files_only=True)
    text = tokenizer("the king sees the garden " * 50, truncation=True, return_tensors="pt")
    assert text["input_ids"].shape == (1, 32)
    model = AutoModelForMaskedLM.from_pretrained(run.model, local_files_only=True)
    assert model(**text).logits.isfinite().all()


SCHEDULED = replace(DROPOUT, settings=replace(DROPOUT.settings, length="32 until 0.5; 128"))


@pytest.mark.parametrize("stopped_at", [3, 8])
def test_a_run_whose_blocks_become_longer_goes_on_to_the_same_weights(
    data: Path, tmp_path: Path, interrupted: Interrupts, stopped_at: int
) -> None:
    uninterrupted = train(data, tmp_path / "whole", SCHEDULED)
    with interrupted(stopped_at, signal.SIGINT), pytest.raises(Interrupted):
        train(data, tmp_path / "run", SCHEDULED)
    again = train(data, tmp_path / "run", SCHEDULED, resume=True)
    assert again.weights_sha256 == uninterrupted.weights_sha256
    assert lines(again.path) == lines(uninterrupted.path)


@pytest.mark.parametrize("family", ["bert", "modernbert"])
@pytest.mark.parametrize(("steps", "length"), [(1, 32), (6, 128)])
def test_a_model_is_said_to_take_what_it_was_trained_on(
    family: str, steps: int, length: int, data: Path, tmp_path: Path
) -> None:
    from transformers import AutoConfig, AutoTokenizer

    plan = recipe_named(f"{family}-tiny", length="32 until 0.5; 128", batch_size=8, micro_batch=4)
    run = train(data, tmp_path / "run", plan, steps=steps)
    assert AutoTokenizer.from_pretrained(run.model, local_files_only=True).model_max_length == length
    assert AutoConfig.from_pretrained(run.model, local_files_only=True).max_position_embeddings == 128
    assert "32 until 0.5; 128 tokens" in (run.model / "README.md").read_text()
