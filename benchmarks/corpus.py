"""A corpus at scale: how fast it is cleaned, what near-duplicates are caught, and whether kills change a byte.

    python benchmarks/corpus.py families                    # 1,000 planted copies, 0.5 to 0.98, four scripts
    python benchmarks/corpus.py templates --count 100000    # letters of one template with other bodies: bounded time
    python benchmarks/corpus.py kills --count 50            # killed at random moments, the same SHA-256 in the end
    python benchmarks/corpus.py waves --count 1000          # memory after so many waves beside after 50
    python benchmarks/corpus.py speed --path wiki.txt       # MB/s a core, and ten times the text
    python benchmarks/corpus.py speed --path wiki.txt --datatrove other/bin/python   # … beside datatrove, in turns

`speed` asks both sides for the rules of Gopher, C4 and FineWeb and for near-duplicates by MinHash; the rules are the
same by name and not in every detail, so how many documents each keeps stands beside the times. datatrove
lives in an environment of its own (`pip install "datatrove[io,processing]"`), whose Python is given. Times under load
are noisy: processor time, children included, is what is compared.
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

import numpy as np

from unmask.corpus.collect import CollectedCorpus, collect_corpus
from unmask.corpus.near.probes import probe_of
from unmask.corpus.near.shingles import jaccard, shingles_of
from unmask.corpus.settings import CollectConfig

LEVELS = (0.5, 0.6, 0.7, 0.74, 0.8, 0.85, 0.9, 0.95, 0.98)
ALPHABETS = {"Chinese": (0x4E00, 4_000), "Japanese": (0x3041, 80), "Thai": (0x0E01, 46)}
SCRIPTS = ("English", *ALPHABETS)
SMALL_WAVE = 64 << 10  # characters of a wave, for many of them in little time; `prepare` has 4 Mi
PROCESSES = "1"  # on both sides: with two, one file of text did not come to its end in datatrove within 4 minutes


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


OURS = """
import json, resource, sys
from pathlib import Path
from unmask.corpus.collect import collect_corpus
from unmask.corpus.engines.engine import Engine
from unmask.corpus.rules.settings import choose_rules
from unmask.corpus.settings import CollectConfig
config = CollectConfig(near_duplicates=0.8, rules=choose_rules(sys.argv[3]))
corpus = collect_corpus([sys.argv[1]], Path(sys.argv[2]), config=config, engine=Engine(processes=int(sys.argv[4])))
print(json.dumps({"kept": corpus.counts["train"] + corpus.counts["valid"], "recall": str(corpus.recall)}))
"""
THEIRS = """
import json, sys
from pathlib import Path
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline import dedup, filters
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.hashing import HashConfig
source, out, workers = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
config = MinhashConfig(hash_config=HashConfig(precision=64), num_buckets=16, hashes_per_bucket=8, n_grams=5)
def run(pipeline, tasks):
    LocalPipelineExecutor(pipeline=pipeline, tasks=tasks, workers=min(tasks, workers)).run()
def read(folder):
    return JsonlReader(str(folder))
rules = [filters.GopherRepetitionFilter(), filters.GopherQualityFilter(), filters.FineWebQualityFilter()]
rules.insert(2, filters.C4QualityFilter(filter_no_terminal_punct=False))
run([read(source), *rules, JsonlWriter(str(out / "filtered"))], workers)
places = {name: str(out / name) for name in ("signatures", "buckets", "ids", "kept")}
run([read(out / "filtered"), dedup.MinhashDedupSignature(places["signatures"], config=config)], workers)
run([dedup.MinhashDedupBuckets(places["signatures"], places["buckets"], config=config)], 16)
run([dedup.MinhashDedupCluster(places["buckets"], places["ids"], config=config)], 1)
run([read(out / "filtered"), dedup.MinhashDedupFilter(places["ids"]), JsonlWriter(places["kept"])], workers)
"""


def texts_of(path: Path) -> Iterator[str]:
    from unmask.corpus.read.find import find_sources
    from unmask.corpus.read.reader import read_source
    from unmask.records import Document

    for source in find_sources([str(path)]):
        yield from (record.text for record in read_source(source) if isinstance(record, Document))


def timed(command: list[str], environment: dict[str, str] | None = None) -> tuple[float, float, int, str]:
    """Seconds of processors and of the clock, the largest process in bytes, and what was said."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    answer = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if answer.returncode:
        raise SystemExit(f"{command[0]} ended with {answer.returncode}: {answer.stderr[-600:]}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return processor, time.perf_counter() - began, after.ru_maxrss * 1024, answer.stdout.strip()


def speed(folder: Path, path: Path, datatrove: str | None, turns: int, times: int) -> None:
    """The same work by both, in turns; then so many times the text by us."""
    texts = list(texts_of(path))
    (folder / "in").mkdir()
    megabytes = write_jsonl(folder / "in" / "0.jsonl", texts).stat().st_size / 1e6
    print(f"{len(texts):,} documents, {megabytes:.0f} MB of JSONL, web rules and near-duplicates, one process each")
    ours: list[float] = []
    for turn in range(turns):
        command = [sys.executable, "-c", OURS, str(folder / "in"), str(folder / f"ours{turn}"), "web", PROCESSES]
        processor, wall, peak, said = timed(command)
        ours.append(processor)
        print(f"unmask     {processor:6.1f} s of processors, {wall:6.1f} s, {megabytes / processor:5.2f} MB/s a core")
        print(f"           {said}")
        if datatrove:
            command = [datatrove, "-c", THEIRS, str(folder / "in"), str(folder / f"theirs{turn}"), PROCESSES]
            processor, wall, peak, _ = timed(command)
            print(
                f"datatrove  {processor:6.1f} s of processors, {wall:6.1f} s, {megabytes / processor:5.2f} MB/s a core"
            )
    command = [sys.executable, "-c", OURS, str(folder / "in"), str(folder / "plain"), "none", PROCESSES]
    processor, wall, peak, said = timed(command)
    print(f"without rules {processor:6.1f} s of processors, {megabytes / processor:5.2f} MB/s a core, {said}")
    if times > 1:
        draw = np.random.default_rng(0)
        (folder / "many").mkdir()
        for number in range(times):  # each time with other words here and there, so that nothing is a duplicate
            varied = [" ".join(w if draw.random() > 0.2 else f"{w}{number}" for w in text.split(" ")) for text in texts]
            write_jsonl(folder / "many" / f"{number:03}.jsonl", varied)
        command = [sys.executable, "-c", OURS, str(folder / "many"), str(folder / "large"), "web", PROCESSES]
        processor, wall, peak, said = timed(command)
        growth = processor / float(np.median(ours))
        print(f"{times} times the text: {growth:.1f} times the processor time, largest process {peak / 1e6:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("families", "templates", "kills", "waves", "speed"))
    parser.add_argument("--count", type=int, help="planted copies, letters, kills or waves")
    parser.add_argument("--path", type=Path, help="real text, for speed")
    parser.add_argument("--datatrove", help="the Python of an environment that has datatrove")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--times", type=int, default=1, help="grow the text so many times, for speed")
    options = parser.parse_args()
    print(f"{options.what}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d')}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.what == "speed":
            speed(folder, options.path, options.datatrove, options.turns, options.times)
        else:
            work = {"families": (families, 1_000), "templates": (templates, 100_000), "kills": (kills, 50)}
            work["waves"] = (waves, 1_000)
            run, count = work[options.what]
            run(folder, options.count or count)


if __name__ == "__main__":
    main()
