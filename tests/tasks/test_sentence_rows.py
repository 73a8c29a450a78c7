"""Vectors that are learnt are those that `unmask embed` makes: every token of a text counts once, in its window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoModel

from unmask.inference.embed import TextVector, embed_texts
from unmask.inference.vectors import load_encoder
from unmask.tasks.sentence_rows import SentenceReader
from unmask.tasks.sentence_vectors import vectors_of

TEXTS = ["The king sees the garden.", "Nobody likes clouds. " * 40, "cat", "the river and the sea " * 9]


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "foreign"])
def test_every_token_counts_once_and_the_mean_is_that_of_embed(kind: str, make_model: Callable[..., Path]) -> None:
    directory = make_model(kind=kind)
    encoder = load_encoder(directory)
    assert encoder.length is not None
    reader = SentenceReader(encoder.tokenizer, encoder.length)
    rows = reader.read_sentences(TEXTS)
    assert rows.windows[1] > 3 and rows.windows[0] == 1
    batch = rows.batch([1, 0, 3])
    sizes = rows.tokens[[1, 0, 3]] + reader.frames[False].size
    assert [int(batch.counted[batch.owners == text].sum()) for text in range(3)] == sizes.tolist()
    made = vectors_of(AutoModel.from_pretrained(directory).eval(), rows)
    for ours, theirs in zip(made, embed_texts(encoder, TEXTS), strict=True):
        assert isinstance(theirs, TextVector) and np.abs(ours - theirs.vector).max() < 1e-5


def test_a_stretch_of_a_batch_has_its_own_texts_and_their_windows(make_model: Callable[..., Path]) -> None:
    encoder = load_encoder(make_model())
    rows = SentenceReader(encoder.tokenizer, 32).read_sentences(TEXTS)
    batch = rows.batch([0, 1, 2])
    part = batch.stretch(1, 3)
    assert part.texts == 2 and part.owners.tolist()[-1] == 1 and len(part.ids) == rows.windows[1] + rows.windows[2]
    assert part.tokens == int(rows.work[[1, 2]].sum())
