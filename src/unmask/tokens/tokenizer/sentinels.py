"""Sentinels of a tokenizer: the tokens that stand for hidden spans in an encoder-decoder.

In: a tokenizer. Out: the same with `<extra_id_0>`, `<extra_id_1>`, … added where it has too few, and its vocabulary
for the `sentinel` policy. T5's own tokenizers have a hundred, and neither a mask nor an opening token.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from transformers import PreTrainedTokenizerFast

from unmask.corruption.schedule import MaskingSchedule
from unmask.errors import BadInput
from unmask.records import Vocabulary
from unmask.tokens.tokenizer.load import special_ids, vocabulary_of, vocabulary_size

USUAL = 100  # that T5's own tokenizers have
NAME = re.compile(r"<extra_id_(\d+)>")


def sentinels_needed(length: int, rate: float = 0.15, mean: float = 3.0) -> int:
    """How many sentinels rows of this length can need: one for each span, and one more where a row is rolled.

    >>> sentinels_needed(512)
    27
    """
    hidden = math.ceil(rate * length)
    return max(1, min(round(hidden / mean), length - hidden)) + 1


def sentinels_for(masking: MaskingSchedule, length: int) -> int:
    """How many sentinels a schedule can need over a whole training: T5's hundred, or more for long or dense rows.

    >>> from unmask.corruption.schedule import parse_schedule
    >>> sparse, dense = parse_schedule("sentinel", 0.15), parse_schedule("sentinel mean=1", "linear 0.2 0.9")
    >>> sentinels_for(sparse, 512), sentinels_for(dense, 512)
    (100, 257)
    """
    counts = []
    for policy in masking.policies:
        if not policy.properties.needs_sentinels:
            continue
        mean = policy.settings.get("mean", 1.0)  # of a run; one that is not told may be a single token
        rate = policy.rate if masking.rate is None else max(masking.rate.values)
        rate = min(rate, mean / (1 + mean))  # denser still, spans would grow together
        counts.append(sentinels_needed(length, rate, mean))
    return max([USUAL, *counts])


def add_sentinels(tokenizer: PreTrainedTokenizerFast, count: int = USUAL) -> int:
    """Add sentinels until there are `count`; how many were added. A model needs its embeddings resized then."""
    first = len(_sentinels(tokenizer))
    names = [f"<extra_id_{number}>" for number in range(first, count)]
    return tokenizer.add_special_tokens({"additional_special_tokens": names}, replace_extra_special_tokens=False)


def sentinel_vocabulary(tokenizer: PreTrainedTokenizerFast) -> Vocabulary:
    """What corruption needs to know of the tokenizer, its sentinels among it, the first to be used first."""
    sentinels = _sentinels(tokenizer)
    if not sentinels:
        raise BadInput("the tokenizer has no <extra_id_0>, …: add_sentinels(tokenizer) makes them")
    end = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id
    if end is None or tokenizer.pad_token_id is None:
        raise BadInput("the tokenizer has no end or no padding token, which an encoder-decoder needs")
    if tokenizer.mask_token_id is not None and tokenizer.cls_token_id is not None:
        return replace(vocabulary_of(tokenizer), sentinels=sentinels, end=end)
    return Vocabulary(
        size=vocabulary_size(tokenizer),
        mask=sentinels[0],  # never shown: this policy hides behind sentinels only
        pad=tokenizer.pad_token_id,
        start=end,
        end=end,
        special=tuple(sorted({*special_ids(tokenizer), *sentinels})),
        sentinels=sentinels,
    )


def _sentinels(tokenizer: PreTrainedTokenizerFast) -> tuple[int, ...]:
    ids = {int(name[1]): number for token, number in tokenizer.get_vocab().items() if (name := NAME.fullmatch(token))}
    return tuple(ids[number] for number in sorted(ids))
