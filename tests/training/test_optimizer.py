import math
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unmask.models.families.family import build_model
from unmask.pretraining.settings import OPTIMIZING
from unmask.records import Vocabulary
from unmask.training.optimizer import NEWTON_SCHULZ, ROUNDS, Muon, Optimizer, Optimizing, orthogonalize

VOCABULARY = Vocabulary(size=300, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("shape", [(192, 64), (64, 172)])
def test_orthogonal_brings_every_singular_value_near_one(shape: tuple[int, int], halves: bool) -> None:
    matrices = torch.randn(3, *shape, generator=torch.Generator().manual_seed(0))
    made = orthogonalize(matrices, halves=halves)
    values = torch.linalg.svdvals(made)
    assert made.dtype == torch.float32 and values.min() > 0.5 and values.max() < 1.3


def test_orthogonal_keeps_the_singular_vectors() -> None:
    matrix = torch.randn(1, 48, 80, generator=torch.Generator().manual_seed(1))
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    core = left.mT @ orthogonalize(matrix) @ right.mT
    off_diagonal = core - torch.diag_embed(core.diagonal(dim1=-2, dim2=-1))
    assert off_diagonal.abs().max() < 1e-4


@pytest.mark.parametrize("smallest", [1.0, 1e-6])
def test_rounds_on_a_wide_matrix_are_those_on_its_singular_values(smallest: float) -> None:
    left, _, right = torch.linalg.svd(
        torch.randn(2, 32, 96, generator=torch.Generator().manual_seed(3), dtype=torch.float64), False
    )
    values = torch.logspace(0, math.log10(smallest), 32, dtype=torch.float64)
    found = orthogonalize((left * values @ right).float())
    a, b, c = NEWTON_SCHULZ
    values = values / values.norm()
    for _ in range(ROUNDS):  # a round is an odd polynomial of the matrix, and so of each singular value
        values = a * values + b * values**3 + c * values**5
    exact = left * values @ right
    assert (found - exact).norm() / exact.norm() < 5e-4


@pytest.mark.parametrize("halves", [False, True])
def test_our_muon_steps_as_torchs_does(halves: bool) -> None:
    # torch's orthogonalises in bfloat16, one after another: its updates are ours to about one part in a hundred
    generator = torch.Generator().manual_seed(2)
    start = [torch.randn(96, 32, generator=generator) for _ in range(2)]
    gradients = [torch.randn(96, 32, generator=generator) for _ in range(6)]
    moved = []
    for kind, extra in ((Muon, {"halves": halves}), (torch.optim.Muon, {"nesterov": True, "adjust_lr_fn": "original"})):
        weights = [torch.nn.Parameter(each.clone()) for each in start]
        optimizer = kind(weights, lr=0.02, momentum=0.95, weight_decay=0.01, **extra)
        for step in range(3):
            for weight, gradient in zip(weights, gradients[2 * step :], strict=False):
                weight.grad = gradient.clone()
            optimizer.step()
        moved.append(torch.stack([w.detach() - s for w, s in zip(weights, start, strict=True)]))
    assert (moved[0] - moved[1]).norm() / moved[1].norm() < 0.02


def test_a_run_in_bfloat16_orthogonalises_in_it_and_no_other_does() -> None:
    model = build_model("modernbert", "tiny", VOCABULARY, length=32, dropout=0.0, seed=0)
    for products, halves in ((torch.float32, False), (torch.bfloat16, True), (torch.float16, False)):
        _, muon = Optimizer(model, Optimizing(), products).parts
        assert isinstance(muon.optimizer, Muon) and muon.optimizer.halves == halves


def test_matrices_of_the_layers_go_to_muon_and_everything_else_to_adamw() -> None:
    model = build_model("modernbert", "tiny", VOCABULARY, length=32, dropout=0.0, seed=0)
    optimizer = Optimizer(model, Optimizing())
    _, muon = optimizer.parts
    names = {optimizer.names[parameter] for parameter in muon.parameters}
    assert names == {
        f"model.layers.{layer}.{part}.weight"
        for layer in range(2)
        for part in ("attn.Wqkv", "attn.Wo", "mlp.Wi", "mlp.Wo")
    }
    every = [parameter for part in optimizer.parts for parameter in part.parameters]
    assert len(every) == len(set(every)) == len(list(model.parameters()))
    assert {part.name: part.lr for part in optimizer.parts} == {"adamw": 1.5e-3, "muon": 1.5e-2}


@given(st.integers(1, 10_000), st.floats(0, 0.3), st.floats(0.05, 0.7), st.sampled_from([None, 1, 60]))
def test_the_rate_is_never_zero_before_the_end(steps: int, warmup: float, decay: float, full: int | None) -> None:
    ends = {0, steps - 1, round(steps * warmup), steps - round(steps * decay) - 1} & set(range(steps))
    for fall, step in product(("linear", "root"), ends):
        schedule = Optimizing(warmup=warmup, decay=decay, full_steps=full, fall=fall)
        assert 0 < schedule.lr_factor(step, steps) <= 1


def test_until_it_falls_to_0_the_rate_of_pretraining_is_that_of_a_longer_run() -> None:
    short, long = ([OPTIMIZING.lr_factor(step, steps) for step in range(steps)] for steps in (1_000, 4_000))
    assert OPTIMIZING.full_steps == 240
    assert short[200:600] == long[200:600] and short[599] == pytest.approx(math.sqrt(240 / 600))
    assert not OPTIMIZING.is_falling(599, 1_000) and OPTIMIZING.is_falling(600, 1_000)
    assert short[600:] == sorted(short[600:], reverse=True) and short[-1] < 2e-3


def test_the_rate_rises_a_tenth_stays_and_falls_over_three() -> None:
    middle = [Optimizing(warmup=0.1, decay=0.3).lr_factor(step, 1000) for step in range(1000)]
    assert 0 < middle[0] < 0.02 and 0 < middle[-1] < 0.01
    assert middle[:100] == sorted(middle[:100]) and middle[700:] == sorted(middle[700:], reverse=True)
    assert set(middle[99:699]) == {1.0}


def test_a_restored_optimizer_steps_as_the_one_it_was_saved_from() -> None:
    def gradients(model: torch.nn.Module, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for parameter in model.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=generator)

    models = [build_model("bert", "tiny", VOCABULARY, length=16, dropout=0.0, seed=0) for _ in range(2)]
    first, second = (Optimizer(model, Optimizing()) for model in models)
    gradients(models[0], 0)
    first.step(0, 10)
    models[1].load_state_dict(models[0].state_dict())
    second.restore({name: tensor.clone() for name, tensor in first.tensors().items()})
    for model, optimizer in zip(models, (first, second), strict=True):
        gradients(model, 1)
        optimizer.step(1, 10)
    for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert torch.equal(one, other)


def test_lower_layers_learn_slower_and_embeddings_slowest() -> None:
    model = torch.nn.ModuleDict(
        {"embeddings": torch.nn.Embedding(3, 2), "layer": torch.nn.ModuleList(), "head": torch.nn.Linear(2, 2)}
    )
    model["layer"].extend(torch.nn.Linear(2, 2) for _ in range(2))  # type: ignore[operator]
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    Optimizer(model, Optimizing(muon_lr=0.0, adamw_lr=0.1, weight_decay=0.0, warmup=0.0, layer_decay=0.5)).step(0, 100)
    moved = {name: float((before[name] - parameter.detach()).max()) for name, parameter in model.named_parameters()}
    whole = moved["head.weight"]
    assert moved["layer.1.weight"] == pytest.approx(whole) and moved["layer.1.bias"] == pytest.approx(whole)
    assert moved["layer.0.weight"] == pytest.approx(whole / 2, rel=1e-4)
    assert moved["embeddings.weight"] == pytest.approx(whole / 4, rel=1e-4)
