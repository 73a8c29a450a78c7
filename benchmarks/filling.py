"""How long filling a blank takes, beside transformers' fill-mask pipeline, in turns, on the same model and texts.

    python benchmarks/filling.py run
    python benchmarks/filling.py run --clock processor     # where the machine is never quiet

Both keep the model in memory and give five candidates for each text: one text at a time, or many in one call. The
pipeline computes logits at every position and answers many texts one after the other, unless it is told a batch size;
it is told one here.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import tyro
from turns import THREADS, Clock, Spread, Turn, race, ratios

SENTENCE = "the village was founded in the early part of a century and its church is known for two towers"
MANY = 64
CASES = (("one short text", 1, 1), ("one text of a hundred words", 1, 20), (f"{MANY} short texts in one call", MANY, 1))


def texts(count: int, times: int, mask: str) -> list[str]:
    """Texts of 5 to 18 words, or of so many times as many, one of them blank; every one another."""
    found = []
    for number in range(count):
        words = SENTENCE.split()[: 5 + number % 14] * times
        words[number % len(words)] = mask
        found.append(" ".join(words) + ".")
    return found


def ours(turn: Turn, *, run: Path, count: int, times: int) -> None:
    """`unmask.load(run).fill`, again and again."""
    import unmask

    model = unmask.load(run)
    asked = texts(count, times, "[MASK]")
    model.fill(*asked)
    while True:
        turn()
        model.fill(*asked)


def theirs(turn: Turn, *, run: Path, count: int, times: int) -> None:
    """`pipeline("fill-mask")`, again and again."""
    from transformers import pipeline

    from unmask.models.locate import model_directory

    fill = pipeline("fill-mask", model=str(model_directory(run)))
    asked = texts(count, times, fill.tokenizer.mask_token)
    fill(asked, batch_size=min(count, MANY))
    while True:
        turn()
        fill(asked, batch_size=min(count, MANY))


def main(run: Path, /, rounds: int = 30, clock: Clock = "wall") -> None:
    """Fill one text, short or long, and many in one call.

    Args:
        run: A run or a masked-LM directory.
        rounds: Turns of each.
        clock: Seconds of the wall, or those that the processor worked for it.
    """
    each = {}
    for name, count, times in CASES:
        case = {"run": run, "count": count, "times": times}
        sides = {"unmask": partial(ours, **case), "pipeline": partial(theirs, **case)}
        seconds = race(sides, rounds=rounds, threads=THREADS[clock], clock=clock)
        spreads = {side: Spread.of([1_000 * one / count for one in seconds[side]]) for side in sides}
        each[name] = spreads["unmask"].median
        print(
            f"{name}: unmask {spreads['unmask']:.2f} ms a text, pipeline {spreads['pipeline']:.2f} ms; "
            f"the pipeline takes {ratios(seconds, 'pipeline', 'unmask'):.2f} times as long",
            flush=True,
        )
    one, _, many = each.values()
    print(f"many at once: {one / many:.1f} times as many texts a second as one after the other")


if __name__ == "__main__":
    tyro.cli(main)
