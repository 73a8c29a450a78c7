"""The shorter ways through ModernBERT's layers lead where the long ones do."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy

import pytest
import torch
import transformers
from torch.nn import Dropout
from transformers import PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.modernbert import modeling_modernbert as theirs

from unmask.models import kernels, modernbert_cpu
from unmask.models.dropout import DrawnDropout, replace_dropout
from unmask.models.families.family import build_model
from unmask.models.kernels import use_cpu_kernels
from unmask.models.sparse import logits_at
from unmask.records import Vocabulary

VOCABULARY = Vocabulary(size=97, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
DRAWN = torch.Generator().manual_seed(3)
IDS = torch.randint(5, 97, (5, 24), generator=DRAWN)
PLACES = torch.randint(0, 24, (5, 24), generator=DRAWN)
SEEN = (torch.rand(5, 1, 24, 24, generator=DRAWN) < 0.7) | torch.eye(24, dtype=torch.bool)


OURS = {
    modernbert_cpu.FusedLayer,
    modernbert_cpu.FusedAttention,
    modernbert_cpu.FusedMLP,
    modernbert_cpu.ComplexRotary,
}


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What a user is told; whether layers agree is found out anew."""
    lines: list[str] = []
    monkeypatch.setattr(kernels, "say", lines.append)
    modernbert_cpu._agrees.cache_clear()
    yield lines
    modernbert_cpu._agrees.cache_clear()


def kinds(model: PreTrainedModel) -> set[type]:
    return {type(module) for module in model.modules()}


def pair(dropout: float = 0.0) -> tuple[PreTrainedModel, PreTrainedModel]:
    model = build_model("modernbert", "tiny", VOCABULARY, length=24, dropout=dropout, seed=0)
    light = deepcopy(model)
    use_cpu_kernels(light)
    return model, light


@pytest.mark.parametrize(
    "inputs", [{}, {"position_ids": PLACES}, {"attention_mask": SEEN}], ids=lambda each: str(*each)
)
def test_states_and_gradients_are_those_of_transformers(inputs: dict[str, torch.Tensor]) -> None:
    found = []
    for model in pair():
        made = model(input_ids=IDS, **inputs).logits
        made.square().sum().backward()
        found.append((made.detach(), {name: each.grad for name, each in model.named_parameters()}))
    (made, gradients), (shorter, theirs) = found
    torch.testing.assert_close(shorter, made, rtol=1e-5, atol=1e-6 * float(made.abs().max()))
    for name, gradient in gradients.items():
        torch.testing.assert_close(theirs[name], gradient, rtol=1e-4, atol=1e-5 * float(gradient.abs().max()), msg=name)


@pytest.mark.parametrize("recompute", [False, True])
def test_at_predicted_positions_logits_and_gradients_are_those_of_transformers(recompute: bool) -> None:
    predicted = torch.tensor([0, 3, 17, 40, 41, 119, 0])  # what fills a batch up stands there again
    found = []
    for model in pair():
        light = isinstance(model.base_model.layers[-1], modernbert_cpu.LastFusedLayer)
        if light and recompute:
            model.train().gradient_checkpointing_enable({"use_reentrant": False})
        everywhere = model(input_ids=IDS, attention_mask=SEEN).logits.flatten(0, 1)[predicted]
        made = logits_at(model, predicted, input_ids=IDS, attention_mask=SEEN) if light else everywhere
        made.square().sum().backward()
        found.append((made.detach(), {name: each.grad for name, each in model.named_parameters()}))
    (made, gradients), (shorter, ours) = found
    torch.testing.assert_close(shorter, made, rtol=1e-5, atol=1e-6 * float(made.abs().max()))
    for name, gradient in gradients.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-4, atol=1e-5 * float(gradient.abs().max()), msg=name)


def test_behind_its_attention_the_last_layer_computes_what_is_predicted_alone() -> None:
    model = pair()[1]
    rows = []
    for layer in model.base_model.layers:
        layer.mlp.register_forward_hook(lambda _module, args, _output: rows.append(args[0].shape[:2].numel()))
    logits_at(model, torch.tensor([5, 60, 61]), input_ids=IDS)
    assert rows == [IDS.numel()] * (len(rows) - 1) + [3] and len(rows) > 1


def test_in_bfloat16_gradients_stray_no_further_than_those_of_transformers() -> None:
    def gradient(model: PreTrainedModel, enabled: bool) -> torch.Tensor:
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            made = model(input_ids=IDS, position_ids=PLACES, attention_mask=SEEN).logits
        made.float().square().sum().backward()
        assert all(each.grad.dtype == torch.float32 for each in model.parameters() if each.grad is not None)
        return torch.cat([each.grad.flatten() for each in model.parameters() if each.grad is not None])

    model, light = pair()
    exact = gradient(model, enabled=False)
    theirs, ours = ((gradient(each, enabled=True) - exact).norm() / exact.norm() for each in (model, light))
    assert 1e-4 < ours < 1.25 * theirs


def test_the_same_is_dropped_where_the_draws_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for model in pair(dropout=0.3):
        replace_dropout(model)
        monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS, "sdpa", kernels.sdpa_on_cpu)
        torch.manual_seed(1)
        made.append(model.train()(input_ids=IDS).logits)
    torch.testing.assert_close(made[1], made[0], rtol=1e-5, atol=1e-5)
    assert not torch.allclose(made[0], model.eval()(input_ids=IDS).logits, atol=1e-2)


def test_the_layers_take_it_and_the_weights_keep_their_names() -> None:
    model, light = pair()
    assert kinds(light) >= OURS and not kinds(model) & OURS
    assert list(light.state_dict()) == list(model.state_dict())


def test_what_has_no_shorter_way_stays_as_it_is() -> None:
    model = build_model("bert", "tiny", VOCABULARY, length=24, dropout=0.0, seed=0)
    before = [type(module) for module in model.modules() if type(module) is not Dropout]
    use_cpu_kernels(model)
    assert [type(module) for module in model.modules() if type(module) is not DrawnDropout] == before
    model = build_model("modernbert", "tiny", VOCABULARY, length=24, dropout=0.0, seed=0)
    model.set_attn_implementation("eager")
    use_cpu_kernels(model)
    assert not kinds(model) & OURS


def test_a_model_that_takes_the_shorter_way_already_stays_as_it_is(said: list[str]) -> None:
    _, light = pair()
    before = [type(module) for module in light.modules()]
    use_cpu_kernels(light)
    assert [type(module) for module in light.modules()] == before and not said


PINNED: dict[Callable[..., object], str] = {
    theirs.ModernBertEncoderLayer.__init__: "9756890ee3f31240",
    theirs.ModernBertEncoderLayer.forward: "73f89f5161c0c5fd",
    theirs.ModernBertAttention.__init__: "ce17e39b9902c2f9",
    theirs.ModernBertAttention.forward: "26195b667a4db079",
    theirs.ModernBertMLP.__init__: "00d6a8959614bb16",
    theirs.ModernBertMLP.forward: "229a411a90d13b5a",
    theirs.ModernBertRotaryEmbedding.forward: "73c27e519ab9ec36",
    theirs.ModernBertModel.forward: "b4a90a05c85fc38f",
    theirs.apply_rotary_pos_emb: "cca294ddc7619738",
    theirs.rotate_half: "99739bb5dc471607",
}


@pytest.mark.parametrize("function", PINNED, ids=lambda function: function.__qualname__)
def test_what_is_replaced_is_what_it_was_written_for(function: Callable[..., object]) -> None:
    source = "".join(inspect.getsource(function).split())  # spaces and line ends apart
    found = hashlib.sha256(source.encode()).hexdigest()[:16]
    assert found == PINNED[function], (
        f"transformers {transformers.__version__} has changed {function.__qualname__}: compare it with its counterpart "
        "in models/modernbert_cpu.py (the order of queries, keys and values in Wqkv, the halves of Wi, where norms and "
        "dropout stand, what forward is given and gives back), see that the other tests here pass, and pin "
        f"{found!r}. Until then users of that version have transformers' own layers wherever the two disagree."
    )


def another_signature(self: torch.nn.Module, hidden_states: torch.Tensor, gate_scale: float = 1.0) -> torch.Tensor:
    first, second = self.Wi(hidden_states).chunk(2, dim=-1)
    return self.Wo(self.drop(self.act(first) * second * gate_scale))


def other_halves(self: torch.nn.Module, hidden_states: torch.Tensor) -> torch.Tensor:
    first, second = self.Wi(hidden_states).chunk(2, dim=-1)
    return self.Wo(self.drop(first * self.act(second)))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (another_signature, "ModernBertMLP.forward takes self, hidden_states, gate_scale"),
        (other_halves, "a small model says something else"),
    ],
)
def test_layers_that_have_changed_are_left_as_they_are_and_it_is_said(
    changed: Callable[..., torch.Tensor], told: str, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theirs.ModernBertMLP, "forward", changed)
    model, light = pair()
    assert not kinds(light) & OURS
    assert torch.equal(light(input_ids=IDS).logits, model(input_ids=IDS).logits)
    (line,) = said
    assert f"({told}): its own are used" in line and transformers.__version__ in line


def test_an_attribute_that_is_gone_or_another_class_is_said(said: list[str]) -> None:
    model, other = (build_model("modernbert", "tiny", VOCABULARY, length=24, dropout=0.0, seed=0) for _ in range(2))
    del model.model.layers[1].attn.out_drop
    use_cpu_kernels(model)
    other.model.layers[0].mlp.__class__ = type("GatedMLP", (theirs.ModernBertMLP,), {})
    use_cpu_kernels(other)
    assert not kinds(model) & OURS and not kinds(other) & OURS
    assert "ModernBertAttention has no out_drop" in said[0] and "GatedMLP is not ModernBertMLP" in said[1]


def test_a_class_of_another_name_is_said(said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    model = build_model("modernbert", "tiny", VOCABULARY, length=24, dropout=0.0, seed=0)
    monkeypatch.delitem(sys.modules, "unmask.models.modernbert_cpu")
    monkeypatch.delattr("unmask.models.modernbert_cpu")
    monkeypatch.delattr(theirs, "ModernBertMLP")
    use_cpu_kernels(model)
    assert "cannot import name 'ModernBertMLP'" in said[0]
