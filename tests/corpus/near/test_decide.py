"""Near-duplicates from files to files: planted families of four scripts, and what must not be taken for one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from unmask.corpus.collect import CollectedCorpus, collect_corpus
from unmask.corpus.engines.engine import Engine
from unmask.corpus.near.probes import probe_of
from unmask.corpus.settings import CollectConfig

ALPHABETS = {"Chinese": (0x4E00, 4_000), "Japanese": (0x3041, 80), "Thai": (0x0E01, 46)}
CONFIG = CollectConfig(near_duplicates=0.8)


def text_of(script: str, seed: int) -> str:
    random = np.random.default_rng([seed, len(script)])
    if script == "English":
        return " ".join(f"w{number}" for number in random.integers(0, 5_000, 150))
    first, size = ALPHABETS[script]
    return "".join(chr(first + int(number)) for number in random.integers(0, size, 300))


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[float, int]]]:
    """A corpus of texts, each with another of a known similarity behind all of them."""
    originals = [text_of(script, seed) for script in ("English", *ALPHABETS) for seed in range(30)]
    levels = [(0.5, 0.6, 0.7, 0.72, 0.86, 0.88, 0.9)[n % 7] for n in range(len(originals))]
    copies = [probe_of(text, level, seed=n) for n, (text, level) in enumerate(zip(originals, levels, strict=True))]
    path = tmp_path_factory.mktemp("planted") / "in.jsonl"
    lines = [*originals, *copies, copies[4], originals[4]]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in lines))
    return path, [(level, n) for n, level in enumerate(levels, start=1)]


@pytest.fixture(scope="module")
def collected(planted: tuple[Path, object], tmp_path_factory: pytest.TempPathFactory) -> CollectedCorpus:
    return collect_corpus([str(planted[0])], tmp_path_factory.mktemp("near") / "corpus", config=CONFIG)


def removed(corpus: CollectedCorpus) -> dict[int, dict[str, float]]:
    return {row["number"]: row for row in pq.read_table(corpus.path / "removed.parquet").to_pylist()}


def test_planted_copies_are_caught_above_and_none_is_dropped_below(
    planted: tuple[Path, list[tuple[float, int]]], collected: CollectedCorpus
) -> None:
    gone, pairs = removed(collected), planted[1]
    caught = {(level, n): n in gone or n + len(pairs) in gone for level, n in pairs}
    above = [hit for (level, _), hit in caught.items() if level > 0.85]
    assert len(above) > 40 and np.mean(above) >= 0.97
    assert not any(hit for (level, _), hit in caught.items() if level < 0.75)
    assert collected.recall is not None and collected.recall.caught >= 0.9 * collected.recall.probes > 10


def test_every_twin_is_kept_and_the_similarity_is_exact_and_high_enough(collected: CollectedCorpus) -> None:
    gone = removed(collected)
    kept = {row["number"] for split in ("train", "valid") for row in pq.read_table(collected.path / split).to_pylist()}
    assert {row["twin"] for row in gone.values()} <= kept and not kept & gone.keys()
    near = [row for row in gone.values() if row["step"] == "near-duplicate"]
    assert all(0.8 <= row["similarity"] < 1 for row in near)
    counts = collected.counts
    assert (len(near), len(gone)) == (counts["near_duplicate"], counts["near_duplicate"] + counts["duplicate"])
    # Of an exact copy of a document that was left out, the twin is the one that was kept for that.
    assert gone[241]["twin"] in kept and gone[242]["twin"] in kept


def test_parts_and_processes_change_no_byte(
    planted: tuple[Path, object], collected: CollectedCorpus, tmp_path: Path
) -> None:
    again = collect_corpus(
        [str(planted[0])], tmp_path / "corpus", config=CONFIG, part_bytes=120_000, engine=Engine(processes=2)
    )
    one, two = (
        {str(path.relative_to(corpus.path)): path.read_bytes() for path in corpus.path.rglob("*.parquet")}
        for corpus in (collected, again)
    )
    assert one == two and again.recall == collected.recall


def test_a_family_stays_on_its_side_when_a_longer_copy_is_added(tmp_path: Path) -> None:
    texts = [text_of("English", seed) for seed in range(60)]
    longer = [f"{probe_of(text, 0.9, seed=n)} and somewhat longer" for n, text in enumerate(texts)]
    sides = []
    for name, lines in (("one", texts), ("two", texts + longer)):
        (path := tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in lines))
        config = CollectConfig(near_duplicates=0.8, valid=0.3)
        corpus = collect_corpus([str(path)], tmp_path / name, config=config)
        valid = [row["number"] for row in pq.read_table(corpus.path / "valid").to_pylist()]
        sides.append({(number - 1) % 60 for number in valid})
    assert sides[0] == sides[1] and 5 < len(sides[0]) < 40


def test_hard_negatives_are_kept(tmp_path: Path) -> None:
    template = " ".join(f"clause{n}" for n in range(40))
    letters = [f"{template} {text_of('English', seed)[:250]}" for seed in range(30)]
    tables = [f"{' '.join(f'item{n} costs {(n * seed) % 97 + seed}' for n in range(60))}" for seed in range(3, 23)]
    essay = text_of("English", 999)
    quote = f"{text_of('English', 1000)} {essay} {text_of('English', 1001)}"
    large = " ".join(text_of("English", seed) for seed in range(2000, 2300))
    lines = [*letters, *tables, essay, quote, large]
    (path := tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in lines))
    corpus = collect_corpus([str(path)], tmp_path / "corpus", config=CONFIG)
    assert corpus.counts["near_duplicate"] == 0 and corpus.counts["read"] > len(lines)
