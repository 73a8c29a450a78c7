"""How fast a corpus is read, judged, compared and encoded: the part of `corpus.py` that measures times and bytes.

In: the path of real text. Out: lines of figures. What is timed runs in processes of its own, in turns where there are
two sides; processor time is what is comparable while others use the machine.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

FILES = 8  # of input: each side shares files out to its processes

PART = """
import json, sys, time
from pathlib import Path
from unmask.corpus.parts import cut_parts
from unmask.corpus.read.find import find_sources
from unmask.corpus.read_part import read_part
from unmask.corpus.rules.settings import choose_rules
from unmask.corpus.settings import CollectConfig
(part,) = cut_parts(find_sources([sys.argv[1]]), 1 << 62)
config = CollectConfig(near_duplicates=0.8, rules=choose_rules(sys.argv[3]))
out = Path(sys.argv[2])
out.mkdir()
began = time.process_time()
done = read_part(part, config, out, out / "corpus", lambda done, documents: None)
summary = json.loads((done / "summary.json").read_text())
print(json.dumps({"seconds": time.process_time() - began, "kept": summary["kept"], "read": summary["read"]}))
"""
OURS = """
import json, resource, sys
from pathlib import Path
from unmask.corpus.collect import collect_corpus
from unmask.corpus.engines.engine import Engine
from unmask.corpus.rules.settings import choose_rules
from unmask.corpus.settings import CollectConfig
config = CollectConfig(near_duplicates=0.8, rules=choose_rules(sys.argv[3]))
corpus = collect_corpus([sys.argv[1]], Path(sys.argv[2]), config=config, engine=Engine(processes=int(sys.argv[4])))
own, others = (resource.getrusage(who).ru_maxrss * 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
kept = corpus.counts["train"] + corpus.counts["valid"]
print(json.dumps({"kept": kept, "recall": str(corpus.recall), "driver": own, "reader": others}))
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

def run(pipeline, tasks, workers):
    # By fork, so that the processor time of its processes comes back to the one that waits for them.
    LocalPipelineExecutor(pipeline=pipeline, tasks=tasks, workers=workers, start_method="fork").run()

def main():
    source, out, workers, tasks = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    config = MinhashConfig(hash_config=HashConfig(precision=64), num_buckets=16, hashes_per_bucket=8, n_grams=5)
    rules = [filters.GopherRepetitionFilter(), filters.GopherQualityFilter()]
    rules += [filters.C4QualityFilter(filter_no_terminal_punct=False), filters.FineWebQualityFilter()]
    places = {name: str(out / name) for name in ("filtered", "signatures", "buckets", "ids", "kept")}
    run([JsonlReader(str(source)), *rules, JsonlWriter(places["filtered"])], tasks, workers)
    read = JsonlReader(places["filtered"])
    run([read, dedup.MinhashDedupSignature(places["signatures"], config=config)], tasks, workers)
    run([dedup.MinhashDedupBuckets(places["signatures"], places["buckets"], config=config)], 16, workers)
    run([dedup.MinhashDedupCluster(places["buckets"], places["ids"], config=config)], 1, 1)
    run([read, dedup.MinhashDedupFilter(places["ids"]), JsonlWriter(places["kept"])], tasks, workers)
    import gzip
    kept = sum(1 for file in Path(places["kept"]).glob("*.gz") for _ in gzip.open(file))
    print(json.dumps({"kept": kept}))

if __name__ == "__main__":
    main()
"""
DECIDING = """
import json, sys, time, tracemalloc
from pathlib import Path
from unmask.corpus import collect
from unmask.corpus.engines.engine import Engine
from unmask.corpus.settings import CollectConfig
inner, spent = collect.find_near_duplicates, {}
def measured(*given):
    if sys.argv[3] == "bytes":  # what Python and numpy ask for; what is mapped from the disk is not in it
        tracemalloc.start()
    began = time.process_time()
    found = inner(*given)
    spent["spent"] = tracemalloc.get_traced_memory()[1] if sys.argv[3] == "bytes" else time.process_time() - began
    return found
collect.find_near_duplicates = measured
config = CollectConfig(near_duplicates=0.8)
collect.collect_corpus([sys.argv[1]], Path(sys.argv[2]), config=config, engine=Engine(processes=1))
print(json.dumps(spent))
"""
MOVED = """
import json, sys
from pathlib import Path
import unmask
from unmask.corpus.collect import collect_corpus
from unmask.corpus.settings import CollectConfig
source, out = sys.argv[1], Path(sys.argv[2])
stage = out / "stage"
stage.mkdir(parents=True)
corpus = collect_corpus([source], out / "corpus", config=CollectConfig(near_duplicates=0.8), stage=stage)
def size(folder, *names):
    return sum(path.stat().st_size for name in names for path in folder.rglob(name))
data = unmask.prepare(source, out=out / "data", near_duplicates=0.8)
print(json.dumps({
    "text": sum(corpus.text_bytes.values()),
    "staged text": size(stage, "documents.parquet"),
    "staged keys": size(stage, "keys.bin", "digests.bin", "sizes.bin"),
    "staged shingles": size(stage, "shingles.bin", "shingle_ends.bin", "wanted.bin"),
    "documents": size(out / "data" / "documents", "*.parquet"),
    "tokens": size(out / "data", "*.tokens.npy", "*.words.npy", "*.ends.npy"),
}))
"""
ENCODE = """
import json, sys, time
from pathlib import Path
from transformers import AutoTokenizer
from unmask.tokens.encode_split import encode_split
from unmask.tokens.store.documents import BATCH, read_documents
side, data, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
tokenizer = AutoTokenizer.from_pretrained(data / "tokenizer")
documents = data / "documents" / "train"
def raw():
    # The ids alone, by the same batches and threads: what nobody can do without.
    backend = tokenizer.backend_tokenizer
    backend.encode_special_tokens = True
    texts = [text for batch, _ in read_documents(documents) for text in batch]
    began, processor = time.perf_counter(), time.process_time()
    tokens = 0
    for start in range(0, len(texts), BATCH):
        encodings = backend.encode_batch(texts[start : start + BATCH], add_special_tokens=False)
        tokens += sum(len(encoding.ids) for encoding in encodings)
    return tokens, time.perf_counter() - began, time.process_time() - processor
def ours():
    began, processor = time.perf_counter(), time.process_time()
    shards, _ = encode_split(documents, out, tokenizer, shard_tokens=1 << 26, finders={}, segmenter=None,
                             step=lambda *given, **more: None)
    return shards.tokens, time.perf_counter() - began, time.process_time() - processor
tokenizer.backend_tokenizer.encode_batch(["warm"] * 64)
count, wall, processor = {"raw": raw, "ours": ours}[side]()
print(json.dumps({"tokens": count, "wall": wall, "processor": processor}))
"""


def texts_of(path: Path) -> Iterator[str]:
    """The documents of a path."""
    from unmask.corpus.read.find import find_sources
    from unmask.corpus.read.reader import read_source
    from unmask.records import Document

    for source in find_sources([str(path)]):
        yield from (record.text for record in read_source(source) if isinstance(record, Document))


def write_input(path: Path, folder: Path, megabytes: float, vary: Callable[[str], str] = str) -> tuple[int, float]:
    """Text as JSONL in several files, up to a size; how many documents and megabytes that is."""
    folder.mkdir(exist_ok=True)
    documents = size = 0
    files = [(folder / f"{number:03}.jsonl").open("w", encoding="utf-8") for number in range(FILES)]
    for text in texts_of(path):
        line = json.dumps({"text": vary(text)}, ensure_ascii=False) + "\n"
        files[documents % FILES].write(line)
        documents, size = documents + 1, size + len(line.encode())
        if size >= megabytes * 1e6:
            break
    for file in files:
        file.close()
    return documents, size / 1e6


def timed(command: list[str], folder: Path | None = None) -> tuple[float, float, dict[str, object]]:
    """Seconds of processors and of the clock, and what was said."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    answer = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if answer.returncode:
        raise SystemExit(f"{command[0]} ended with {answer.returncode}: {answer.stderr[-1_500:]}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return processor, time.perf_counter() - began, json.loads(answer.stdout.strip().splitlines()[-1])


def core(folder: Path, path: Path, megabytes: float, turns: int) -> None:
    """One process over one part: reading, cleaning, rules and signatures, without and with rules, in turns."""
    documents, size = write_input(path, folder / "in", megabytes)
    whole = folder / "one.jsonl"
    with whole.open("wb") as file:
        for part in sorted((folder / "in").iterdir()):
            file.write(part.read_bytes())
    print(f"{documents:,} documents, {size:.0f} MB of JSONL; one process, processor time of reading to signatures")
    rates: dict[str, list[float]] = {"none": [], "web": []}
    os.environ["OMP_NUM_THREADS"] = "1"
    for turn in range(turns):
        for rules, seen in rates.items():
            _, _, said = timed([sys.executable, "-c", PART, str(whole), str(folder / f"{rules}{turn}"), rules])
            seen.append(size / float(str(said["seconds"])))
    for rules, seen in rates.items():
        print(f"--filters {rules:5} {statistics.median(seen):5.2f} MB/s a core ({min(seen):.2f} to {max(seen):.2f})")


def speed(folder: Path, path: Path, megabytes: float, datatrove: str | None, turns: int, workers: int) -> None:
    """The same work by both, with as many processes, in turns."""
    documents, size = write_input(path, folder / "in", megabytes)
    print(f"{documents:,} documents, {size:.0f} MB of JSONL, web rules and near-duplicates, {workers} processes each")
    (folder / "theirs.py").write_text(THEIRS)
    seconds: dict[str, list[tuple[float, float]]] = {"unmask": [], "datatrove": []}
    for turn in range(turns):
        sides = {
            "unmask": [sys.executable, "-c", OURS, str(folder / "in"), str(folder / f"o{turn}"), "web", str(workers)]
        }
        if datatrove:
            more = [str(folder / "in"), str(folder / f"t{turn}"), str(workers), str(FILES)]
            sides["datatrove"] = [datatrove, str(folder / "theirs.py"), *more]
        for side, command in sides.items():
            processor, wall, said = timed(command, folder)  # where datatrove leaves its logs
            seconds[side].append((processor, wall))
            rate = f"{size / processor:5.2f} MB/s a core, {size / wall:5.2f} MB/s"
            print(f"{side:10} {processor:7.1f} s of processors, {wall:7.1f} s, {rate}, {said['kept']:,} documents stay")
    if datatrove:
        ratios = [statistics.median(t[n] / o[n] for o, t in zip(*seconds.values(), strict=True)) for n in (0, 1)]
        print(f"datatrove takes {ratios[0]:.1f} times the processor time and {ratios[1]:.1f} times the time")


def growth(folder: Path, path: Path, megabytes: float, times: int, workers: int) -> None:
    """So many times the text: how much more time, and how much memory."""
    draw = np.random.default_rng(0)

    def varied(number: int) -> Callable[[str], str]:
        """Other words here and there each time, so that nothing is a duplicate."""

        def vary(text: str) -> str:
            words = text.split(" ")
            for place in np.flatnonzero(draw.random(len(words)) < 0.2).tolist():
                words[place] += str(number)
            return " ".join(words)

        return vary

    _, size = write_input(path, folder / "in", megabytes)
    for number in range(times):
        for file in (folder / "many" / f"{number}",):
            file.mkdir(parents=True)
            write_input(path, file, megabytes, varied(number))
    rows = {}
    for name, source in (("once", "in"), ("many", "many")):
        command = [sys.executable, "-c", OURS, str(folder / source), str(folder / f"{name}.out"), "web", str(workers)]
        processor, wall, said = timed(command)
        driver, reader = int(str(said["driver"])), int(str(said["reader"]))
        rows[name] = processor, wall
        most = driver + workers * reader
        print(
            f"{name}: {processor:7.1f} s of processors, {wall:7.1f} s; largest driver {driver / 1e6:.0f} MB, reader "
            f"{reader / 1e6:.0f} MB, together at most {most / 1e6:.0f} MB; {said['kept']:,} documents stay"
        )
    more = [many / once for once, many in zip(rows["once"], rows["many"], strict=True)]
    print(f"{times} times {size:.0f} MB: {more[0]:.1f} times the processor time, {more[1]:.1f} times the time")


def tokens(folder: Path, path: Path, megabytes: float, turns: int) -> None:
    """Encoding as `prepare` does it, beside the ids alone from `tokenizers`: the same batches, threads and text."""
    import unmask

    write_input(path, folder / "in", megabytes)
    unmask.prepare(str(folder / "in"), out=folder / "data")
    size = sum(len(text.encode()) for text in texts_of(folder / "in")) / 1e6
    seen: dict[str, list[tuple[float, float]]] = {"raw": [], "ours": []}
    for turn in range(turns):
        for side, rows in seen.items():
            _, _, said = timed(
                [sys.executable, "-c", ENCODE, side, str(folder / "data"), str(folder / f"{side}{turn}")]
            )
            rows.append((float(str(said["wall"])), float(str(said["processor"]))))
    for side, rows in seen.items():
        wall, processor = (statistics.median(row[n] for row in rows) for n in (0, 1))
        print(f"{side:5} {wall:6.2f} s, {processor:6.2f} s of processors, {size / wall:5.1f} MB/s")
    ratios = [statistics.median(o[n] / r[n] for r, o in zip(*seen.values(), strict=True)) for n in (0, 1)]
    print(
        f"reading, encoding, word beginnings and shards take {ratios[0]:.2f} times the time of raw tokenizers, ", end=""
    )
    print(f"{ratios[1]:.2f} times the processor time")


def cost(folder: Path, path: Path, megabytes: float) -> None:
    """What a document that shares a key costs the one that decides, and the bytes that are moved for each of text."""
    from unmask.corpus.near.probes import probe_of

    texts = [text for text in texts_of(path) if 500 < len(text) < 5_000][: int(megabytes * 250)]
    half = texts[: len(texts) // 2]
    copies = [probe_of(text, 0.85, number) or text for number, text in enumerate(half)]
    more = {}
    for what in ("seconds", "bytes"):
        spent = {}
        for name, lines in (("alone", texts), ("pairs", [*half, *copies])):
            source = folder / f"{name}.jsonl"
            source.write_text("".join(json.dumps({"text": text}) + "\n" for text in lines))
            *_, said = timed([sys.executable, "-c", DECIDING, str(source), str(folder / f"{name}-{what}"), what])
            spent[name] = float(str(said["spent"]))
        more[what] = (spent["pairs"] - spent["alone"]) / len(texts)
    print(f"{len(texts):,} documents that share a key, beside as many that share none: ", end="")
    print(f"{1e6 * more['seconds']:.0f} µs of processor and {more['bytes'] / 1e3:.1f} kB more each, in the driver")
    documents, size = write_input(path, folder / "in", megabytes)
    *_, moved = timed([sys.executable, "-c", MOVED, str(folder / "in"), str(folder / "moved")])
    text = float(str(moved.pop("text")))
    shares = ", ".join(f"{name} {float(str(count)) / text:.2f}" for name, count in moved.items())
    print(f"bytes for each byte of text, of {size:.0f} MB and {documents:,} documents: {shares}")
