"""How fast texts become vectors, beside SentenceTransformer.encode on the same model and texts; what they are worth.

    python benchmarks/embedding.py MODEL TEXTS                    # speed, both sides in turns; TEXTS has a text a line
    python benchmarks/embedding.py MODEL --similarity test.tsv    # Spearman on pairs: sentence1, sentence2, score

Contenders take turns, each in a process of its own (`turns.py`), after both have been found to give the same vectors;
ratios are within a round. Similarity is that of cosines with people's scores, as the vectors are and whitened by their
own corpus, which has no scores in it.
"""

from __future__ import annotations

import argparse
import csv
import json
from functools import partial
from pathlib import Path

import numpy as np
from turns import CLOCKS, THREADS, Turn, race, ratios

TEXTS = 512  # a turn


def texts_of(path: Path, count: int, model: str) -> list[str]:
    """Texts from all over a file, in its order, that the model takes whole: what is longer the other side cuts."""
    from unmask.inference.model import load
    from unmask.tokens.tokenizer.encode import encode

    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    encoder = load(model, device="cpu").encoder
    rows = encode(encoder.tokenizer, lines)
    lines = [line for line, row in zip(lines, rows, strict=True) if len(row.ids) <= (encoder.room or len(row.ids))]
    return lines[:: max(1, len(lines) // count)][:count]


def ours(turn: Turn, model: str, texts: list[str]) -> None:
    """Texts to vectors, again and again."""
    from unmask.inference.model import load

    asked = load(model, device="cpu")
    asked.embed(texts[:8])
    while True:
        turn()
        asked.embed(texts)


def theirs(turn: Turn, model: str, texts: list[str]) -> None:
    """The same by sentence-transformers, as it comes: batches of 32."""
    from sentence_transformers import SentenceTransformer

    asked = SentenceTransformer(model, device="cpu")
    asked.encode(texts[:8], show_progress_bar=False)
    while True:
        turn()
        asked.encode(texts, show_progress_bar=False)


def difference(model: str, texts: list[str]) -> float:
    """The largest difference between the two."""
    from sentence_transformers import SentenceTransformer

    from unmask.inference.model import load

    expected = SentenceTransformer(model, device="cpu").encode(texts, show_progress_bar=False)
    return float(np.abs(load(model, device="cpu").embed(texts) - expected).max())


def spearman(model: str, path: Path, poolings: list[str]) -> dict[str, dict[str, float]]:
    """By pooling: the rank correlation of cosines with people's scores, plain and whitened."""
    from scipy.stats import spearmanr

    from unmask.inference.model import load
    from unmask.inference.vector_store import normalised
    from unmask.inference.whitening import Whitening

    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    firsts, seconds = ([row[name] for row in rows] for name in ("sentence1", "sentence2"))
    scores = [float(row["score"]) for row in rows]
    asked, found = load(model, device="cpu"), {}

    def correlation(vectors: np.ndarray) -> float:
        unit = normalised(vectors)
        return round(float(spearmanr((unit[: len(rows)] * unit[len(rows) :]).sum(1), scores).statistic), 4)

    for pooling in poolings:
        vectors = asked.embed([*firsts, *seconds], pooling=pooling)
        found[pooling] = {"plain": correlation(vectors)}
        for directions in (None, 0, 1, 2, 4, 8):
            whitening = Whitening.fitted([vectors], directions)
            name = f"whitened, {len(whitening.directions)} directions" + (
                " (as --whiten)" if directions is None else ""
            )
            found[pooling].setdefault(name, correlation(whitening(vectors)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a directory with an encoder")
    parser.add_argument("texts", nargs="?", type=Path, help="a file with a text a line")
    parser.add_argument("--similarity", type=Path, help="a TSV file with sentence1, sentence2 and score")
    parser.add_argument("--poolings", nargs="+", default=["mean", "first", "last2", "last4"])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--count", type=int, default=TEXTS, help="texts of a turn")
    parser.add_argument("--clock", choices=[*CLOCKS], default="wall")
    arguments = parser.parse_args()
    if arguments.similarity:
        for pooling, values in spearman(arguments.model, arguments.similarity, arguments.poolings).items():
            print(pooling, json.dumps(values), flush=True)
    if arguments.texts:
        texts = texts_of(arguments.texts, arguments.count, arguments.model)
        print(
            f"{len(texts)} texts; vectors differ by at most {difference(arguments.model, texts[:64]):.1e}", flush=True
        )
        sides = {"ours": partial(ours, model=arguments.model, texts=texts)}
        sides["theirs"] = partial(theirs, model=arguments.model, texts=texts)
        threads = THREADS[arguments.clock]
        seconds = race(sides, rounds=arguments.rounds, warm=1, threads=threads, clock=arguments.clock)
        print(json.dumps({name: [round(each, 3) for each in values] for name, values in seconds.items()}))
        print(f"sentence-transformers takes {ratios(seconds, 'theirs', 'ours'):.2f} times as long ({arguments.clock})")


if __name__ == "__main__":
    main()
