import pytest
import torch

from unmask.errors import BadInput
from unmask.models.families import FAMILIES, build
from unmask.records import Vocabulary

VOCABULARY = Vocabulary(size=1000, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))


def weights(family: str, seed: int) -> torch.Tensor:
    model = build(family, "tiny", VOCABULARY, length=32, dropout=0.0, seed=seed)
    return torch.cat([parameter.flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_are_a_function_of_the_seed(family: str) -> None:
    torch.manual_seed(1)
    first = weights(family, seed=7)
    torch.manual_seed(2)
    assert torch.equal(first, weights(family, seed=7))
    assert not torch.equal(first, weights(family, seed=8))


def test_building_leaves_the_random_state_of_others_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    weights("bert", seed=0)
    assert torch.equal(torch.rand(3), expected)


LARGER = {"xlnet", "t5"}  # a matrix for relative positions in each layer; a decoder besides the encoder


@pytest.mark.parametrize("size", ["tiny", "mini", "small"])
def test_families_of_one_size_have_nearly_the_same_number_of_weights(size: str) -> None:
    counts = [
        sum(p.numel() for p in build(family, size, VOCABULARY, length=128, dropout=0.0, seed=0).parameters())
        for family in FAMILIES
        if family not in LARGER
    ]
    assert max(counts) / min(counts) < 1.06


def test_an_unknown_family_or_size_is_named_with_the_choices() -> None:
    with pytest.raises(BadInput, match="unknown model family 'gpt': choose one of bert, modernbert"):
        build("gpt", "tiny", VOCABULARY, length=32, dropout=0.0, seed=0)
    with pytest.raises(BadInput, match="unknown model size 'huge'"):
        build("bert", "huge", VOCABULARY, length=32, dropout=0.0, seed=0)
