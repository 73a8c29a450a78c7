"""How good a masked language model is at what it was trained for: restoring hidden tokens of held-out text.

In: any masked LM directory, or an XLNet, and a data directory. Out: `Evaluated`. The validation documents are encoded
with the model's own tokenizer, cut into pieces, each alone in its row, and hidden by the `token` policy. What is
hidden depends on the text, the tokenizer, the length, the rate and the seed, never on the model or the batch
size (`unmask.tokens.held_out.HeldOutSet`, which training validates on too). XLNet, which knows no masks, is shown
nothing at all where something is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import exp, inf, log
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from unmask.errors import BadInput, Damaged
from unmask.evaluation.calibration import measure_calibration
from unmask.evaluation.consistency import measure_consistency
from unmask.evaluation.dependence import measure_dependence
from unmask.evaluation.frequency import BANDS, token_bands, word_ranks
from unmask.files import write_bytes
from unmask.intervals import mean_figure, share_figure
from unmask.models.inputs import as_inputs
from unmask.models.load import LoadedModel, load_model
from unmask.models.masked_lm import PERMUTED
from unmask.models.sparse import logits_at
from unmask.objectives.permuted import all_at_once, slots_of, two_streams
from unmask.progress import task
from unmask.records import Batch, Flags, Ids, Integers
from unmask.results import Breakdown, Calibration, Evaluated, Figure
from unmask.runs.lineage import read_other_data
from unmask.tokens.held_out import HeldOutSet
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.encode import encode

KINDS = ("masked", "random", "kept", "nothing")  # what the model saw where a token was hidden
SAMPLE = 8 << 20  # characters of training text that word ranks, and foreign token counts, are taken from
AT_ONCE = 256  # documents encoded together


@dataclass(frozen=True)
class Text:
    """The held-out documents as one stream of tokens, with the band of the word each token belongs to."""

    ids: Ids
    word_starts: Flags
    ends: Integers
    bands: NDArray[np.int8]
    bytes: int

    def read(self, start: int, stop: int) -> tuple[Ids, Flags]:
        """The tokens between two places of the stream, and which of them start a word."""
        return self.ids[start:stop], self.word_starts[start:stop]


@dataclass(frozen=True)
class RestoredTokens:
    """What came of each hidden token; all arrays have P entries."""

    targets: Integers
    documents: Integers
    kinds: NDArray[np.int8]
    bands: NDArray[np.int8]
    losses: NDArray[np.float64]  # nats
    ranks: Integers  # how many tokens the model found likelier than the one that was there
    confidences: NDArray[np.float64]  # the probability of the likeliest token


def evaluate(
    model: Path,
    data: Path,
    *,
    length: int = 128,
    seed: int = 0,
    rate: float = 0.15,
    limit: int | None = None,
    batch: int = 8192,
    consistency: bool = False,
    plot: Path | None = None,
    on_tokens: Callable[[RestoredTokens], None] | None = None,
) -> Evaluated:
    """Measure a masked language model on the held-out documents of a data directory.

    Bits per byte are the bits a hidden token costs over the bytes of text a token stands for, so that models
    with different tokenizers compare (an uncased one is spared the capitals). `limit` takes an even sample of
    about so many tokens; `batch` is the number of tokens in a forward pass and changes nothing but the speed.
    `consistency` asks in several orders too; `plot` is where the reliability diagram is drawn; `on_tokens` is given
    what came of each hidden token.
    """
    if not 0 < rate <= 1:
        raise BadInput(f"--rate {rate}: give a fraction above 0, at most 1")
    lm, dataset = load_model(model, permuted=True), Dataset.open(data)
    if length < 3 or (lm.length is not None and length > lm.length):
        raise BadInput(f"--length {length}: this model takes rows of 3 to {lm.length or inf:,} tokens")
    if consistency and lm.model.config.model_type == PERMUTED:
        raise BadInput(
            "--consistency: XLNet fills no blanks; without it `evaluate` says what its order of asking brings"
        )
    sample = dataset.sample("train", SAMPLE)
    text = encode_documents(lm, dataset.texts("valid"), word_ranks(sample))
    examples = HeldOutSet.of(text, lm.vocabulary, length=length, rate=rate, seed=seed)
    tokens = restore_hidden(lm, examples, text, limit, batch)
    if on_tokens is not None:
        on_tokens(tokens)
    counts = _training_counts(lm, dataset, sample)
    evaluated = summarize_tokens(model, data, tokens, counts, len(text.ids) / text.bytes)
    groups = dataset.document_groups("valid")
    evaluated = replace(
        evaluated,
        dependence=measure_dependence(lm, examples, limit, batch),
        by_language=_by_group(groups["language"], tokens),
        by_source=_by_group(groups["source"], tokens),
        notes=training_notes(model, dataset),
    )
    if consistency:
        evaluated = replace(evaluated, consistency=measure_consistency(lm, examples))
    return evaluated if plot is None else _draw_calibration(evaluated, plot)


def training_notes(model: Path, dataset: Dataset) -> tuple[str, ...]:
    """A warning where a model may have been trained on the text that it is measured on."""
    other = read_other_data(model, dataset.fingerprint)
    if other is False:
        return ()
    known = "it was trained on other data" if other else "on what it was trained is not known"
    return (f"{known}: this held-out text may have been a part of that, and then these figures flatter it",)


def _draw_calibration(evaluated: Evaluated, plot: Path) -> Evaluated:
    """The reliability diagram as a file."""
    if evaluated.calibration is None:
        raise BadInput(f"--plot {plot}: no hidden token was shown as the mask; measure on more text")
    from unmask.evaluation.reliability import draw_reliability  # which takes matplotlib

    write_bytes(plot, draw_reliability(evaluated.calibration, Path(evaluated.model).name))
    return replace(evaluated, calibration=replace(evaluated.calibration, plot=plot))


def encode_documents(lm: LoadedModel, texts: Iterable[str], rank: Mapping[str, int]) -> Text:
    """Encode documents with the model's tokenizer."""
    ids, starts, sizes, of_word, size = [], [], [], [], 0
    documents = iter(texts)
    with task("Encoding") as step:
        while batch := list(islice(documents, AT_ONCE)):
            for text, document in zip(batch, encode(lm.tokenizer, batch, offsets=True), strict=True):
                assert document.offsets is not None
                ids.append(document.ids)
                starts.append(document.word_starts)
                sizes.append(len(document.ids))
                of_word.append(token_bands(text, document.offsets, rank))
                size += len(text.encode())
            step(len(batch))
    if not size:
        raise BadInput("there are no held-out documents to measure on; prepare the data from more text")
    ends = np.cumsum(sizes, dtype=np.int64)
    return Text(np.concatenate(ids), np.concatenate(starts), ends, np.concatenate(of_word), size)


@torch.inference_mode()
def restore_hidden(lm: LoadedModel, examples: HeldOutSet, text: Text, limit: int | None, tokens: int) -> RestoredTokens:
    """Have the model restore every hidden token."""
    batches, pieces = [], examples.packing.pieces
    with task("Evaluating", total=min(limit or len(text.ids), len(text.ids))) as step:
        for held_out in examples.batches(tokens, limit):
            batch = held_out.batch
            losses, ranks, sure = _judge(lm, batch)
            rows, columns = np.divmod(batch.predicted, batch.ids.shape[1])
            numbers = batch.numbers[rows]
            places = pieces.starts[numbers] + columns - 1  # in the text; the opening token comes first in a row
            kinds = _shown_kinds(batch.ids.reshape(-1)[batch.predicted], batch.targets, lm.vocabulary.mask)
            if lm.model.config.model_type == PERMUTED:
                kinds[:] = KINDS.index("nothing")
            batches.append((batch.targets, pieces.documents[numbers], kinds, text.bands[places], losses, ranks, sure))
            step(int(pieces.lengths[batch.numbers].sum()))
    if not sum(len(targets) for targets, *_ in batches):
        raise BadInput("the held-out text has no token to hide; prepare the data from more text")
    return RestoredTokens(*(np.concatenate(arrays) for arrays in zip(*batches, strict=True)))


def _judge(lm: LoadedModel, batch: Batch) -> tuple[NDArray[np.float64], Integers, NDArray[np.float64]]:
    """Of each hidden token the loss, how many are put before it (of equals, the lower ids), the likeliest's share."""
    device = lm.model.device
    targets = torch.from_numpy(batch.targets).to(device)
    logits = _logits(lm.model, batch).float()
    target_logits = logits.gather(1, targets[:, None])
    total = logits.logsumexp(-1)
    losses = (total - target_logits[:, 0]).double()
    if not losses.isfinite().all():
        raise Damaged(f"{lm.path}: the model gives numbers that are not finite; its weights are damaged")
    lower = torch.arange(logits.shape[1], device=device) < targets[:, None]
    ranks = ((logits > target_logits) | ((logits == target_logits) & lower)).sum(-1)
    confidences = (logits.amax(-1) - total).exp().double()
    return losses.cpu().numpy(), ranks.cpu().numpy(), confidences.cpu().numpy()


def _logits(model: PreTrainedModel, batch: Batch) -> Tensor:
    """P×V, at the hidden tokens, each on its own."""
    if model.config.model_type != PERMUTED:
        return logits_at(model, torch.from_numpy(batch.predicted).to(model.device), **as_inputs(model, batch))
    slots, places = slots_of(batch)
    streams = two_streams(all_at_once(batch), places, model.device)
    return logits_at(model, torch.from_numpy(slots).to(model.device), **streams)


def summarize_tokens(
    model: Path, data: Path, tokens: RestoredTokens, counts: Integers, tokens_per_byte: float
) -> Evaluated:
    """Sum up what was restored, against what frequencies alone would do.

    `context_bits` is the entropy of the hidden tokens' frequencies minus the loss. Knowing frequencies alone
    costs the entropy, so the difference is what the model took from the context, and a lower bound on what is
    in it: a better model takes more, and the plug-in entropy of a sample is biased low.
    """
    targets, documents = tokens.targets, tokens.documents
    loss = mean_figure(tokens.losses, documents)
    frequencies = np.bincount(targets)
    surprise = -np.log2(frequencies[targets] / len(targets))  # its mean is the plug-in entropy
    unigram = (counts + 1) / (counts.sum() + len(counts))
    return Evaluated(
        model=str(model),
        data=str(data),
        positions=len(targets),
        documents=len(np.unique(documents)),
        loss=loss,
        perplexity=_through(_exp, loss),
        top1=share_figure(tokens.ranks < 1, documents),
        top5=share_figure(tokens.ranks < 5, documents),
        bits_per_byte=bits_per_byte(loss, tokens_per_byte),
        context_bits=mean_figure(surprise - tokens.losses / log(2), documents),
        most_frequent_top1=float((targets == counts.argmax()).mean()),
        unigram_loss=float(-np.log(unigram[targets]).mean()),
        by_kind=_by(KINDS, tokens.kinds, tokens),
        by_frequency=_by(BANDS, tokens.bands, tokens),
        calibration=_calibration(tokens),
    )


def bits_per_byte(nats: Figure, tokens_per_byte: float) -> Figure:
    """What a byte of text costs, of what a token does."""
    return _through(lambda each: each / log(2) * tokens_per_byte, nats)


def _calibration(tokens: RestoredTokens) -> Calibration | None:
    """Of what was shown as the mask, as the blanks of a text are."""
    masked = np.isin(tokens.kinds, (KINDS.index("masked"), KINDS.index("nothing")))
    if not masked.any():
        return None
    right = tokens.ranks[masked] < 1
    return measure_calibration(tokens.confidences[masked].clip(0, 1), right, tokens.documents[masked])


def _by(names: Sequence[str], groups: NDArray[np.int8] | Integers, tokens: RestoredTokens) -> dict[str, Breakdown]:
    """The figures of each group that has a hidden token."""
    breakdowns = {}
    for number, name in enumerate(names):
        if (inside := groups == number).any():
            loss = mean_figure(tokens.losses[inside], tokens.documents[inside])
            top1 = share_figure(tokens.ranks[inside] < 1, tokens.documents[inside])
            breakdowns[name] = Breakdown(positions=int(inside.sum()), loss=loss, top1=top1)
    return breakdowns


def _by_group(groups: Sequence[str | None], tokens: RestoredTokens) -> dict[str, Breakdown]:
    """The figures of documents of the same group, most hidden tokens first; nothing where all are of one."""
    names = sorted({name for name in groups if name is not None})
    if len(names) < 2:
        return {}
    places = {name: place for place, name in enumerate(names)}
    numbers = np.array([-1 if name is None else places[name] for name in groups], dtype=np.int64)
    breakdowns = _by(names, numbers[tokens.documents], tokens)
    return dict(sorted(breakdowns.items(), key=lambda item: -item[1].positions))


def _shown_kinds(shown_ids: Integers, targets: Integers, mask: int) -> NDArray[np.int8]:
    """What the model saw at hidden positions: 0 the mask, 1 a random token, 2 the token itself."""
    return np.where(shown_ids == mask, 0, np.where(shown_ids == targets, 2, 1)).astype(np.int8)


def _training_counts(lm: LoadedModel, dataset: Dataset, sample: list[str]) -> Integers:
    """How often the model's tokens occur in the training text, or in a sample if its tokenizer is foreign."""
    trained_on = dataset.tokenizer().backend_tokenizer.to_str()
    if trained_on == lm.tokenizer.backend_tokenizer.to_str():
        return dataset.counts
    counts = np.zeros(lm.vocabulary.size, dtype=np.int64)
    for document in encode(lm.tokenizer, sample):
        counts += np.bincount(document.ids, minlength=len(counts))
    return counts


def _exp(value: float) -> float:
    return exp(value) if value < 700 else inf


def _through(function: Callable[[float], float], figure: Figure) -> Figure:
    """A figure and its interval through a rising function."""
    return Figure(function(figure.value), function(figure.low), function(figure.high))
