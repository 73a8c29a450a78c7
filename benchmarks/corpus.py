"""A corpus at scale: how fast it is cleaned, what near-duplicates are caught, and whether kills change a byte.

    python benchmarks/corpus.py families                    # 1,000 planted copies, 0.5 to 0.98, four scripts
    python benchmarks/corpus.py templates --count 100000    # letters of one template with other bodies: bounded time
    python benchmarks/corpus.py kills --count 50            # killed at random moments, the same SHA-256 in the end
    python benchmarks/corpus.py waves --count 1000          # memory after so many waves beside after 50
    python benchmarks/corpus.py core --path wiki.txt        # reading, cleaning, rules and signatures: MB/s a core
    python benchmarks/corpus.py speed --path wiki.txt --datatrove other/bin/python   # all of it beside datatrove
    python benchmarks/corpus.py growth --path wiki.txt      # ten times the text: how much more time, how much memory
    python benchmarks/corpus.py tokens --path wiki.txt      # encoding beside raw tokenizers
    python benchmarks/corpus.py cost --path wiki.txt        # of a document that shares a key, and bytes moved

`--megabytes` takes less of the text. `speed` asks both sides for the rules of Gopher, C4 and FineWeb and for
near-duplicates by MinHash, with as many processes (`--workers`), in turns; the rules are the same by name and not in
every detail, so how many documents each keeps stands beside the times. datatrove lives in an environment of its own
(`pip install "datatrove[io,processing]"`), whose Python is given. Times under load are noisy: processor time, children
included, is what is compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import corpus_speed
import numpy as np

from unmask.corpus.collect import CollectedCorpus, collect_corpus
from unmask.corpus.near.probes import probe_of
from unmask.corpus.near.shingles import jaccard, shingles_of
from unmask.corpus.settings import CollectConfig

LEVELS = (0.5, 0.6, 0.7, 0.74, 0.8, 0.85, 0.9, 0.95, 0.98)
ALPHABETS = {"Chinese": (0x4E00, 4_000), "Japanese": (0x3041, 80), "Thai": (0x0E01, 46)}
SCRIPTS = ("English", *ALPHABETS)
SMALL_WAVE = 64 << 10  # characters of a wave, for many of them in little time; `prepare` has 4 Mi


def invented(script: str, seed: int, words: int = 400) -> str:
    """A text of words drawn as often as words are (Zipf), or of characters in a script without spaces."""
    draw = np.random.default_rng([seed, len(script)])
    if script == "English":
        return " ".join(f"word{number}" for number in draw.zipf(1.3, words) % 30_000)
    first, size = ALPHABETS[script]
    return "".join(chr(first + int(number)) for number in draw.integers(0, size, words))


def write_jsonl(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts), encoding="utf-8")
    return path


def removed_numbers(corpus: CollectedCorpus) -> set[int]:
    import pyarrow.parquet as pq

    table = corpus.path / "removed.parquet"
    return set(pq.read_table(table, columns=["number"])["number"].to_pylist()) if table.exists() else set()


def families(folder: Path, count: int) -> None:
    """Copies at known similarities: which are caught."""
    originals = [invented(SCRIPTS[n % 4], n) for n in range(count)]
    copies = [probe_of(text, LEVELS[n // 4 % len(LEVELS)], n) for n, text in enumerate(originals)]
    lines = [*originals, *(copy or "nothing could be made of this one" for copy in copies)]
    began = time.process_time()
    path = write_jsonl(folder / "planted.jsonl", lines)
    corpus = collect_corpus([str(path)], folder / "corpus", config=CollectConfig(near_duplicates=0.8))
    gone = removed_numbers(corpus)
    hits: dict[tuple[str, float], list[bool]] = defaultdict(list)
    for n, (text, copy) in enumerate(zip(originals, copies, strict=True)):
        if copy:
            one, other = (np.unique(shingles_of([each]).hashes) for each in (text, copy))
            level = np.floor(jaccard(one, other) * 20) / 20
            hits[SCRIPTS[n % 4], float(level)].append(n + 1 in gone or count + n + 1 in gone)
    print(f"{count:,} planted copies, {time.process_time() - began:.1f} s of processor time; run: {corpus.recall}")
    levels = sorted({level for _, level in hits})
    print("similarity from " + " ".join(f"{level:>6.2f}" for level in levels))
    for script in SCRIPTS:
        shares = (f"{np.mean(hits[script, level]):6.3f}" if hits[script, level] else "     –" for level in levels)
        print(f"{script:>15} " + " ".join(shares))
    above = [hit for (_, level), each in hits.items() if level >= 0.85 for hit in each]
    below = [hit for (_, level), each in hits.items() if level < 0.75 for hit in each]
    print(
        f"0.85 and above: caught {np.mean(above):.4f} of {len(above)}; below 0.75: dropped {sum(below)} of {len(below)}"
    )


def templates(folder: Path, count: int) -> None:
    """Letters of one template with other bodies: none may go."""
    template = " ".join(f"clause{n}" for n in range(60))
    letters = (f"{template} {invented('English', seed, 40)}" for seed in range(count))
    path = write_jsonl(folder / "letters.jsonl", list(letters))
    began, wall = time.process_time(), time.perf_counter()
    corpus = collect_corpus([str(path)], folder / "corpus", config=CollectConfig(near_duplicates=0.8))
    seconds = time.process_time() - began
    print(f"{count:,} letters of one template: {corpus.counts['near_duplicate']:,} left out,", end=" ")
    print(f"{seconds:.0f} s here, {time.perf_counter() - wall:.0f} s in all; {corpus.recall}")


RUN = """
import sys
from pathlib import Path
from unmask.corpus.collect import collect_corpus
from unmask.corpus.engines.engine import Engine
from unmask.corpus.settings import CollectConfig
config = CollectConfig(near_duplicates=0.8)
collect_corpus([sys.argv[1]], Path(sys.argv[2]), config=config, engine=Engine(processes=2), part_bytes=200_000)
"""


def digest_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()


def kills(folder: Path, count: int) -> None:
    """Killed again and again at random moments, then left to end."""
    texts = [invented(SCRIPTS[n % 4], n % 2_500) + f" {n % 2_600}" for n in range(4_000)]
    path = write_jsonl(folder / "in.jsonl", texts)
    command = [sys.executable, "-c", RUN, str(path)]
    began = time.perf_counter()
    subprocess.run([*command, str(folder / "whole")], check=True)
    seconds, digest = time.perf_counter() - began, digest_of(folder / "whole")
    ended = same = 0
    for number in range(count + 1):
        process = subprocess.Popen([*command, str(folder / "killed")])
        if number < count:
            time.sleep(random.Random(number).uniform(0, seconds))
            process.kill()
        process.wait()
        if (folder / "killed").exists():  # it was done before it was killed: the next ones begin again
            ended += 1
            same += digest_of(folder / "killed") == digest
            shutil.rmtree(folder / "killed")
    print(f"{count} kills within {seconds:.1f} s: {ended} runs came to their end, {same} with the same SHA-256")


def waves(folder: Path, count: int) -> None:
    """Memory of the process that reads, after 50 waves and after many: documents that come and go leave nothing."""
    from unmask.corpus.parts import cut_parts
    from unmask.corpus.read import waves as reading
    from unmask.corpus.read.find import find_sources
    from unmask.corpus.read_part import read_part
    from unmask.corpus.rules.settings import choose_rules

    reading.WAVE = SMALL_WAVE
    with (folder / "in.jsonl").open("w", encoding="utf-8") as file:
        size = seed = 0
        while size < SMALL_WAVE * (count + 1):
            text = invented(SCRIPTS[seed % 4], seed)
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
            size, seed = size + len(text), seed + 1
    resident: list[int] = []
    read = reading.CorpusReader.waves

    def measured(reader: reading.CorpusReader) -> Iterator[object]:
        for wave in read(reader):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            resident.append(pages * resource.getpagesize())
            yield wave

    reading.CorpusReader.waves = measured  # type: ignore[method-assign, assignment]
    (part,) = cut_parts(find_sources([str(folder / "in.jsonl")]), 1 << 62)
    config = CollectConfig(near_duplicates=0.8, rules=choose_rules("web", language="any"))
    read_part(part, config, folder, folder / "out", lambda done, documents: None)
    early, late = (max(resident[number - 10 : number]) for number in (50, len(resident)))
    print(f"{len(resident):,} waves of {SMALL_WAVE >> 10} Ki characters, {seed:,} documents, web rules and signatures")
    print(f"resident after 50: {early / 1e6:.0f} MB, at the end: {late / 1e6:.0f} MB, {late / early - 1:+.1%}")


COUNTED = {
    "families": (families, 1_000),
    "templates": (templates, 100_000),
    "kills": (kills, 50),
    "waves": (waves, 1_000),
}
OF_TEXT = {
    "core": (corpus_speed.core, ("turns",)),
    "speed": (corpus_speed.speed, ("datatrove", "turns", "workers")),
    "growth": (corpus_speed.growth, ("times", "workers")),
    "tokens": (corpus_speed.tokens, ("turns",)),
    "cost": (corpus_speed.cost, ()),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=(*COUNTED, *OF_TEXT))
    parser.add_argument("--count", type=int, help="planted copies, letters, kills or waves")
    parser.add_argument("--path", type=Path, help="real text, for what is measured of it")
    parser.add_argument("--megabytes", type=float, default=1e9, help="of the text; otherwise all")
    parser.add_argument("--datatrove", help="the Python of an environment that has datatrove")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--times", type=int, default=10, help="the text grows so many times")
    parser.add_argument("--workers", type=int, default=2, help="processes of each side")
    options = parser.parse_args()
    print(f"{options.what}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d')}")
    with tempfile.TemporaryDirectory() as name:
        if options.what in COUNTED:
            run, count = COUNTED[options.what]
            run(Path(name), options.count or count)
        elif options.path is None:
            parser.error(f"{options.what} needs --path")
        else:
            measure, asks = OF_TEXT[options.what]
            measure(Path(name), options.path, options.megabytes, *(getattr(options, each) for each in asks))


if __name__ == "__main__":
    main()
