import pytest

from unmask.models.families.family import build_model
from unmask.models.families.sequential import t5, xlnet
from unmask.models.families.sizes import SIZES
from unmask.records import Vocabulary

VOCABULARY = Vocabulary(size=1000, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))


def test_at_base_xlnet_is_the_released_one() -> None:
    config = xlnet(SIZES["base"], VOCABULARY, 512, 0.1)
    assert (config.n_layer, config.d_model, config.n_head, config.d_head, config.d_inner) == (12, 768, 12, 64, 3072)
    assert (config.attn_type, config.bi_data, config.clamp_len, config.same_length) == ("bi", False, -1, False)
    assert (config.ff_activation, config.layer_norm_eps, config.mem_len, config.dropout) == ("gelu", 1e-12, None, 0.1)


def test_at_base_t5_is_the_released_one() -> None:
    config = t5(SIZES["base"], VOCABULARY, 512, 0.1)
    layers = (config.num_layers, config.num_decoder_layers)
    assert (*layers, config.d_model, config.num_heads, config.d_kv, config.d_ff) == (12, 12, 768, 12, 64, 3072)
    assert (config.relative_attention_num_buckets, config.relative_attention_max_distance) == (32, 128)
    assert (config.feed_forward_proj, config.layer_norm_epsilon, config.dropout_rate) == ("relu", 1e-6, 0.1)
    assert config.scale_decoder_outputs and config.tie_word_embeddings
    assert (config.decoder_start_token_id, config.eos_token_id, config.pad_token_id) == (0, 3, 0)


@pytest.mark.parametrize(("family", "kind"), [("xlnet", "XLNetLMHeadModel"), ("t5", "T5ForConditionalGeneration")])
def test_a_family_is_built_as_its_stock_class(family: str, kind: str) -> None:
    model = build_model(family, "tiny", VOCABULARY, length=32, dropout=0.0, seed=0)
    assert type(model).__name__ == kind
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
