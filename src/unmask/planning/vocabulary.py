"""How large a vocabulary should be: what each size makes of held-out text, and what a model of it costs.

In: a data directory and some sizes. Out: for each, tokens per byte and per character on the documents that are held
out, by language where that is known, and the operations that a byte of text costs in training.

A larger vocabulary has fewer tokens for the same text, each of which costs more where tokens are predicted. Tokens per
word would mean nothing where there are no spaces, and tokens per character little between scripts; bytes are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from transformers import PreTrainedTokenizerFast

from unmask.errors import BadInput
from unmask.planning.cost import ImaginedDataset, cost_of
from unmask.pretraining.pretrain import Pretraining
from unmask.pretraining.recipes import recipe_named
from unmask.progress import task
from unmask.results import LanguageTokens, TokenizerSweep, VocabularySize
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.store.documents import read_texts_with_language
from unmask.tokens.tokenizer.encode import encode
from unmask.tokens.tokenizer.load import vocabulary_size
from unmask.tokens.tokenizer.train import KINDS, train_tokenizer

BATCH = 256  # texts that are encoded at a time
MEASURED = 8 << 20  # characters of held-out text that are looked at, at most
KILO = 1024  # 16k is 16,384


@dataclass
class _Count:
    """What a tokenizer makes of some texts."""

    tokens: int = 0
    unknown: int = 0
    bytes: int = 0
    characters: int = 0

    def add(self, ids: np.ndarray[tuple[int], np.dtype[np.int32]], text: str, unknown: int | None) -> None:
        self.tokens += len(ids)
        self.unknown += 0 if unknown is None else int((ids == unknown).sum())
        self.bytes += len(text.encode())
        self.characters += len(text)


def sweep_sizes(text: str) -> tuple[int, ...]:
    """The sizes of a list, ascending.

    >>> sweep_sizes("16k, 4k,5000")
    (4096, 5000, 16384)
    """
    try:
        sizes = [int(part[:-1]) * KILO if part[-1] in "kK" else int(part) for part in text.replace(" ", "").split(",")]
    except (ValueError, IndexError):
        raise BadInput(f"--sweep {text}: give sizes with commas between, such as 4k,8k,16k,32k") from None
    if min(sizes) < 1:
        raise BadInput(f"--sweep {text}: a vocabulary has 1 token or more")
    return tuple(sorted(set(sizes)))


def sweep_vocabularies(
    dataset: Dataset,
    sizes: Sequence[int],
    *,
    kind: str | None = None,
    cased: bool = True,
    recipe: str = "mini",
    on_tokenizer: Callable[[PreTrainedTokenizerFast], None] = lambda tokenizer: None,
) -> TokenizerSweep:
    """Train a tokenizer of each size on the training text, and measure all on the held-out text.

    `on_tokenizer` is given the tokenizer of each row, in order.
    """
    start = perf_counter()
    kind = kind or dataset.tokenizer_kind()
    if kind not in KINDS:
        raise BadInput(f"--kind {kind}: the kinds that can be trained are {', '.join(KINDS)}")
    held_out = [*_held_out(dataset)]
    if not held_out:
        raise BadInput(f"{dataset.path}: no document is held out to measure on; prepare it with a larger --valid")
    rows = [_measured(dataset.tokenizer(), held_out, recipe, current=True)]
    on_tokenizer(dataset.tokenizer())
    notes: list[str] = []
    with task("Tokenizers", total=len(sizes)) as step:
        for size in sizes:
            step(0, note=f"{size:,}")
            try:
                trained = train_tokenizer(dataset.texts("train"), kind, size, cased)
            except BadInput as error:  # the text is too short for so many pieces, or has more characters than these
                notes.append(str(error))
            else:
                rows.append(_measured(trained, held_out, recipe))
                on_tokenizer(trained)
            step(1)
    cheapest = min(rows, key=lambda row: row.operations_per_byte)
    return TokenizerSweep(
        data=dataset.path,
        kind=kind,
        recipe=recipe,
        documents=len(held_out),
        bytes=sum(len(text.encode()) for text, _ in held_out),
        sizes=tuple(rows),
        cheapest=cheapest.vocabulary,
        notes=tuple(notes),
        seconds=perf_counter() - start,
    )


def _held_out(dataset: Dataset) -> Iterator[tuple[str, str | None]]:
    remaining = MEASURED
    for text, language in read_texts_with_language(dataset.path / "documents" / "valid"):
        if remaining <= 0:
            break
        remaining -= len(text)
        yield text, language


def _measured(
    tokenizer: PreTrainedTokenizerFast, held_out: Sequence[tuple[str, str | None]], recipe: str, current: bool = False
) -> VocabularySize:
    """What a tokenizer makes of the held-out text, and what a model with its vocabulary costs."""
    total = _Count()
    by_language: dict[str, _Count] = {}
    for begin in range(0, len(held_out), BATCH):
        batch = held_out[begin : begin + BATCH]
        for (text, language), encoded in zip(batch, encode(tokenizer, [text for text, _ in batch]), strict=True):
            for count in (total, *([by_language.setdefault(language, _Count())] if language else [])):
                count.add(encoded.ids, text, tokenizer.unk_token_id)
    size = vocabulary_size(tokenizer)
    pretraining = Pretraining.of(ImaginedDataset.of(size), recipe_named(recipe))
    cost = cost_of(pretraining)
    a_token = cost.a_step / pretraining.recipe.settings.tokens_a_step
    tokens_per_byte = total.tokens / max(1, total.bytes)
    languages = [_language(name, count) for name, count in by_language.items()]
    return VocabularySize(
        vocabulary=size,
        current=current,
        tokens_per_byte=tokens_per_byte,
        tokens_per_character=total.tokens / max(1, total.characters),
        unknown=total.unknown / max(1, total.tokens),
        parameters=cost.parameters,
        operations_per_byte=a_token * tokens_per_byte,
        languages=tuple(sorted(languages, key=lambda each: (-each.tokens_per_byte, each.language))),
    )


def _language(name: str, count: _Count) -> LanguageTokens:
    return LanguageTokens(
        language=name,
        bytes=count.bytes,
        tokens_per_byte=count.tokens / max(1, count.bytes),
        tokens_per_character=count.tokens / max(1, count.characters),
        unknown=count.unknown / max(1, count.tokens),
    )
