"""How fast corruption is, beside transformers' collators, on the same rows, on one core.

    python benchmarks/corruption.py                # tables
    python benchmarks/corruption.py --json         # the same as JSON
    python benchmarks/corruption.py --data data    # on the rows and the tokenizer of a data directory

Contenders take turns in each round, so a busy moment hits all of them; figures are medians over the rounds, ratios are
taken within a round and given with their quartiles. Seconds are those the core worked for us, waiting left out. Rows
are 256 × 512 unless it is lengths that are compared; without --data they are random, cut into words as text is.

Two of ours are timed: `corrupt`, from packed blocks to examples, which is what training here does; and `Collator`,
from lists of ids to tensors, which does all that transformers' collators do. The second is like for like; the first
leaves out what a list of Python numbers costs, which packed blocks never are. Of theirs two: as they are usually
called, and with the mask of special tokens worked out beforehand, which they then need not do.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import statistics
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
import torch
from tokenizers import Tokenizer, models
from transformers import (
    DataCollatorForLanguageModeling,
    DataCollatorForPermutationLanguageModeling,
    PreTrainedTokenizerFast,
)

from unmask.corruption import policy
from unmask.corruption.policy import policy_named
from unmask.records import SPAN_KINDS, Blocks, Vocabulary
from unmask.tokens.collator import Collator
from unmask.tokens.pack import AROUND, cut_documents, pack_pieces, read_blocks
from unmask.tokens.store.dataset import Dataset
from unmask.tokens.tokenizer.sentinels import add_sentinels, sentinel_vocabulary

ROWS, LENGTH, SIZE, SENTINELS = 256, 512, 30_000, 2_000
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192)
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--data", type=Path, help="a data directory, to take rows and tokenizer from")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows, made, known = real(arguments.data) if arguments.data else (blocks(), tokenizer(), vocabulary())
    found = {
        "rows": list(rows.ids.shape),
        "policies": policies(rows, known, arguments.rounds),
        "beside": beside(rows, made, known, max(arguments.rounds // 2, 3)),
        "lengths": lengths(max(arguments.rounds // 3, 3)),
    }
    if arguments.json:
        json.dump(found, sys.stdout, indent=2)
        print()
    else:
        report(found)


def blocks(rows: int = ROWS, length: int = LENGTH) -> Blocks:
    """Rows of text as tokenizers cut it: seven tokens in ten start a word, a phrase is marked here and there."""
    rng = np.random.default_rng(0)
    ids = rng.integers(len(SPECIAL), SIZE - SENTINELS, (rows, length)).astype(np.int32)
    ids[:, 0], ids[:, -1] = 2, 3
    starts = rng.random((rows, length)) < 0.7
    starts[:, 0] = starts[:, -1] = False
    starts[:, 1] = True
    words = np.cumsum(starts, axis=1)
    spans = ((words // 3) * (words // 3 % 4 == 0)).astype(np.int32)  # three words in twelve are a phrase
    kinds = dict.fromkeys(SPAN_KINDS, spans)
    return Blocks(ids, starts, np.ones_like(ids), np.arange(rows), 0, kinds)


def vocabulary() -> Vocabulary:
    sentinels = tuple(range(SIZE - 1, SIZE - SENTINELS - 1, -1))
    return Vocabulary(SIZE, 4, 0, 2, 3, (*range(len(SPECIAL)), *sentinels), sentinels)


def real(data: Path) -> tuple[Blocks, PreTrainedTokenizerFast, Vocabulary]:
    """The first blocks of a data directory, packed as training packs them, every fifth word the start of a phrase."""
    dataset = Dataset.open(data)
    stream, extended = dataset.split("train"), dataset.tokenizer()
    add_sentinels(extended, SENTINELS)
    known = sentinel_vocabulary(extended)
    plan = pack_pieces(cut_documents(stream.ends, LENGTH - AROUND), LENGTH, seed=0, epoch=0)
    if plan.blocks < ROWS:
        sys.exit(f"{data}: has {plan.blocks} blocks of {LENGTH} tokens, and {ROWS} are timed")
    rows = read_blocks(stream, plan, np.arange(ROWS), known)
    words = np.cumsum(rows.word_starts, axis=1)
    spans = (words // 2 * (words // 2 % 5 == 0) * (rows.documents > 0)).astype(np.int32)
    # The tokenizer without sentinels: thousands of special tokens would slow down the others' collators.
    return replace(rows, spans=dict.fromkeys(SPAN_KINDS, spans)), dataset.tokenizer(), known


def tokenizer() -> PreTrainedTokenizerFast:
    """A WordPiece tokenizer with an id for each of the benchmark's; those with an odd number continue a word."""
    pieces = {token: number for number, token in enumerate(SPECIAL)}
    pieces |= {f"##p{number}" if number % 2 else f"p{number}": number for number in range(len(SPECIAL), SIZE)}
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordPiece(pieces, unk_token="[UNK]")), **names)


def timed(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contender in each round, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, run in contenders.items():
            began = process_time()
            run()
            if number:
                seconds[name].append(process_time() - began)
    return seconds


def quartiles(values: list[float]) -> list[float]:
    return [round(value, 2) for value in statistics.quantiles(values, n=4)]


def policies(rows: Blocks, known: Vocabulary, rounds: int) -> dict[str, float]:
    """Million tokens a second of each policy, from blocks to examples."""
    chosen = [policy_named(name) for name in policy.POLICIES]
    contenders = {one.name: lambda one=one: policy.corrupt(rows, one, known, seed=0) for one in chosen}
    seconds = timed(contenders, rounds)
    return {name: round(rows.ids.size / statistics.median(times) / 1e6, 2) for name, times in seconds.items()}


def beside(rows: Blocks, made: PreTrainedTokenizerFast, known: Vocabulary, rounds: int) -> dict[str, dict[str, object]]:
    """Ours and theirs on the same rows: million tokens a second, and how many times as fast ours are."""
    plain = [{"input_ids": row} for row in rows.ids.tolist()]
    flags = known.is_special[rows.ids].astype(int).tolist()
    special = [{**one, "special_tokens_mask": row} for one, row in zip(plain, flags, strict=True)]
    offsets = [{**one, "offset_mapping": _offsets(starts)} for one, starts in zip(plain, rows.word_starts, strict=True)]
    known_words = [{**one, "word_starts": starts} for one, starts in zip(plain, rows.word_starts, strict=True)]
    theirs = DataCollatorForLanguageModeling(made, mlm_probability=0.15)
    words = DataCollatorForLanguageModeling(
        made, mlm_probability=0.15, whole_word_mask=True, mask_replace_prob=1, random_replace_prob=0
    )
    orders = DataCollatorForPermutationLanguageModeling(made)
    matches = {
        "token": {
            "transformers": lambda: theirs(plain),
            "transformers, specials given": lambda: theirs(special),
        },
        "word": {"transformers": lambda: words(offsets)},
        "permutation": {"transformers": lambda: orders(plain)},
    }
    found: dict[str, dict[str, object]] = {}
    for name, others in matches.items():
        chosen, collator = policy_named(name), Collator(made, name)
        examples = plain if name == "token" else known_words
        ours = {
            "corrupt": lambda chosen=chosen: policy.corrupt(rows, chosen, known, seed=0),
            "Collator": lambda collator=collator, examples=examples: collator(examples),
        }
        seconds = timed({**ours, **others}, rounds)
        found[name] = {
            "million tokens/s": {
                who: round(rows.ids.size / statistics.median(times) / 1e6, 3) for who, times in seconds.items()
            },
            "times as fast (quartiles)": {
                f"{mine} / {other}": quartiles([b / a for a, b in zip(seconds[mine], seconds[other], strict=True)])
                for mine in ours
                for other in others
            },
        }
    return found


def _offsets(starts: np.ndarray) -> list[tuple[int, int]]:
    """Character offsets in which a piece that continues a word touches the one before it, as those collators expect."""
    begin = np.cumsum(2 + starts)
    return [(int(place), int(place) + 2) for place in begin]


def lengths(rounds: int) -> dict[str, dict[str, float]]:
    """Nanoseconds a token at each length, of as many tokens at each: level if cost grows linearly with length."""
    known = vocabulary()
    found: dict[str, dict[str, float]] = {}
    shapes = {length: blocks(max(ROWS * LENGTH // length, 1), length) for length in LENGTHS}
    for name in policy.POLICIES:
        chosen = policy_named(name)
        contenders = {
            str(length): lambda rows=rows, chosen=chosen: policy.corrupt(rows, chosen, known, seed=0)
            for length, rows in shapes.items()
        }
        seconds = timed(contenders, rounds)
        found[name] = {
            length: round(statistics.median(times) / shapes[int(length)].ids.size * 1e9, 1)
            for length, times in seconds.items()
        }
    return found


def report(found: dict) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    shape = " × ".join(map(str, found["rows"]))
    table = Table("policy", "million tokens/s", title=f"Blocks to examples, rows of {shape}, one core")
    for name, speed in found["policies"].items():
        table.add_row(name, f"{speed:.1f}")
    console.print(table)
    table = Table("policy", "contender", "million tokens/s", "times as fast, quartiles", title="Beside transformers")
    for name, match in found["beside"].items():
        for who, speed in match["million tokens/s"].items():
            ratios = [
                f"{low:.0f}–{high:.0f} (median {middle:.0f}) × {versus.partition(' / ')[2]}"
                for versus, (low, middle, high) in match["times as fast (quartiles)"].items()
                if versus.startswith(f"{who} /")
            ]
            table.add_row(name, who, f"{speed:.2f}", "\n".join(ratios))
    console.print(table)
    table = Table("policy", *map(str, LENGTHS), title="Nanoseconds a token, by length")
    for name, by_length in found["lengths"].items():
        table.add_row(name, *(f"{nanoseconds:.0f}" for nanoseconds in by_length.values()))
    console.print(table)


if __name__ == "__main__":
    main()
