"""How good is what models write? Diffusion beside causal, and both beside text that is none.

    python benchmarks/samples.py data --diffusion run --causal run2 --judge run3

Perplexity under another model alone misleads: a sampler that repeats itself, or that draws bigrams from the judge's
own table, wins it. So likelihood stands beside the entropy of the samples, over temperatures; beside distinct 2- and
3-grams, repeated 4-grams, and the longest copy from the training text; and beside real text, the same shuffled, and
samplers of unigrams and bigrams. Where one of the trivial ranks above a model (or above real text), the measure
failed, and that is said below the table.

The judges are a bigram model of the training text, and with --judge a causal run, best another than --causal.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import tyro

import unmask
from unmask.inference.model import Model
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.encode import encode

TRIVIAL = ("shuffled", "unigram", "bigram")
SMOOTHING = 20.0  # how many unigram draws a context's counts are mixed with
Sample = list[int]
Nats = Callable[[Sample], float]


@dataclass(frozen=True)
class Measured:
    """One row of the table."""

    row: str
    temperature: float | None
    samples: int
    tokens: int
    nats: dict[str, float]  # a token, by judge: less is likelier
    entropy: float  # of the tokens within a sample, mean
    distinct_2: float
    distinct_3: float
    repeated_4: float  # 4-grams that their sample had before
    copied: float  # the longest stretch of a sample that the training text has, mean
    copied_most: int
    example: str


class Bigrams:
    """Counts of the training text: a judge, and two trivial samplers."""

    def __init__(self, texts: Sequence[Sample], size: int, start: int) -> None:
        self.start = start
        self.unigrams = np.full(size, 1e-3)
        self.following: dict[int, Counter[int]] = defaultdict(Counter)
        for text in texts:
            for before, token in zip([start, *text], text, strict=False):
                self.following[before][token] += 1
                self.unigrams[token] += 1
        self.unigrams /= self.unigrams.sum()

    def after(self, before: int) -> np.ndarray:
        """V: what follows a token."""
        counts = self.unigrams * SMOOTHING
        for token, count in self.following[before].items():
            counts[token] += count
        return counts / counts.sum()

    def nats(self, sample: Sample) -> float:
        """Of a whole sample."""
        total = 0.0
        for before, token in zip([self.start, *sample], sample, strict=False):
            counts = self.following[before]
            probability = counts[token] + SMOOTHING * self.unigrams[token]
            total -= math.log(probability / (counts.total() + SMOOTHING))
        return total

    def draw(self, length: int, rng: np.random.Generator, *, pairs: bool) -> Sample:
        """A sample of bigrams, or of unigrams."""
        sample, before = [], self.start
        for _ in range(length):
            before = int(rng.choice(len(self.unigrams), p=self.after(before) if pairs else self.unigrams))
            sample.append(before)
        return sample


def causal_nats(judge: Model, decode: Callable[[Sample], str], sample: Sample) -> float:
    """Of a whole sample, by a causal run: of its text, in the judge's own tokens."""
    writer = judge.writer
    (text,) = encode(writer.tokenizer, [decode(sample)])
    ids = torch.tensor([[writer.vocabulary.start, *text.ids.tolist()]])[:, : writer.length]
    with torch.inference_mode():
        logits = writer.model(ids.to(writer.model.device)).logits[0, :-1].double()
    return float(torch.nn.functional.cross_entropy(logits, ids[0, 1:].to(logits.device), reduction="sum"))


def ngrams(sample: Sample, n: int) -> Iterator[tuple[int, ...]]:
    return zip(*(sample[begin:] for begin in range(n)), strict=False)


def entropy_of(sample: Sample) -> float:
    """In nats, of the tokens of a sample.

    >>> round(entropy_of([1, 2, 1, 2]), 3), entropy_of([7, 7, 7])
    (0.693, 0.0)
    """
    shares = np.array([*Counter(sample).values()]) / max(1, len(sample))
    return abs(float(-(shares * np.log(shares)).sum()))


def distinct(samples: Sequence[Sample], n: int) -> float:
    """The share of n-grams that are not there twice.

    >>> distinct([[1, 2, 3], [1, 2, 4]], 2)
    0.75
    """
    grams = [gram for sample in samples for gram in ngrams(sample, n)]
    return len(set(grams)) / max(1, len(grams))


def repeated(sample: Sample, n: int = 4) -> float:
    """The share of n-grams that the same sample had before.

    >>> round(repeated([1, 2, 3, 4, 1, 2, 3, 4]), 3)
    0.2
    """
    grams = [*ngrams(sample, n)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def as_characters(sample: Sample) -> str:
    """A character for each token, so that searching is Python's own."""
    return "".join(chr(0x10000 + token) for token in sample)


def longest_copy(sample: Sample, training: str) -> int:
    """The longest stretch of a sample that stands in the training text.

    >>> longest_copy([9, 1, 2, 3, 9], as_characters([0, 1, 2, 3, 4]))
    3
    """
    text, begin, longest = as_characters(sample), 0, 0
    for end in range(1, len(text) + 1):
        if text[begin:end] in training:
            longest = max(longest, end - begin)
        else:
            begin += 1  # one that is as long as the longest is looked at no more
    return longest


def measure(
    row: str,
    temperature: float | None,
    samples: list[Sample],
    judges: dict[str, Nats],
    training: str,
    decode: Callable[[Sample], str],
) -> Measured:
    samples = [sample for sample in samples if sample]
    tokens = sum(map(len, samples))
    copies = [longest_copy(sample, training) for sample in samples]
    return Measured(
        row=row,
        temperature=temperature,
        samples=len(samples),
        tokens=tokens,
        nats={name: sum(map(nats, samples)) / tokens for name, nats in judges.items()},
        entropy=float(np.mean([entropy_of(sample) for sample in samples])),
        distinct_2=distinct(samples, 2),
        distinct_3=distinct(samples, 3),
        repeated_4=float(np.mean([repeated(sample) for sample in samples])),
        copied=float(np.mean(copies)),
        copied_most=max(copies),
        example=decode(samples[0])[:200],
    )


def failures(rows: Sequence[Measured]) -> list[str]:
    """Which measures rank something trivial above a model, or above real text."""
    measures: dict[str, Callable[[Measured], float]] = {
        **{f"likelihood by {judge}": lambda row, judge=judge: -row.nats[judge] for judge in rows[0].nats},
        "entropy": lambda row: row.entropy,
        "distinct 2-grams": lambda row: row.distinct_2,
        "distinct 3-grams": lambda row: row.distinct_3,
        "few repeated 4-grams": lambda row: -row.repeated_4,
    }
    lines = []
    for name, value in measures.items():
        trivial = [row for row in rows if row.row in TRIVIAL]
        above = {
            low.row: [label(row) for row in rows if row.row not in TRIVIAL and value(low) > value(row)]
            for low in trivial
        }
        verdicts = [f"{low} ranks above {', '.join(names)}" for low, names in above.items() if names]
        if verdicts:
            lines.append(f"{name} alone failed: {'; '.join(verdicts)}")
    return lines


def label(row: Measured) -> str:
    return row.row if row.temperature is None else f"{row.row} {row.temperature:g}"


def table(rows: Sequence[Measured]) -> str:
    """Markdown, a row each."""
    judges = [*rows[0].nats]
    heads = ["text", "tokens", *(f"nats, {judge}" for judge in judges), "entropy", "distinct 2", "distinct 3"]
    heads += ["repeated 4", "copied", "most"]
    lines = [f"| {' | '.join(heads)} |", "|---" + "|--:" * (len(heads) - 1) + "|"]
    for row in rows:
        cells = [label(row), f"{row.tokens:,}", *(f"{row.nats[judge]:.2f}" for judge in judges), f"{row.entropy:.2f}"]
        cells += [f"{row.distinct_2:.1%}", f"{row.distinct_3:.1%}", f"{row.repeated_4:.1%}"]
        lines.append(f"| {' | '.join([*cells, f'{row.copied:.1f}', str(row.copied_most)])} |")
    return "\n".join(lines)


def token_ids(dataset: Dataset, split: str, most: int) -> list[Sample]:
    """The texts of a split as tokens, up to so many."""
    tokenizer, texts, total = dataset.tokenizer(), [], 0
    source = dataset.texts(split)
    while total < most and (chunk := [*islice(source, 500)]):
        texts += [text.ids.tolist() for text in encode(tokenizer, chunk)]
        total = sum(map(len, texts))
    return texts


def main(
    data: Path,
    /,
    diffusion: Path | None = None,
    causal: Path | None = None,
    judge: Path | None = None,
    temperatures: tuple[float, ...] = (0.7, 0.8, 0.9, 1.0),
    count: int = 64,
    length: int = 60,
    steps: int | None = None,
    order: str | None = None,
    train_tokens: int = 2_000_000,
    seed: int = 0,
    out: Path | None = None,
) -> None:
    """Measure what models write.

    Args:
        data: The data directory that the runs were trained on.
        diffusion: A run of the recipe diffusion, or another masked one.
        causal: A run of the recipe causal of the same size.
        judge: Another causal run, which says how likely texts are.
        temperatures: At which models write.
        count: Samples of each row.
        length: Tokens of a sample.
        steps: Of diffusion; as many as tokens if not given.
        order: Of diffusion: random, confidence or threshold.
        train_tokens: How much of the training text is counted and searched for copies.
        seed: Of everything that is drawn.
        out: A JSON file for the rows.
    """
    dataset = Dataset.open(data)
    tokenizer = dataset.tokenizer()
    train, held_out = (token_ids(dataset, split, train_tokens) for split in ("train", "valid"))
    start = tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
    bigrams = Bigrams(train, max(tokenizer.get_vocab().values()) + 1, start)
    training = as_characters([token for text in train for token in text])
    rng = np.random.default_rng(seed)

    def decode(sample: Sample) -> str:
        return str(tokenizer.decode(sample))

    judges: dict[str, Nats] = {"bigrams": bigrams.nats}
    if judge is not None:
        judging = unmask.load(judge)
        judges[judge.name] = lambda sample: causal_nats(judging, decode, sample)
    real = [text[:length] for text in held_out if len(text) >= length][:count]
    rows: dict[str, list[Sample]] = {
        "real": real,
        "shuffled": [rng.permutation(text).tolist() for text in real],
        "unigram": [bigrams.draw(length, rng, pairs=False) for _ in range(count)],
        "bigram": [bigrams.draw(length, rng, pairs=True) for _ in range(count)],
    }
    results = [measure(row, None, samples, judges, training, decode) for row, samples in rows.items()]
    for name, path in {"diffusion": diffusion, "causal": causal}.items():
        if path is None:
            continue
        model = unmask.load(path)
        options = {"steps": steps, "order": order} if name == "diffusion" else {}
        for temperature in temperatures:
            written = model.generate(length=length, count=count, temperature=temperature, seed=seed, **options)
            samples = [tokenizer.convert_tokens_to_ids(list(each.tokens)) for each in written]
            results.append(measure(name, temperature, samples, judges, training, decode))
            print(f"{label(results[-1])}: {results[-1].example!r}", flush=True)
    print(table(results))
    print("\n".join(failures(results)))
    if judge is not None and causal is not None and judge.resolve() == causal.resolve():
        print(f"{judge.name} judged its own samples: give another --judge to compare it with diffusion")
    if out is not None:
        out.write_text(json.dumps([asdict(row) for row in results], indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    tyro.cli(main)
