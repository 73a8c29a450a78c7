"""Whatever fits a model can adapt it: other objectives, shards, the moment before decay, a task after a domain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForMaskedLM, AutoModelForPreTraining, ElectraForPreTraining

import unmask
from unmask.adapting.fitting import Fitting
from unmask.adapting.settings import AdaptSettings
from unmask.adapting.stages import moment_before_decay
from unmask.adapting.start import AdaptStart
from unmask.errors import BadInput
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.load import load_tokenizer, save_tokenizer
from unmask.training.checkpoint import load as load_checkpoint


@pytest.fixture(scope="module")
def prepared(make_model: Callable[..., Path], corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("prepared") / "data"
    unmask.prepare(corpus, out=out, tokenizer=str(make_model("bert")), valid=0.02)
    return out


def adapt(start: Path, domain: Path | None, out: Path, **more: Any) -> unmask.Adapted:
    settings = {"steps": 2, "lr": 1e-3, "length": 16, "batch_size": 2, "precision": "float32", **more}
    return unmask.adapt(start, *([] if domain is None else [domain]), out=out, **settings)


def test_other_objectives_adapt_a_model_that_they_fit(
    make_model: Callable[..., Path], prepared: Path, tmp_path: Path
) -> None:
    first = adapt(make_model("bert"), prepared, tmp_path / "causal", objective="causal until 0.5; mlm")
    assert first.steps == 2 and AutoModelForMaskedLM.from_pretrained(first.model)
    for objective, beside in (("spans", {"boundary.safetensors"}), ("retromae", set()), ("tsdae", set())):
        other = adapt(make_model("bert"), prepared, tmp_path / objective, objective=objective)
        assert {file.name for file in other.model.glob("*.safetensors")} == {"model.safetensors", *beside}
    with pytest.raises(
        BadInput, match="--objective causal: what is adapted ends as mlm, replaced, spans, retromae, tsdae or"
    ):
        adapt(make_model("bert"), prepared, tmp_path / "run", objective="causal")
    with pytest.raises(BadInput, match="--objective replaced: is for an ELECTRA that tells replaced tokens"):
        adapt(make_model("bert"), prepared, tmp_path / "run", objective="replaced")


def test_an_electra_learns_from_replaced_tokens_with_the_generator_beside_it(
    make_model: Callable[..., Path], prepared: Path, tmp_path: Path
) -> None:
    generator = make_model("electra")
    run = tmp_path / "electra"
    filler = AutoModelForMaskedLM.from_pretrained(generator)
    detector = ElectraForPreTraining(AutoConfig.from_pretrained(generator))
    detector.electra.embeddings.load_state_dict(filler.electra.embeddings.state_dict())
    for name, model in (("model", detector), ("generator", filler)):
        model.save_pretrained(run / name)
        save_tokenizer(load_tokenizer(generator), run / name)
    with pytest.raises(BadInput, match="--extend: a model that tells replaced tokens keeps its vocabulary"):
        adapt(run / "model", prepared, tmp_path / "out", extend=2)
    result = adapt(run / "model", prepared, tmp_path / "out")
    _, report = AutoModelForPreTraining.from_pretrained(result.model, output_loading_info=True)
    assert not report["missing_keys"] and (result.path / "generator" / "model.safetensors").is_file()


def test_sharded_weights_are_weights(make_model: Callable[..., Path], prepared: Path, tmp_path: Path) -> None:
    whole = make_model("bert")
    AutoModelForMaskedLM.from_pretrained(whole).save_pretrained(tmp_path / "shards", max_shard_size="30KB")
    save_tokenizer(load_tokenizer(whole), tmp_path / "shards")
    assert len(list((tmp_path / "shards").glob("*.safetensors"))) > 1
    assert adapt(tmp_path / "shards", prepared, tmp_path / "run", steps=1).kept >= 0


def test_a_run_goes_on_from_before_its_decay_where_that_was_kept(data: Path, tmp_path: Path) -> None:
    unmask.pretrain(data, out=tmp_path / "run", recipe="tiny", steps=8, keep_stable=True)
    model = tmp_path / "run" / "model"
    moment, dataset = moment_before_decay(model), Dataset.open(data)
    assert moment is not None and moment.name == "step-0000005"  # the last two fifths of the steps fall
    start = AdaptStart(model, dataset, None, model, dataset, None, moment=moment)
    fitting = Fitting(start, AdaptSettings(), 0)
    weights = load_checkpoint(moment).model
    assert all(torch.equal(parameter, weights[name]) for name, parameter in fitting.stable_learner().named_parameters())
    assert any(not torch.equal(parameter, weights[name]) for name, parameter in fitting.learner().named_parameters())


def test_the_text_of_a_task_comes_after_the_domain_or_alone(
    make_model: Callable[..., Path], prepared: Path, tmp_path: Path
) -> None:
    bert = make_model("bert")
    more = {"task_data": prepared, "task_epochs": 0.01, "warm_steps": 1, "replay": prepared, "forget": 9.0}
    both = adapt(bert, prepared, tmp_path / "both", extend=2, **more)
    domain = tmp_path / "both" / "domain"
    assert (domain / "adapted.json").is_file() and both.start == domain / "model"
    assert both.forget is not None and both.forget <= 9.0
    assert len(load_tokenizer(both.model)) == len(load_tokenizer(bert)) + 2
    again = unmask.adapt(resume=tmp_path / "both")
    assert again.weights_sha256 == both.weights_sha256
    alone = adapt(bert, None, tmp_path / "alone", task_data=prepared)
    assert alone.steps == 2 and not (tmp_path / "alone" / "domain").exists()
