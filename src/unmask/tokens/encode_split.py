"""Clean documents to shards: encoded once, in order, with the spans that are marked in them.

In: the parquet files of a split, a tokenizer, and finders of spans. Out: the split's shards, and a file of stretches
for each kind of span.

    train/00000.tokens.npy …     see `shards`
    train/spans.entity.npy       see `spans`; only where spans of that kind are marked or looked for
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from transformers import PreTrainedTokenizerFast

from unmask.progress import Step
from unmask.records import Mark
from unmask.tokens.spans.find import Finder, Span, without_overlaps
from unmask.tokens.spans.marked import SpanWriter
from unmask.tokens.store.documents import Documents, read_documents
from unmask.tokens.store.shards import ShardWriter
from unmask.tokens.tokenizer.encode import EncodedText
from unmask.tokens.tokenizer.load import vocabulary_of
from unmask.tokens.tokenizer.segments import Segmenter, encode_words

Finders = Mapping[str, Sequence[Finder]]  # by kind of span; a kind without a finder is marked by the corpus alone


def encode_split(
    documents: Path,
    folder: Path,
    tokenizer: PreTrainedTokenizerFast,
    *,
    shard_tokens: int,
    finders: Finders,
    segmenter: Segmenter | None,
    step: Step,
    before: int = 0,
) -> tuple[ShardWriter, dict[str, int]]:
    """Write a split; what it has in figures, and how many spans of each kind. `before` tokens are told with its own."""
    with ExitStack() as files:
        shards = files.enter_context(ShardWriter(folder, vocabulary_of(tokenizer).size, shard_tokens))
        spans = {kind: files.enter_context(SpanWriter(folder, kind)) for kind in finders}
        for (texts, marks), tokens in _encode_ahead(
            tokenizer, read_documents(documents), segmenter, offsets=bool(spans)
        ):
            for kind, writer in spans.items():
                writer.add(tokens, _spans(kind, texts, marks, finders[kind]))
            shards.add(tokens)
            step(len(tokens), note=f"{before + shards.tokens:,} tokens")
    return shards, {kind: writer.spans for kind, writer in spans.items()}


def _encode_ahead(
    tokenizer: PreTrainedTokenizerFast, documents: Iterator[Documents], segmenter: Segmenter | None, offsets: bool
) -> Iterator[tuple[Documents, list[EncodedText]]]:
    """Batches in order, some ahead: one is taken apart by Python while the next is encoded without it."""
    with ThreadPoolExecutor(2) as workers:
        ahead: deque[tuple[Documents, Future[list[EncodedText]]]] = deque()
        for batch in documents:
            ahead.append((batch, workers.submit(encode_words, tokenizer, batch[0], segmenter, offsets=offsets)))
            if len(ahead) > 3:
                batch_ahead, future = ahead.popleft()
                yield batch_ahead, future.result()
        for batch_ahead, future in ahead:
            yield batch_ahead, future.result()


def _spans(kind: str, texts: list[str], marks: list[list[Mark]], finders: Sequence[Finder]) -> list[list[Span]]:
    """The spans of a kind in each text: those the corpus marks and those that are found, none overlapping."""
    spans = [[(start, end) for start, end, its in row if its == kind] for row in marks]
    for find in finders:
        spans = [[*before, *matches] for before, matches in zip(spans, find(texts), strict=True)]
    return [without_overlaps(row) for row in spans]
