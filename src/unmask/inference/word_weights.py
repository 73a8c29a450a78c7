"""Passages to weighted words: what an index keeps of a model with a sparse head instead of vectors.

In: a tuned model and passages. Out: a segment of an index with `weights.npy`, `words.npy` and `rows.npy`, the three
arrays of a sparse matrix (CSR). Stopped on the way it begins anew.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unmask.errors import BadInput
from unmask.inference.corpus_records import TextRecord
from unmask.inference.vector_store import FORMAT, KIND, MANIFEST, OFFSETS, READINGS, TEXTS, save_sparse, write_sealed
from unmask.models.locate import TASK
from unmask.progress import task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from unmask.tasks.tuned_model import TunedModel

TOGETHER = 256  # passages that are weighed at a time


@dataclass(frozen=True)
class WordWeigher:
    """What weighs the words of texts, and how passages are cut for it."""

    weigh: Callable[[Sequence[str]], Any]  # texts to a sparse matrix, N V
    tokenizer: PreTrainedTokenizerFast
    vocabulary: int
    room: int | None  # the most tokens of a text in one row


def retrieval_head(directory: Path) -> str | None:
    """The kind of head of a model that was tuned to find documents: dense, sparse or cross."""
    try:
        card = json.loads((directory / TASK).read_text(encoding="utf-8"))
        return str(card["head"]) if card["task"] == "retrieve" else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def weigher_of(tuned: TunedModel) -> WordWeigher:
    """What a tuned model weighs words by."""
    from unmask.tasks.retrieve.sparse_retriever import SparseRetriever

    if not isinstance(tuned, SparseRetriever):
        raise BadInput(f"{tuned.directory}: was not tuned to weigh words; unmask tune retrieve --head sparse does that")
    reader = tuned.reader
    room = reader.length - reader.frames[False].size
    return WordWeigher(tuned.weigh, reader.tokenizer, tuned.vocabulary, room)


def write_word_weights(
    weigher: WordWeigher, records: Iterable[TextRecord], out: Path, *, agreed: dict[str, Any]
) -> None:
    """Weigh the words of passages into a directory that `unmask.inference.vector_store` reads."""
    from scipy.sparse import vstack

    work = out.with_name(f".{out.name}.unfinished")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    offsets, parts = [0], []
    remaining = iter(records)
    with task("Weighing words") as step, (work / TEXTS).open("wb") as file:
        while group := list(islice(remaining, TOGETHER)):
            for record in group:
                file.write(json.dumps(record._asdict(), ensure_ascii=False).encode() + b"\n")
                offsets.append(file.tell())
            parts.append(weigher.weigh([record.text for record in group]))
            step(len(group), note=f"{len(offsets) - 1:,} passages")
    if not parts:
        shutil.rmtree(work)
        raise BadInput(f"{agreed.get('source', 'the corpus')}: has no text, so there is nothing to index")
    np.save(work / OFFSETS, np.array(offsets, dtype=np.int64))
    np.save(work / READINGS, np.array([[0, 0, 1]] * (len(offsets) - 1), dtype=np.int64))
    names = [*save_sparse(vstack(parts, format="csr"), work), TEXTS, OFFSETS, READINGS]
    facts = {"kind": KIND, "format": FORMAT, **agreed, "count": len(offsets) - 1, "width": weigher.vocabulary}
    write_sealed(work, MANIFEST, {**facts, "tokens_read": 0, "cut": 0, "windows": len(offsets) - 1}, names)
    work.rename(out)
