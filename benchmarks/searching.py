"""How long an exact search of a million vectors takes, and in how much memory; what faiss finds of it; how good it is.

    python benchmarks/searching.py                          # a million random vectors of 256: p50, p95, memory
    python benchmarks/searching.py --faiss                  # and faiss beside it: recall@10, p95
    python benchmarks/searching.py --beir FOLDER --model M  # nDCG@10 by words, by vectors and by both, on a BEIR folder

Memory is what the process has taken for itself (RssAnon): the vectors are read by memory map, and the pages of the file
belong to the system, which takes them back when it needs them; the peak of both together is printed too. Random vectors
are the worst case for faiss: no two of them are near.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.lib.format import open_memmap

from unmask.inference.dense import nearest
from unmask.inference.vector_store import array_blocks, normalised


def write_random(path: Path, count: int, width: int, dtype: str) -> np.ndarray:
    """Random vectors of length one in a file, read by memory map."""
    rng = np.random.default_rng(0)
    array = open_memmap(path, mode="w+", dtype=np.dtype(dtype), shape=(count, width))
    for begin in range(0, count, 50_000):
        rows = min(50_000, count - begin)
        array[begin : begin + rows] = normalised(rng.normal(size=(rows, width)).astype(np.float32))
    array.flush()
    del array
    return np.load(path, mmap_mode="r")


def anonymous() -> int:
    """Bytes that this process has taken for itself."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def percentiles(seconds: list[float]) -> str:
    p50, p95 = np.percentile(seconds, [50, 95]) * 1000
    return f"p50 {p50:.0f} ms, p95 {p95:.0f} ms over {len(seconds)} queries"


def million(count: int, width: int, dtype: str, queries: int, with_faiss: bool, threads: int | None) -> None:
    """Search random vectors, one query at a time."""
    with TemporaryDirectory() as folder:
        vectors = write_random(Path(folder) / "vectors.npy", count, width, dtype)
        asked = normalised(np.random.default_rng(1).normal(size=(queries, width)).astype(np.float32))
        nearest(asked[:1], array_blocks(vectors), 10)
        before, peak, seconds, worked, exact = anonymous(), 0, [], [], []
        for query in asked:
            begun, work = time.perf_counter(), time.process_time()
            exact.append(nearest(query[None], array_blocks(vectors), 10)[0][0])
            seconds.append(time.perf_counter() - begun)
            worked.append(time.process_time() - work)
            peak = max(peak, anonymous())
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(f"{count:,} × {width} {dtype}, exact: {percentiles(seconds)}", flush=True)
        print(f"of that the processors worked (all threads, waiting left out): {percentiles(worked)}")
        print(f"memory of its own {peak / 1e6:.0f} MB ({before / 1e6:.0f} before), with the file's {most / 1e6:.0f} MB")
        if with_faiss:
            search_faiss(vectors, asked, exact, Path(folder), threads)


def search_faiss(vectors: np.ndarray, asked: np.ndarray, exact: list, folder: Path, threads: int | None) -> None:
    """The same queries by faiss."""
    import faiss

    from unmask.inference.faiss_index import FaissIndex, write_faiss

    if threads:
        faiss.omp_set_num_threads(threads)
    begun = time.perf_counter()
    facts = write_faiss([vectors], folder / "f.index")
    print(f"faiss: built in {time.perf_counter() - begun:.0f} s, {facts}", flush=True)
    index, seconds, shares = FaissIndex(folder / facts.file, facts.looked_into), [], []
    for query, true in zip(asked, exact, strict=True):
        begun = time.perf_counter()
        numbers, _ = index.nearest(query[None], 10)[0]
        seconds.append(time.perf_counter() - begun)
        shares.append(len(set(numbers.tolist()) & set(true.tolist())) / len(true))
    print(f"faiss: {percentiles(seconds)}, recall@10 {np.mean(shares):.3f} on queries it has not seen")


def beir(folder: Path, model: str, options: list[str], plain: bool) -> None:
    """nDCG@10 with graded judgements, over all queries."""
    import unmask

    judged: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")
        judged.setdefault(query, {})[document] = int(grade)
    queries = {row["_id"]: row["text"] for row in json_lines(folder / "queries.jsonl") if row["_id"] in judged}
    corpus = next(folder.glob("corpus.jsonl*"))
    with TemporaryDirectory() as place:
        for whiten in (False,) if plain else (False, True):
            index = Path(place) / f"index-{whiten}"
            made = unmask.index(model, corpus, out=index, field="title,text", whiten=whiten)
            for by in options if not whiten else [each for each in options if each != "bm25"]:
                found = unmask.load(model).search(index, *queries.values(), by=by, top=10)
                scores = [
                    ndcg([hit.document for hit in each.hits], judged[query])
                    for query, each in zip(queries, found, strict=True)
                ]
                name = f"{by}{', whitened' if whiten else ''}"
                print(f"{name:<18} nDCG@10 {np.mean(scores):.4f}  ({made.passages:,} passages)", flush=True)


def ndcg(ranked: list[str], grades: dict[str, int]) -> float:
    """Of a ranking of at most ten, by trec_eval's gains: the grades themselves.

    >>> round(ndcg(["a", "x", "b"], {"a": 2, "b": 1}), 4)  # (2 + 1 / 2) / (2 + 1 / log₂ 3)
    0.9502
    """
    discounts = 1 / np.log2(np.arange(2, 12))
    gains = np.array([grades.get(name, 0) for name in ranked])
    best = np.array(sorted(grades.values(), reverse=True)[:10])
    return float((gains * discounts[: len(gains)]).sum() / (best * discounts[: len(best)]).sum())


def json_lines(path: Path) -> Iterator[dict]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        yield from map(json.loads, file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--dtype", choices=("float32", "float16"), default="float32")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--faiss", action="store_true")
    parser.add_argument("--threads", type=int, help="of faiss")
    parser.add_argument("--beir", type=Path, help="a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv")
    parser.add_argument("--model", help="a directory with an encoder, for --beir")
    parser.add_argument("--plain", action="store_true", help="without whitening, which a tuned model does not need")
    parser.add_argument("--by", nargs="+", default=["bm25", "dense", "fused"])
    arguments = parser.parse_args()
    if arguments.beir:
        beir(arguments.beir, arguments.model, arguments.by, arguments.plain)
        return
    million(arguments.count, arguments.width, arguments.dtype, arguments.queries, arguments.faiss, arguments.threads)


if __name__ == "__main__":
    main()
