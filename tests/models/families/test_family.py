import pytest
import torch

from unmask.errors import BadInput
from unmask.models.families.family import FAMILIES, build_model
from unmask.models.families.sizes import SIZES
from unmask.records import Vocabulary

VOCABULARY = Vocabulary(size=1000, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))


def weights(family: str, seed: int) -> torch.Tensor:
    model = build_model(family, "tiny", VOCABULARY, length=32, dropout=0.0, seed=seed)
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
        sum(p.numel() for p in build_model(family, size, VOCABULARY, length=128, dropout=0.0, seed=0).parameters())
        for family in FAMILIES
        if family not in LARGER
        if not family.endswith("-generator")  # they are smaller on purpose
    ]
    assert max(counts) / min(counts) < 1.06


PUBLISHED = {  # layers, width, heads, feed-forward width, embeddings' width, by the released base checkpoints
    **dict.fromkeys(("bert", "roberta", "xlm-roberta", "xlm-roberta-xl", "ernie"), (12, 768, 12, 3072, 768)),
    "modernbert": (22, 768, 12, 1152, 768),
    "mpnet": (12, 768, 12, 3072, 768),
    "electra": (12, 768, 12, 3072, 768),
    "electra-generator": (12, 256, 4, 1024, 768),
    "deberta": (12, 768, 12, 3072, 768),
    "deberta-v3": (12, 768, 12, 3072, 768),
    "deberta-v3-generator": (6, 768, 12, 3072, 768),
}


@pytest.mark.parametrize("family", PUBLISHED)
def test_at_base_a_family_is_the_published_one(family: str) -> None:
    config = FAMILIES[family].config(SIZES["base"], VOCABULARY, 512, 0.1)
    names = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")
    embeddings = getattr(config, "embedding_size", config.hidden_size)
    assert (*(getattr(config, name) for name in names), embeddings) == PUBLISHED[family]
    if family == "modernbert":
        assert config.local_attention == 128
        assert [kind == "full_attention" for kind in config.layer_types] == [not layer % 3 for layer in range(22)]
    if family.startswith("deberta"):
        assert config.position_buckets == 256 and config.max_relative_positions == -1
        assert config.share_att_key and config.norm_rel_ebd == "layer_norm" and not config.position_biased_input
        assert set(config.pos_att_type) == {"c2p", "p2c"} and config.layer_norm_eps == 1e-7


def test_at_base_what_sets_a_family_apart_is_the_published_one() -> None:
    roberta, multilingual, deep, ernie, gpt2 = (
        FAMILIES[name].config(SIZES["base"], VOCABULARY, 512, 0.1)
        for name in ("roberta", "xlm-roberta", "xlm-roberta-xl", "ernie", "gpt2")
    )
    for config in (roberta, multilingual, deep):  # positions are counted from the padding id + 1
        assert config.max_position_embeddings == 512 + VOCABULARY.pad + 1
        assert config.type_vocab_size == 1 and config.layer_norm_eps == 1e-5
    assert ernie.hidden_act == "relu" and ernie.layer_norm_eps == 1e-5 and ernie.type_vocab_size == 2
    assert (gpt2.n_layer, gpt2.n_embd, gpt2.n_head, gpt2.n_inner) == (12, 768, 12, None)
    assert gpt2.activation_function == "gelu_new" and gpt2.attn_pdrop == gpt2.resid_pdrop == gpt2.embd_pdrop == 0.1


@torch.no_grad()
def test_xlm_r_xl_norms_before_its_layers_and_once_after_the_last() -> None:
    model = build_model("xlm-roberta-xl", "tiny", VOCABULARY, length=32, dropout=0.0, seed=0).eval()
    for layer in model.base_model.encoder.layer:  # what they add is nothing: embeddings run through as they are
        for linear in (layer.attention.output.dense, layer.output.dense):
            linear.weight.zero_()
    ids = torch.arange(5, 25)[None]
    embedded = model.base_model.embeddings(ids)
    assert embedded.norm(dim=-1).max() < 4  # no norm there: √128 would be 11
    normed = torch.nn.functional.layer_norm(embedded, embedded.shape[-1:], eps=1e-5)
    torch.testing.assert_close(model.base_model(ids).last_hidden_state, normed)


@pytest.mark.parametrize("size", SIZES)
def test_a_generator_of_electra_has_a_quarter_to_a_half_of_the_width(size: str) -> None:
    config = FAMILIES["electra-generator"].config(SIZES[size], VOCABULARY, 128, 0.0)
    assert SIZES[size].width / 4 <= config.hidden_size <= SIZES[size].width / 2
    assert config.num_hidden_layers == SIZES[size].layers and config.embedding_size == SIZES[size].width


def test_an_unknown_family_or_size_is_named_with_the_choices() -> None:
    with pytest.raises(BadInput, match="unknown model family 'gpt': choose one of bert, modernbert"):
        build_model("gpt", "tiny", VOCABULARY, length=32, dropout=0.0, seed=0)
    with pytest.raises(BadInput, match="unknown model size 'huge'"):
        build_model("bert", "huge", VOCABULARY, length=32, dropout=0.0, seed=0)
