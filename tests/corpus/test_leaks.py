from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import unmask
from unmask.corpus.collect import collect_corpus
from unmask.corpus.engines.engine import Engine
from unmask.corpus.leaks import Leak
from unmask.corpus.settings import CollectConfig


def text(seed: int, words: int = 40) -> str:
    return " ".join(f"w{n}" for n in np.random.default_rng(seed).integers(0, 5_000, words))


def measured(tmp_path: Path, texts: list[str], **settings: object) -> Leak | None:
    (path := tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": each}) + "\n" for each in texts))
    config = CollectConfig(valid=0.2, leaks=True, **settings)  # type: ignore[arg-type]
    out = tmp_path / f"corpus{len(list(tmp_path.iterdir()))}"
    return collect_corpus([str(path)], out, config=config, engine=Engine(processes=1), part_bytes=20_000).leak


def test_documents_that_have_nothing_in_common_leak_nothing(tmp_path: Path) -> None:
    leak = measured(tmp_path, [text(seed) for seed in range(300)])
    assert leak is not None
    assert 30 < leak.documents < 90
    assert (leak.before, leak.after) == (0, 0)
    assert leak.runs == leak.documents * 33  # of 40 words, all different


def test_near_duplicates_leak_until_they_are_left_out_and_quotations_leak_on(tmp_path: Path) -> None:
    originals = [text(seed) for seed in range(150)]
    twins = [f"{each} and so on" for each in originals]
    kept = measured(tmp_path, originals + twins)
    cleaned = measured(tmp_path, originals + twins, near_duplicates=0.8)
    assert kept is not None and cleaned is not None
    assert kept.before == kept.after > 0.4  # four of five twins are on the other side
    assert (cleaned.before > 0.4, cleaned.after) == (True, 0)
    quoting = [f"{text(seed + 1_000, 100)} {each[: len(each) // 2]}" for seed, each in enumerate(originals)]
    quoted = measured(tmp_path, originals + quoting, near_duplicates=0.8)
    assert quoted is not None
    assert 0.1 < quoted.after < 0.5


def test_texts_too_short_to_tell_have_no_figure_and_the_manifest_has_one_where_it_was_asked_for(
    tmp_path: Path,
) -> None:
    assert measured(tmp_path, [f"number {n} is quite short" for n in range(50)]) is None
    lines = (json.dumps({"text": text(seed)}) + "\n" for seed in range(60))
    (tmp_path / "b.jsonl").write_text("".join(lines))
    prepared = unmask.prepare(str(tmp_path / "b.jsonl"), out=tmp_path / "data", leaks=True, valid=0.2, vocab_size=100)
    leak = json.loads((tmp_path / "data" / "manifest.json").read_text())["leak"]
    assert (leak["before"], leak["after"]) == (0, 0)
    assert prepared.leak is not None
    assert prepared.leak.startswith("0.00% of the runs of 8 words of ")
