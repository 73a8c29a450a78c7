"""LoRA learns beside the model: its matrices stay as they are, and the exported model is a plain one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoModelForSequenceClassification

import unmask
from unmask.errors import BadInput
from unmask.tasks.lora import add_adapters, merged


def test_only_adapters_and_the_head_learn_and_merging_changes_no_answer(start: Path) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(start, num_labels=3).eval()
    ids = torch.tensor([[2, 8, 9, 3]])
    with torch.no_grad():
        before = model(ids).logits
    names = {name for name, _ in model.named_parameters()}
    add_adapters(model, 4, seed=0)
    with torch.no_grad():
        assert torch.equal(model(ids).logits, before)  # what they add begins at 0
    learnt = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert learnt and all("lora_" in name or name.startswith("classifier") for name in learnt)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.normal_(std=0.1)
        changed = model(ids).logits
        plain = merged(model)
        assert not torch.allclose(changed, before, atol=1e-3)
        assert torch.allclose(plain(ids).logits, changed, atol=1e-5)
    assert {name for name, _ in plain.named_parameters()} == names


def test_a_model_tuned_by_it_loads_in_stock_transformers(start: Path, files: dict[str, Path], tmp_path: Path) -> None:
    tuned = unmask.tune(
        "classify", start, files["train"], dev=files["dev"], out=tmp_path / "run", lora=4, epochs=6, lr=1e-2
    )
    assert tuned.figures["accuracy"] > 0.6
    _, report = AutoModelForSequenceClassification.from_pretrained(tuned.model, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    one, other = (AutoModel.from_pretrained(place).embeddings.word_embeddings.weight for place in (start, tuned.model))
    assert torch.equal(one, other)
    with pytest.raises(BadInput, match="--lora 0: give 1 or more"):
        unmask.tune("classify", start, files["train"], out=tmp_path / "none", lora=0)
