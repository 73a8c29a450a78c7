"""The benchmarks answer, and what they compare is what they say it is; their figures are in docs/performance.md."""

from __future__ import annotations

import doctest
import importlib
import json
import runpy
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode

from unmask.pretraining.recipes import recipe_named
from unmask.tokens.prepare import prepare
from unmask.tokens.store.dataset import Dataset

FOLDER = Path(__file__).parent.parent / "benchmarks"
SCRIPTS = (
    "ablation",
    "adapting",
    "beginnings",
    "corpus",
    "cpu_layers",
    "embedding",
    "explaining",
    "families",
    "few",
    "filling",
    "html_text",
    "joint",
    "kinds",
    "limits",
    "live_view",
    "loader",
    "long_runs",
    "long_texts",
    "memory",
    "overhead",
    "pages",
    "policies",
    "precision",
    "samples",
    "scaling",
    "scoring",
    "searching",
    "step",
    "time_to_loss",
    "tuning",
    "tuning_speed",
)


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch):
    """A module of the benchmarks by name, as a script there imports it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    known = set(sys.modules)

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    yield load
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
            del sys.modules[name]


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_says_what_it_does(
    script: str, part, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [script, "--help"])
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(FOLDER / f"{script}.py"), run_name="__main__")
    assert left.value.code in (0, None)
    assert "usage" in capsys.readouterr().out.lower()
    assert f"benchmarks/{script}.py" in (FOLDER / f"{script}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    [
        *("adapting", "equal_operations", "live_view", "time_to_loss", "samples", "scaling", "searching"),
        *("tuning", "tuning_speed"),
    ],
)
def test_their_examples_hold(name: str, part) -> None:
    ran = doctest.testmod(part(name))
    assert ran.attempted and not ran.failed


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Dataset:
    out = tmp_path_factory.mktemp("benchmarks") / "data"
    prepare([str(corpus)], out, vocab_size=300)
    return Dataset.open(out)


def test_the_rival_reads_all_texts_in_a_row_each_between_its_special_tokens(dataset: Dataset, part) -> None:
    rows = part("rival").Grouped(dataset).rows
    tokenizer = dataset.tokenizer()
    whole = np.concatenate([tokenizer(text)["input_ids"] for text in dataset.texts("train")])
    assert rows.shape == (len(whole) // 128, 128)
    np.testing.assert_array_equal(rows.ravel(), whole[: rows.size])


def test_recording_the_rival_with_fewer_logits_changes_neither_loss_nor_gradients(dataset: Dataset, part) -> None:
    differences = part("rival").agrees(dataset)
    assert differences["largest gradient"] > 1e-2
    assert max(differences["loss"], differences["gradient"]) < 1e-5


def test_the_rival_s_bfloat16_is_its_trainer_s_own(dataset: Dataset, part) -> None:
    rival, kinds = part("rival"), []
    for bf16 in (False, True):
        plan = rival.Plan(steps=1, rows=2, who="informed", bf16=bf16)
        trainer = rival.trainer_of(dataset, plan, lambda _: None)
        product = next(module for module in trainer.model.modules() if isinstance(module, torch.nn.Linear))
        product.register_forward_hook(lambda _, __, outcome: kinds.append(outcome.dtype))
        trainer.train()
    assert kinds == [torch.float32, torch.bfloat16]


def test_theirs_is_given_its_faster_precision_and_ours_what_auto_chose(part) -> None:
    seconds = {"theirs float32": [3.0, 3.1], "theirs bfloat16": [2.0, 9.0], "ours float32": [1.0, 1.0]}
    seconds |= {"ours bfloat16": [2.0, 2.0], "chosen": "bfloat16"}
    assert part("time_to_loss").fastest_sides(seconds) == ("theirs float32", "ours bfloat16")
    seconds["theirs bfloat16"] = [2.0, 2.0]
    assert part("time_to_loss").fastest_sides(seconds) == ("theirs bfloat16", "ours bfloat16")


def test_what_is_counted_before_the_first_step_is_counted_each_time(dataset: Dataset, part, tmp_path: Path) -> None:
    from unmask.pretraining.informed import kept_vectors

    module = part("time_to_loss")
    setting = module.Setting(
        data=dataset.path,
        out=tmp_path,
        recipe=recipe_named("tiny"),
        short=1,
        long=2,
        who="informed",
        plain=False,
        recording=True,
    )
    for _ in range(2):
        assert module.seconds_to_begin(setting) > 0
        assert (kept_vectors.cache_info().hits, kept_vectors.cache_info().misses) == (0, 1)


@pytest.mark.slow
def test_a_trial_is_done_once_and_has_the_same_operations_as_others(dataset: Dataset, part, tmp_path: Path) -> None:
    module = part("equal_operations")
    trial = partial(module.Trial, data=dataset.path, share=2 / module.STEPS)
    one, other = trial(recipe=recipe_named("tiny")), trial(recipe=recipe_named("tiny", policy="word"))
    assert one.name != other.name and other.figures(tmp_path, recording=False) is None
    figures = one.figures(tmp_path)
    (file,) = tmp_path.iterdir()  # nothing is left of the work
    before = file.stat().st_mtime_ns
    assert figures["steps"] == 2 and one.figures(tmp_path) == figures and file.stat().st_mtime_ns == before
    assert figures["masked_loss"]["value"] < module.unigram_loss(dataset.path, 128) + 1
    assert figures["flops"] == pytest.approx(2 * module.default_operations(dataset.path, "tiny") / module.STEPS)


def test_attentions_work_is_counted_alike_whoever_computes_it(part) -> None:
    query, key, value = (torch.randn(2, 3, 32, 16, requires_grad=True) for _ in range(3))
    found = {}
    for backend in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
        with sdpa_kernel(backend), FlopCounterMode(display=False, custom_mapping=part("step").UNCOUNTED) as counter:
            outcome = scaled_dot_product_attention(query, key, value)
            forward = counter.get_total_flops()
            outcome.sum().backward()
            found[backend] = forward, counter.get_total_flops() - forward
    again = found[SDPBackend.MATH][0] // 2  # the fused one computes the scores a second time on the way back
    assert found[SDPBackend.FLASH_ATTENTION][0] == found[SDPBackend.MATH][0] == 2 * 2 * 2 * 3 * 32 * 32 * 16
    assert found[SDPBackend.FLASH_ATTENTION][1] == found[SDPBackend.MATH][1] + again


def test_contenders_take_turns(part, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from pathlib import Path\ndef write(turn, file, name):\n    while True:\n        turn()\n"
    code += "        with Path(file).open('a') as out: out.write(name)\n"
    (tmp_path / "writing.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    write = importlib.import_module("writing").write
    contenders = {name: partial(write, file=str(tmp_path / "turns"), name=name) for name in "ab"}
    seconds = part("turns").race(contenders, rounds=2, warm=1, threads=1)
    assert {name: len(each) for name, each in seconds.items()} == {"a": 2, "b": 2}
    assert (tmp_path / "turns").read_text(encoding="utf-8") == "ababab"


def test_the_bigram_judge_and_the_bigram_sampler_are_one_model(part) -> None:
    bigrams = part("samples").Bigrams([[1, 2, 3, 2], [2, 3]], size=5, start=0)
    sample = bigrams.draw(20, np.random.default_rng(0), pairs=True)
    expected = -sum(np.log(bigrams.after(before)[token]) for before, token in zip([0, *sample], sample, strict=False))
    assert bigrams.nats(sample) == pytest.approx(expected)


def test_a_measure_that_ranks_trivial_text_above_a_model_is_said_to_have_failed(part) -> None:
    samples = part("samples")
    texts = {"real": [[1, 2, 3, 4, 1, 2]], "unigram": [[1, 1, 1, 1, 1, 1]], "diffusion": [[1, 2, 3, 4, 5, 6]]}
    judges = {"likes ones": lambda sample: float(sum(token != 1 for token in sample))}
    rows = [samples.measure(name, None, text, judges, "", str) for name, text in texts.items()]
    assert samples.failures(rows) == ["likelihood by likes ones alone failed: unigram ranks above real, diffusion"]


def test_rankings_of_words_are_measured_on_the_same_texts_and_the_random_one_is_the_floor(
    part, tmp_path: Path, make_model
) -> None:
    import unmask

    records = [
        {"text": f"nobody {verb} the {word} {when}.", "label": label}
        for label, words in (("animal", ("cat", "dog")), ("place", ("river", "sea")))
        for word in words
        for verb in ("sees", "likes", "paints", "wants", "follows")
        for when in ("again", "in winter", "at night", "every day")
    ]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    start = make_model("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.1)
    run = tmp_path / "run"
    unmask.tune("classify", start, tmp_path / "train.jsonl", out=run, folds=0, epochs=25, lr=1e-3, precision="float32")
    found = part("explaining").compare(run, [record["text"] for record in records[::5]])
    assert len(found) == 5
    for measures in found.values():
        assert [len(values) for values in measures.values()] == [16] * 4
    name = "comprehensiveness, words replaced"
    floor = found["random"][name].mean()
    for way in ("replaced (unmask)", "deleted", "integrated gradients"):
        assert found[way][name].mean() > 1.5 * floor


def test_few_labels_are_learnt_three_ways_on_the_same_draws_and_differences_are_paired(
    part, tmp_path: Path, make_model, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [
        {"text": f"nobody {verb} the {word} {when}.", "label": label}
        for word, label in (("cat", "animal"), ("river", "place"), ("dog", "animal"), ("sea", "place"))
        for verb in ("sees", "likes", "paints")
        for when in ("again", "in winter")
    ]
    for name in ("train", "test"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    start, files = make_model("bert", hidden_dropout_prob=0.0), (tmp_path / "train.jsonl", tmp_path / "test.jsonl")
    module = part("few")
    for _ in range(2):  # the second time nothing is left to do
        module.main(start, *files, few=2, draws=2, texts=10, out=tmp_path / "out")
        said = capsys.readouterr().out
        assert "2 examples of each of 2 labels, 2 draws, 10 test texts" in said
        assert [line.split()[0] for line in said.splitlines()[1:]] == ["head", "pairs", "patterns"]
        assert said.count("to the head") == 2
    assert len(list((tmp_path / "out" / "few-2" / "draws").glob("*.json"))) == 6


def test_an_alternative_of_a_long_run_changes_what_it_says_and_nothing_else(part) -> None:
    long_runs = part("long_runs")
    usual = recipe_named("mini")
    assert long_runs.ALTERNATIVES["default"].recipe("mini") == usual
    for name, alternative in long_runs.ALTERNATIVES.items():
        changed = alternative.recipe("mini")
        assert (changed == usual) == (name == "default"), name
        tokens = round(1_800 / alternative.blocks) * changed.settings.tokens_a_step
        assert tokens == 1_800 * usual.settings.tokens_a_step, name
    windows = long_runs.ALTERNATIVES["windows-32"].recipe("mini")
    assert windows.size.window == 32 and windows.settings == usual.settings
    before = long_runs.ALTERNATIVES["before"].recipe("mini").settings.optimizing
    assert before == replace(
        usual.settings.optimizing, muon_lr=0.03, adamw_lr=0.003, decay=0.25, fall="root", full_steps=None
    )


@pytest.mark.slow
def test_a_long_run_that_is_killed_goes_on_to_the_same_end(
    dataset: Dataset, part, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = part("long_runs")
    monkeypatch.setattr(module, "SAVED", 1)
    run = module.LongRun(name="default", recipe="tiny", data=dataset.path, steps=4, seed=0, precision="float32")
    whole = run.run(tmp_path / "whole")
    save = module.Session.save

    def killed(self, folder: Path, position, keep: int) -> None:
        save(self, folder, position, keep)
        if position.step == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(module.Session, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        run.run(tmp_path / "killed")
    monkeypatch.setattr(module.Session, "save", save)
    again = run.run(tmp_path / "killed")
    assert again["loss"] == whole["loss"] and [*again["on the way"]] == [3, 4] and not (tmp_path / "killed").exists()


def test_a_beginning_is_tried_once_with_constants_of_its_own_which_are_gone_afterwards(
    dataset: Dataset, part, tmp_path: Path
) -> None:
    beginnings = part("beginnings")
    usual = dict(beginnings.neighbours.STARTS), beginnings.cooccurrence.OFFSETS
    losses = set()
    for changes in ({}, {"heads": {"peak": 90.0}}, {"vectors": {"OFFSETS": {1: 1.0}}}, {"window": 4}):
        trial = beginnings.Trial(recipe="tiny", steps=1, **changes)
        recorded = trial.figures(dataset.path, tmp_path, "float32", recording=True)
        assert trial.figures(dataset.path, tmp_path, "float32", recording=False) == recorded
        losses.add(recorded[0]["loss"])
    assert len(losses) == 4
    assert (dict(beginnings.neighbours.STARTS), beginnings.cooccurrence.OFFSETS) == usual
