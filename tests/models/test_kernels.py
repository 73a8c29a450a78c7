"""All families that ask torch for attention get the same, its softmax in float32; dropout is drawn the shorter way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoConfig, AutoModelForSeq2SeqLM, PreTrainedModel, T5Config

from unmask.models.attention import Seen, SeenMask
from unmask.models.dropout import DrawnDropout
from unmask.models.kernels import use_cpu_kernels

DRAWN = torch.Generator().manual_seed(1)
IDS = torch.randint(5, 200, (3, 20), generator=DRAWN)
T5 = T5Config(vocab_size=211, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0)
ASKING = ["bert", "roberta", "xlm-roberta", "xlm-roberta-xl", "electra", "ernie", "gpt2", "albert", "distilbert", "t5"]


class Asked(TorchFunctionMode):
    """Notes in which precision attention is asked for, of torch's kernel or of the softmax between two products."""

    def __init__(self) -> None:
        super().__init__()
        self.dtypes: list[torch.dtype] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (F.scaled_dot_product_attention, torch.softmax):
            in_half = torch.is_autocast_enabled("cpu")  # which casts what it is given
            self.dtypes.append(torch.get_autocast_dtype("cpu") if in_half else args[0].dtype)
        return func(*args, **(kwargs or {}))


def built(family: str, build: Callable[[str], PreTrainedModel]) -> PreTrainedModel:
    if family != "t5":
        return build(family)
    torch.manual_seed(0)
    model: PreTrainedModel = AutoModelForSeq2SeqLM.from_config(T5).eval()
    return model


def logits_of(model: PreTrainedModel) -> torch.Tensor:
    inputs = {"decoder_input_ids": IDS} if model.config.is_encoder_decoder else {}
    logits: torch.Tensor = model(input_ids=IDS, attention_mask=(IDS > 20).long(), **inputs).logits
    return logits


@pytest.mark.parametrize("family", ASKING)
def test_the_softmax_is_in_float32_where_products_are_in_bfloat16(
    family: str, make: Callable[[str], PreTrainedModel]
) -> None:
    model = built(family, make)
    reference = logits_of(model).detach()
    use_cpu_kernels(model)
    largest = float(reference.abs().max())
    torch.testing.assert_close(logits_of(model), reference, rtol=0, atol=1e-5 * largest)
    with torch.autocast("cpu", torch.bfloat16), Asked() as asked:
        logits = logits_of(model)
    assert asked.dtypes and set(asked.dtypes) == {torch.float32}
    torch.testing.assert_close(logits.float(), reference, rtol=0, atol=0.05 * largest)
    logits.float().square().mean().backward()
    assert all(torch.isfinite(each.grad).all() for each in model.parameters() if each.grad is not None)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_packed_rows_in_bfloat16_are_seen_document_by_document(
    family: str, make: Callable[[str], PreTrainedModel]
) -> None:
    documents = torch.repeat_interleave(torch.tensor([1, 2, 3]), torch.tensor([90, 70, 96]))[None]
    seen = Seen(documents, causal=family == "gpt2")
    ids = torch.randint(5, 200, (1, 256), generator=torch.Generator().manual_seed(2))
    model = make(family)
    use_cpu_kernels(model)
    found = []
    for mask, half in ((seen.dense, False), (SeenMask.of(seen), True)):
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=half), Batched() as batched:
            logits = model(input_ids=ids, attention_mask=mask, position_ids=torch.arange(256)[None] % 24).logits
        logits.float().square().mean().backward()
        gradient = torch.cat([each.grad.flatten() for each in model.parameters() if each.grad is not None])
        found.append((logits.float().detach(), gradient))
        assert set(batched.dtypes) == ({torch.bfloat16} if half else set())
    (exact, slope), (made, found_slope) = found
    torch.testing.assert_close(made, exact, rtol=0, atol=0.05 * float(exact.abs().max()))
    assert (found_slope - slope).norm() < 0.05 * slope.norm()


class Batched(TorchDispatchMode):
    """Notes in which precision batches of matrices are multiplied."""

    def __init__(self) -> None:
        super().__init__()
        self.dtypes: list[torch.dtype] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in (torch.ops.aten.bmm.default, torch.ops.aten.baddbmm.default):
            self.dtypes.append(args[0].dtype)
        return function(*args, **(kwargs or {}))


def test_where_nothing_is_learnt_nothing_is_another(make: Callable[[str], PreTrainedModel]) -> None:
    model = make("bert")
    with torch.no_grad():
        reference = logits_of(model)
        use_cpu_kernels(model)
        assert torch.equal(logits_of(model), reference)


def test_gradients_are_those_of_transformers(make: Callable[[str], PreTrainedModel]) -> None:
    gradients = []
    for ours in (False, True):
        model = make("bert")
        if ours:
            use_cpu_kernels(model)
        logits_of(model).square().mean().backward()
        gradients.append(torch.cat([each.grad.flatten() for each in model.parameters() if each.grad is not None]))
    theirs, found = gradients
    torch.testing.assert_close(found, theirs, rtol=0, atol=1e-5 * float(theirs.abs().max()))


def test_dropout_is_drawn_the_shorter_way_whatever_the_family(make: Callable[[str], PreTrainedModel]) -> None:
    for family in ("bert", "deberta-v2", "gpt2"):
        model = make(family)
        use_cpu_kernels(model)
        assert any(type(module) is DrawnDropout for module in model.modules())


@pytest.mark.parametrize("family", ["deberta-v2", "mpnet"])
def test_families_with_an_attention_of_their_own_keep_it(family: str, make: Callable[[str], PreTrainedModel]) -> None:
    model = make(family)
    before = model.config._attn_implementation
    use_cpu_kernels(model)
    assert model.config._attn_implementation == before != "sdpa"


def test_layers_that_are_computed_twice_find_the_same_attention(
    make: Callable[[str], PreTrainedModel],
) -> None:
    gradients = []
    for recompute in (False, True):
        model = make("bert").train()
        if recompute:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        use_cpu_kernels(model)
        torch.manual_seed(0)
        with torch.autocast("cpu", torch.bfloat16):
            logits_of(model).float().square().mean().backward()
        gradients.append([each.grad for each in model.parameters()])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_what_is_saved_says_nothing_of_it(make: Callable[[str], PreTrainedModel], tmp_path: Path) -> None:
    model = make("bert")
    use_cpu_kernels(model)
    model.save_pretrained(tmp_path)
    assert "sdpa" not in (tmp_path / "config.json").read_text()
    assert AutoConfig.from_pretrained(tmp_path)._attn_implementation != "sdpa_on_cpu"
