"""A model moves into a domain within its budget of forgetting; it stops, goes on, and is a stock model in the end."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForMaskedLM, pipeline

import unmask
from unmask.errors import BadInput, Interrupted, Refused
from unmask.files import sha256_of

DOMAIN = "the tenant shall pay the rent to the landlord on the first day of the month under clause {} of the lease ."


@pytest.fixture(scope="module")
def start(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("start") / "run"
    unmask.pretrain(data, out=out, recipe="tiny", steps=12, keep_moments=True)
    return out


@pytest.fixture(scope="module")
def domain(start: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("domain")
    text = "\n\n".join(" ".join(DOMAIN.format(7 * n + k) for k in range(4)) for n in range(120))
    (folder / "lease.txt").write_text(text)
    unmask.prepare(folder / "lease.txt", out=folder / "data", tokenizer=str(start / "model"), valid=0.1)
    return folder / "data"


def adapt(start: Path, domain: Path, out: Path, **more: Any) -> unmask.Adapted:
    settings = {"steps": 20, "lr": 3e-3, "length": 32, "batch_size": 8, "precision": "float32", "save_seconds": 0.0}
    return unmask.adapt(start, domain, out=out, **{**settings, **more})


@pytest.fixture(scope="module")
def adapted(start: Path, domain: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> unmask.Adapted:
    return adapt(start, domain, tmp_path_factory.mktemp("adapted") / "run", replay=data, replay_share=0.1, forget=0.5)


def test_the_domain_is_learnt_and_no_more_is_forgotten_than_may_be(adapted: unmask.Adapted) -> None:
    assert adapted.after["loss"] < adapted.before["loss"] - 0.5 and 0 < adapted.kept < 1
    first, kept = adapted.mixtures[0], next(each for each in adapted.mixtures if each.share == adapted.kept)
    assert first.general_loss is not None and kept.general_loss is not None
    assert kept.general_loss - first.general_loss <= 0.5
    within = [each for each in adapted.mixtures if (each.general_loss or 0) - first.general_loss <= 0.5]
    assert kept.loss == min(each.loss for each in within)
    kept_file = json.loads((adapted.path / "adapted.json").read_text())
    assert kept_file["kept"] == adapted.kept and adapted.why.startswith("kept ")


def test_before_and_after_are_known_with_their_intervals(adapted: unmask.Adapted) -> None:
    for text, name in ((adapted.domain, "loss"), (adapted.general, "general_loss")):
        assert text is not None
        assert text.before.value == pytest.approx(adapted.before[name]) and text.after.low < text.after.value
        assert text.change.value == pytest.approx(adapted.after[name] - adapted.before[name])
        assert text.change.low < text.change.value < text.change.high
        assert text.bits_change.value == pytest.approx(text.bits_after.value - text.bits_before.value)
        assert text.fertility_before == text.fertility_after > 1
    assert adapted.domain.change.high < 0 < adapted.general.change.low  # type: ignore[union-attr]


def test_its_report_shows_the_trade_off_and_what_it_makes_of_the_domain(adapted: unmask.Adapted) -> None:
    page = (adapted.path / "report.html").read_text()
    for said in (
        "Before and after, on all held-out text",
        "Mixtures of before and after",
        "--forget 0.5",
        "bits a byte",
    ):
        assert said in page
    heads = page[: page.index("<section>")]
    kept = f"domain: loss of what is kept, {adapted.kept:.0%} of the way"
    assert f"{adapted.domain.after.value:.3f}" in heads and kept in heads  # before what the last step came to
    assert heads.index(kept) < heads.index("all that is held out, after the last step")
    assert {each.term for each in adapted.neighbours} & {"tenant", "landlord", "lease", "clause"}
    for fill in adapted.fills:
        assert "[MASK]" in fill.text and len(fill.before) == len(fill.after) == 3 and fill.text in page


def test_what_was_trained_and_adapted_shows_held_out_sentences_as_it_fills_them(
    start: Path, adapted: unmask.Adapted
) -> None:
    fills = json.loads((start / "fills.json").read_text(encoding="utf-8"))
    steps = [moment["step"] for moment in fills["moments"]]
    assert steps[0] == 0 and steps[-1] == 12 and len(steps) == 11
    sentence = fills["sentences"][0]
    (begin, end), text = sentence["words"][2], sentence["text"]
    for at, step in ((0, 0), (-1, 12)):
        (filled,) = unmask.fill(start, text[:begin] + "[MASK]" + text[end:], step=step)
        assert sentence["fills"][at][2][0][0] == filled.blanks[0][0].token
    assert unmask.fill(start, "The [MASK] sees.", step=12)[0].blanks == unmask.fill(start, "The [MASK] sees.")[0].blanks
    for run in (start, adapted.path):
        assert 'class="filled"' in (run / "report.html").read_text(encoding="utf-8")


def test_nothing_may_be_forgotten_is_the_start_or_better(start: Path, domain: Path, data: Path, tmp_path: Path) -> None:
    strict = adapt(
        start, domain, tmp_path / "run", replay=data, replay_share=0.0, forget=0.0, steps=8, whole_budget=True
    )
    losses = {each.share: each.general_loss for each in strict.mixtures}
    assert losses[strict.kept] is not None and losses[0.0] is not None
    assert losses[strict.kept] <= losses[0.0]  # type: ignore[operator]
    assert strict.ended is None and strict.steps == 8
    if strict.kept == 0:
        assert strict.why.startswith("kept the model as it was: no mixture does better in the domain and forgets")


def test_stopped_on_the_way_it_goes_on_to_the_same_weights(
    adapted: unmask.Adapted,
    start: Path,
    domain: Path,
    data: Path,
    tmp_path: Path,
    interrupted: Callable[..., AbstractContextManager[None]],
) -> None:
    assert adapted.ended is not None and adapted.ended.startswith("ended after 4 of 20 steps: general text lost ")
    with interrupted(3), pytest.raises(Interrupted, match="to go on: unmask adapt --resume"):
        adapt(start, domain, tmp_path / "run", replay=data, replay_share=0.1, forget=0.5)
    again = unmask.adapt(resume=tmp_path / "run")
    assert again.weights_sha256 == adapted.weights_sha256 and again.ended == adapted.ended
    with pytest.raises(Refused, match=r"--forget: the run has 0\.5, asked for 0\.2"):
        unmask.adapt(resume=tmp_path / "run", forget=0.2)


def test_it_is_a_stock_model_that_says_what_it_is(adapted: unmask.Adapted, start: Path) -> None:
    _, report = AutoModelForMaskedLM.from_pretrained(adapted.model, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    fill = pipeline("fill-mask", model=str(adapted.model))
    assert fill(f"the tenant shall pay the {fill.tokenizer.mask_token} .")
    card = (adapted.model / "README.md").read_text()
    assert "adapted to data" in card and "| general loss |" in card and adapted.why[1:] in card
    assert (adapted.model / "tokenizer.json").read_text() == (start / "model" / "tokenizer.json").read_text()


def test_a_stock_directory_is_adapted_too(make_model: Callable[..., Path], tmp_path: Path, corpus: Path) -> None:
    model = make_model("bert")
    unmask.prepare(corpus, out=tmp_path / "data", tokenizer=str(model))
    result = adapt(model, tmp_path / "data", tmp_path / "run", steps=4)
    assert result.kept > 0 and "general_loss" not in result.before and "not known" in result.why
    assert sha256_of(result.model / "model.safetensors") == result.weights_sha256


def test_what_cannot_be_adapted_is_told_in_one_line(
    start: Path,
    domain: Path,
    data: Path,
    bare: Path,
    tmp_path: Path,
    inside: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    with pytest.raises(BadInput, match="--forget: what is forgotten shows on general text only; give some by --replay"):
        adapt(start, domain, tmp_path / "run", forget=0.1)
    with pytest.raises(BadInput, match=r"is in other tokens than .*; `unmask prepare TEXT --out DATA --tokenizer"):
        adapt(start, bare, tmp_path / "run")
    with pytest.raises(BadInput, match=r"--replay-share 1\.5: give a share"):
        adapt(start, domain, tmp_path / "run", replay=data, replay_share=1.5)
    with pytest.raises(BadInput, match="--length 4096: this model takes rows of"):
        adapt(start, domain, tmp_path / "run", length=4096)
    with pytest.raises(BadInput, match="is a run of another kind; unmask pretrain --resume"):
        unmask.adapt(resume=start)
    assert not (tmp_path / "run").exists()
    done = inside("adapt", start)
    assert done.returncode == 2 and "adapt where?" in done.stderr and len(done.stderr.splitlines()) == 1


def test_its_page_has_both_losses_and_the_mixtures(
    adapted: unmask.Adapted, inside: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = inside("adapt", "--resume", adapted.path)
    assert done.returncode == 0
    for said in ("domain loss", "general bits a byte", "before", "after", "kept", "of the way", "unmask fill"):
        assert said in done.stdout
    assert max(map(len, done.stdout.splitlines()[:-4])) <= 80


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data in tokens of its own."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "lease.txt").write_text("\n\n".join(DOMAIN.format(n) for n in range(60)))
    unmask.prepare(folder / "lease.txt", out=folder / "data", vocab_size=90)
    return folder / "data"
