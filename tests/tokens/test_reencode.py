"""The same documents in other tokens, in the same order, as a data directory like any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from unmask.tokens.reencode import reencode
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.manifest import verify
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.load import load_tokenizer


def test_documents_keep_their_order_and_are_in_the_other_tokens(
    data: Path, make_model: Callable[..., Path], tmp_path: Path
) -> None:
    before, tokenizer = Dataset.open(data), load_tokenizer(make_model("bert", "bpe"))
    after = reencode(before, tokenizer, tmp_path / "data")
    for split in ("train", "valid"):
        stream, texts = after.split(split), list(before.texts(split))
        assert stream.documents == before.split(split).documents
        ids, _ = stream.read(0, int(stream.ends[0]))
        assert ids.tolist() == encode(tokenizer, texts[:1])[0].ids.tolist()
    assert after.manifest["text_bytes"] == before.manifest["text_bytes"] and not verify(after.path).damage
