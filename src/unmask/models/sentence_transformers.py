"""A model as sentence-transformers has it: its files, how its vectors are pooled, and that they have length 1.

In: an encoder with its tokenizer. Out: a directory that `SentenceTransformer` loads, whose vectors are those of
`unmask embed`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from transformers import PreTrainedModel, PreTrainedTokenizerFast

from unmask.files import json_text
from unmask.tokens.tokenizer.load import save_tokenizer

Pooling = Literal["mean", "first"]
MODULES = (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))


def write_sentence_transformer(
    encoder: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, folder: Path, pooling: Pooling, length: int | None
) -> None:
    """Write the directory."""
    encoder.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    modules = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (path, kind) in enumerate(MODULES)
    ]
    (folder / "modules.json").write_text(json_text(modules), encoding="utf-8")
    transformer = {"max_seq_length": length, "do_lower_case": False}
    (folder / "sentence_bert_config.json").write_text(json_text(transformer), encoding="utf-8")
    for path, _ in MODULES[1:]:
        (folder / path).mkdir()
    ways = {
        "word_embedding_dimension": encoder.config.hidden_size,
        "pooling_mode_cls_token": pooling == "first",
        "pooling_mode_mean_tokens": pooling == "mean",
        "include_prompt": True,
    }
    (folder / "1_Pooling" / "config.json").write_text(json_text(ways), encoding="utf-8")
