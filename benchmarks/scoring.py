"""How fast is `unmask score`, beside a loop that hides one token at a time and beside minicons? How good is --stride?

    python benchmarks/scoring.py run
    python benchmarks/scoring.py run --pairs pairs.jsonl.gz --sample 2000 --only stride
    python benchmarks/scoring.py run --pairs pairs.jsonl.gz --sample 512 --only pairs

All score the same sentences with the same weights by the same definition (within words from left to right), in turns,
each in a process of its own. The loop is one that somebody who knows torch would write: no gradients, tokens encoded
once, the logits of one position looked at. minicons hides all tokens of a batch of sentences at once. `--clock
processor` leaves out what others do on the machine meanwhile, on one thread.

Pairs are judged as `unmask probe` judges them, exactly and with `--quick`, beside minicons' scores of the same
sentences: in blocks of 64 that follow each other in the file.

For strides it prints, over minimal pairs: rows beside the exact score's, how well scores correlate, how often a pair is
decided alike, accuracies, and of the pairs that are clear by a margin how many the exact score decides otherwise.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np
import torch
import tyro
from turns import THREADS, Clock, Contender, Spread, Turn, race, ratios

from unmask.evaluation.probe import judge_items
from unmask.evaluation.probe_items import BUILT_IN, ProbeItem, read_item
from unmask.inference.model import load
from unmask.inference.passages import Passage, read_passages
from unmask.inference.pseudo import pseudo_rows
from unmask.inference.score import ScoreSettings
from unmask.models.load import LoadedModel, load_model
from unmask.tokens.windows import read_windows
from unmask.verbs.lines import LineSource

STRIDES = (2, 3, 4, 6, 8)
MARGINS = (2.0, 5.0, 10.0)
BLOCK = 64  # pairs that follow each other in the file


def score_by_unmask(turn: Turn, model: str, texts: list[str], done: str) -> None:
    asked = load(model)
    while True:
        turn()
        _keep(done, "unmask", [scored.score for scored in asked.score(*texts)])


def score_by_loop(turn: Turn, model: str, texts: list[str], done: str) -> None:
    lm = load_model(Path(model))
    passages = [passage for passage in read_passages(lm, texts) if isinstance(passage, Passage)]
    while True:
        turn()
        _keep(done, "loop", [_one_at_a_time(lm, passage) for passage in passages])


@torch.no_grad()
def _one_at_a_time(lm: LoadedModel, passage: Passage) -> float:
    row = torch.tensor([lm.vocabulary.start, *passage.ids.tolist(), lm.vocabulary.end])
    total = 0.0
    for place, stop in enumerate(passage.stops.tolist()):
        hidden = row.clone()
        hidden[place + 1 : stop + 1] = lm.vocabulary.mask
        logits = lm.model(input_ids=hidden[None]).logits[0, place + 1]
        total += float(logits[row[place + 1]] - logits.logsumexp(-1))
    return total


def score_by_minicons(turn: Turn, model: str, texts: list[str], done: str, batch: int) -> None:
    from minicons.scorer import MaskedLMScorer

    scorer = MaskedLMScorer(str(load(model).path), "cpu")
    scorer.tokenizer.batch_encode_plus = scorer.tokenizer.__call__  # which transformers 5 has no longer
    groups = [texts[begin : begin + batch] for begin in range(0, len(texts), batch)]
    while True:
        turn()
        total: list[float] = []
        for group in groups:
            total += scorer.sequence_score(group, reduction=lambda x: x.sum().item(), PLL_metric="within_word_l2r")
        _keep(done, "minicons", total)


def probe_by_unmask(turn: Turn, model: str, pairs: list[ProbeItem], done: str, *, name: str) -> None:
    scorer = load(model).scorer
    while True:
        turn()
        judged = list(judge_items(scorer, pairs, quick=name == "quick"))
        _keep(done, name, [score for item in judged for score in item.scores.values()])


def _keep(done: str, name: str, scores: list[float]) -> None:
    (Path(done) / f"{name}.json").write_text(json.dumps(scores), encoding="utf-8")


def _kept(done: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    return {name: np.array(json.loads((done / f"{name}.json").read_text(encoding="utf-8"))) for name in names}


def race_all(contenders: Mapping[str, Contender], what: str, rounds: int, clock: Clock) -> dict[str, list[float]]:
    """The seconds of each, in turns, printed."""
    seconds = race(contenders, rounds=rounds, warm=1, threads=THREADS[clock], clock=clock)
    print(f"{what}, {clock} clock, medians with quartiles of {rounds} rounds")
    for name, each in seconds.items():
        print(f"  {name:<9} {Spread.of(each):.2f} s")
    return seconds


def compare_speed(model: Path, texts: list[str], rounds: int, batch: int, clock: Clock, done: Path) -> None:
    given = {"model": str(model), "texts": texts, "done": str(done)}
    contenders = {
        "unmask": partial(score_by_unmask, **given),
        "loop": partial(score_by_loop, **given),
        "minicons": partial(score_by_minicons, **given, batch=batch),
    }
    seconds = race_all(contenders, f"{len(texts)} sentences", rounds, clock)
    for name in ("loop", "minicons"):
        print(f"  {name} takes {ratios(seconds, name, 'unmask'):.1f} times as long")
    scores = _kept(done, contenders)
    for name in ("loop", "minicons"):
        print(f"  largest difference to {name}: {np.abs(scores['unmask'] - scores[name]).max():.1e} nats")


def compare_pairs(model: Path, pairs: list[ProbeItem], rounds: int, batch: int, clock: Clock, done: Path) -> None:
    """Minimal pairs, as `unmask probe` judges them."""
    texts = [text for pair in pairs for text in pair.choices]
    contenders = {
        name: partial(probe_by_unmask, model=str(model), pairs=pairs, done=str(done), name=name)
        for name in ("unmask", "quick")
    }
    contenders["minicons"] = partial(score_by_minicons, model=str(model), texts=texts, done=str(done), batch=batch)
    seconds = race_all(contenders, f"{len(pairs)} pairs", rounds, clock)
    for name in ("unmask", "quick"):
        print(f"  minicons takes {ratios(seconds, 'minicons', name):.2f} times as long as {name}")
    prefers = {name: each.reshape(-1, 2) @ [1, -1] > 0 for name, each in _kept(done, contenders).items()}
    for name in ("quick", "minicons"):
        unlike = (prefers[name] != prefers["unmask"]).sum()
        print(f"  {name} decides {unlike} of {len(pairs)} pairs otherwise; accuracy {prefers[name].mean():.1%}")


@dataclass(frozen=True)
class PairScores:
    """The scores of good and bad sentences, and the rows that they took."""

    scores: np.ndarray  # N 2
    rows: int
    seconds: float

    @property
    def difference(self) -> np.ndarray:
        return self.scores[:, 0] - self.scores[:, 1]


def score_pairs(model: Path, pairs: list[ProbeItem], stride: int | None) -> PairScores:
    asked, texts = load(model), [text for pair in pairs for text in pair.choices]
    lm = asked.masked
    rows = sum(
        1
        for passage in read_passages(lm, texts)
        if isinstance(passage, Passage)
        for _ in pseudo_rows(0, passage, read_windows(len(passage.ids), lm.room), lm.vocabulary, stride)
    )
    begun = time.perf_counter()
    scored = asked.scorer.score(texts, ScoreSettings(stride=stride))
    values = [each.score for each in scored if not isinstance(each, Exception)]
    return PairScores(np.array(values).reshape(-1, 2), rows, time.perf_counter() - begun)


def compare_strides(model: Path, pairs: list[ProbeItem]) -> None:
    exact = score_pairs(model, pairs, None)
    right = exact.difference > 0
    print(f"{len(pairs):,} pairs, {exact.rows:,} rows exactly: accuracy {right.mean():.1%}")
    for stride in STRIDES:
        strided = score_pairs(model, pairs, stride)
        alike = (strided.difference > 0) == right
        correlation = np.corrcoef(exact.scores.ravel(), strided.scores.ravel())[0, 1]
        line = f"  stride {stride}: rows × {strided.rows / exact.rows:.2f}, correlation {correlation:.3f}, "
        line += f"decided alike {alike.mean():.1%}, accuracy {(strided.difference > 0).mean():.1%}"
        clear = {margin: np.abs(strided.difference) > margin for margin in MARGINS}
        line += "; otherwise among the clear: "
        line += ", ".join(f"{(~alike & far).sum()} of {far.sum()} by {margin:g}" for margin, far in clear.items())
        print(line, flush=True)


def read_pairs(path: Path, sample: int, block: int = 1) -> list[ProbeItem]:
    """Minimal pairs of a file, evenly taken, so many at a time."""
    lines = [line.decode() for chunk in LineSource(path, None).chunks() for _, line in chunk if line.strip()]
    pairs = [item for item in map(read_item, lines) if item.sentences]
    begins = range(0, len(pairs), max(1, len(pairs) * block // sample))
    return [pair for begin in begins for pair in pairs[begin : begin + block]][:sample]


def main(
    model: Path,
    /,
    pairs: Path = BUILT_IN,
    sample: int = 1000,
    texts: int = 64,
    rounds: int = 7,
    batch: int = 8,
    clock: Clock = "wall",
    only: Literal["speed", "pairs", "stride", "both"] = "both",
) -> None:
    if only == "pairs":
        with TemporaryDirectory() as done:
            compare_pairs(model, read_pairs(pairs, sample, BLOCK), rounds, batch, clock, Path(done))
        return
    chosen = read_pairs(pairs, sample)
    if only != "stride":
        sentences = [text for pair in chosen[:: max(1, len(chosen) * 2 // texts)] for text in pair.choices][:texts]
        with TemporaryDirectory() as done:
            compare_speed(model, sentences, rounds, batch, clock, Path(done))
    if only != "speed":
        compare_strides(model, chosen)


if __name__ == "__main__":
    tyro.cli(main)
