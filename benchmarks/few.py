"""What a handful of labels is worth: a head, pairs and patterns from the same model, on the same draws.

    python benchmarks/few.py run train.jsonl test.jsonl
    python benchmarks/few.py run train.jsonl test.jsonl --few 8 --draws 3 --texts 400

Each way learns the same examples of each draw and is judged on the same test texts, so differences are paired by draw:
what is left of them is not the luck of the draw. Draws that were made are in `--out` and are not made again.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import numpy as np
import tyro

import unmask
from unmask.intervals import ratio_figure


def sample(test: Path, texts: int | None, folder: Path) -> Path:
    """The test file, or an even sample of its lines."""
    lines = test.read_text(encoding="utf-8").splitlines(keepends=True)
    if texts is None or texts >= len(lines):
        return test
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [lines[number * len(lines) // texts] for number in range(texts)]
    part = folder / f"test-{texts}.jsonl"
    part.write_text("".join(chosen), encoding="utf-8")
    return part


def differences(result: unmask.FewTuned) -> dict[str, unmask.Figure]:
    """By way, how much more of the test texts it has right than the head, paired by draw."""
    head, *others = result.methods
    return {
        method.name: ratio_figure(
            np.array([one.accuracy - two.accuracy for one, two in zip(method.draws, head.draws, strict=True)]),
            np.ones(len(head.draws)),
        )
        for method in others
    }


def main(
    run: Path,
    train: Path,
    test: Path,
    /,
    few: int = 16,
    draws: int = 5,
    texts: int | None = None,
    patterns: Path | None = None,
    out: Path = Path("benchmarks/results/few"),
) -> None:
    """Learn a few labels in three ways and print what each comes to.

    Args:
        run: A run or a masked-LM directory.
        train: Labelled examples to draw from.
        test: Labelled examples to judge by.
        few: Examples of each label.
        draws: How often they are drawn.
        texts: Judge by an even sample of so many test texts.
        patterns: Patterns and words of labels, instead of general ones.
        out: Where runs are kept.
    """
    place = out / f"few-{few}"
    options = {"test": sample(test, texts, out), "few": few, "draws": draws, "patterns": patterns}
    result = unmask.tune("classify", run, train, out=place, resume=True, **options)
    assert isinstance(result, unmask.FewTuned)
    print(f"{few} examples of each of {len(result.labels)} labels, {draws} draws, {result.test_examples} test texts")
    apart = differences(result)
    for method in result.methods:
        figure, seconds = method.accuracy, fmean(draw.seconds for draw in method.draws)
        line = f"  {method.name:9} accuracy {figure.value:.1%} ({figure.low:.1%} – {figure.high:.1%})"
        line += f", ± {method.deviation:.1%} between draws, {seconds:.0f} s of steps"
        if method.name in apart:
            more = apart[method.name]
            line += f"; {more.value:+.1%} ({more.low:+.1%} – {more.high:+.1%}) to the head"
        print(line)


if __name__ == "__main__":
    tyro.cli(main)
