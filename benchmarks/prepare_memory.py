"""Memory and processors while a corpus is prepared: does memory stay flat as the corpus grows?

    python benchmarks/prepare_memory.py                         # made-up text of 50 MB and of 500 MB
    python benchmarks/prepare_memory.py --path my_texts.txt.gz  # real text, repeated to those sizes
    python benchmarks/prepare_memory.py --stage prepare         # with the tokenizer and the encoding

Each size runs in a process of its own, which starts others to read; peak memory is the largest resident set of that
process, and that of the largest it started, as the operating system counted them. "cores" is the processor time of
all of them over the wall time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

RUN = """
import json, resource, sys, time
from pathlib import Path
stage, source, out = sys.argv[1], sys.argv[2], Path(sys.argv[3])
began = time.perf_counter()
if stage == "collect":
    from unmask.corpus.collect import collect_corpus
    counts = collect_corpus([source], out).counts
else:
    import unmask
    counts = unmask.prepare(source, out=out).counts
own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
unit = 1 if sys.platform == "darwin" else 1024
print(json.dumps({
    "seconds": time.perf_counter() - began,
    "processor": own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime,
    "peak": own.ru_maxrss * unit,
    "others": others.ru_maxrss * unit,
    "counts": counts,
}))
"""


def invented(seed: int = 0) -> Iterator[str]:
    """Documents without end: words as frequent as words are (Zipf), lines of them, no two alike."""
    draw = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlucmfwypvbgkqjxz"))
    words = np.array(["".join(draw.choice(letters[:20], draw.integers(2, 11))) for _ in range(30_000)])
    odds = 1 / np.arange(1, len(words) + 1)
    odds /= odds.sum()
    while True:
        drawn = draw.choice(words, size=200_000, p=odds)
        for start in range(0, len(drawn), 160):
            document = drawn[start : start + 160]
            yield "\n".join(" ".join(document[line : line + 40]) for line in range(0, len(document), 40))


def real(path: Path) -> Iterator[str]:
    """The documents of a file again and again, each time with a mark that keeps them from being duplicates."""
    from unmask.corpus.read.find import find_sources
    from unmask.corpus.read.reader import read_source
    from unmask.records import Document

    turn = 0
    while True:
        turn += 1
        for source in find_sources([str(path)]):
            for record in read_source(source):
                if isinstance(record, Document):
                    yield f"{record.text.rstrip()}\n({turn}, {record.line})"


def write(documents: Iterator[str], path: Path, megabytes: float) -> None:
    with path.open("wb") as file:
        for document in documents:
            file.write(document.encode() + b"\n\n")
            if file.tell() >= megabytes * 1e6:
                return


def measure(stage: str, documents: Iterator[str], megabytes: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "corpus.txt"
        write(documents, source, megabytes)
        command = [sys.executable, "-c", RUN, stage, str(source), str(Path(folder) / "out")]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(answer.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", type=Path, help="real text instead of made-up text")
    parser.add_argument("--stage", choices=("collect", "prepare"), default="collect")
    parser.add_argument("--megabytes", type=float, nargs=2, default=(50, 500), metavar=("SMALL", "LARGE"))
    options = parser.parse_args()
    print(f"{options.stage}, {os.cpu_count()} processors, {time.strftime('%Y-%m-%d')}")
    print(
        f"{'corpus':>10} {'documents':>10} {'seconds':>8} {'MB/s':>6} {'cores':>6} {'peak MB':>8} {'largest other':>14}"
    )
    peaks = []
    for megabytes in options.megabytes:
        documents = real(options.path) if options.path else invented()
        run = measure(options.stage, documents, megabytes)
        peaks.append(run["peak"])
        kept = run["counts"]["train"] + run["counts"]["valid"]
        speed, cores = megabytes / run["seconds"], run["processor"] / run["seconds"]
        print(
            f"{megabytes:>7.0f} MB {kept:>10,} {run['seconds']:>8.1f} {speed:>6.1f} {cores:>6.2f}"
            f" {run['peak'] / 1e6:>8.0f} {run['others'] / 1e6:>14.0f}"
        )
    growth = options.megabytes[1] / options.megabytes[0]
    print(f"{growth:.0f} times the corpus takes {peaks[1] / peaks[0]:.2f} times the memory")


if __name__ == "__main__":
    main()
