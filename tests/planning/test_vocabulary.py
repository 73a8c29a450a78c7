from __future__ import annotations

import json
import random
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import unmask
from unmask.console.vocabulary import draw_sweep
from unmask.errors import BadInput
from unmask.planning.vocabulary import sweep_sizes, sweep_vocabularies
from unmask.results import TokenizerSweep
from unmask.tokens.store.dataset import Dataset


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("sweep")
    draw = random.Random(0)
    syllables = ["ka", "lo", "mi", "ne", "ru", "so", "ta", "vi", "ban", "der", "gos", "tem"]
    words = ["".join(draw.choice(syllables) for _ in range(draw.randint(1, 4))) for _ in range(900)]
    rows = [{"text": " ".join(draw.choice(words) for _ in range(60))} for _ in range(300)]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    unmask.prepare(folder / "a.jsonl", out=folder / "data", vocab_size=300, valid=0.2)
    return Dataset.open(folder / "data")


@pytest.fixture(scope="module")
def sweep(data: Dataset) -> TokenizerSweep:
    return sweep_vocabularies(data, (300, 600, 90_000), recipe="tiny")


def test_a_larger_vocabulary_has_fewer_tokens_and_more_weights(data: Dataset, sweep: TokenizerSweep) -> None:
    now, same, larger = sweep.sizes
    assert now.current and now.tokens_per_byte == pytest.approx(data.tokens_per_byte) == same.tokens_per_byte
    assert larger.tokens_per_byte < same.tokens_per_byte and larger.parameters > same.parameters
    assert (now.vocabulary, same.vocabulary, larger.vocabulary) == (300, 300, 600)
    assert sweep.cheapest in (300, 600)
    (note,) = sweep.notes
    assert "90,000 is larger than the text allows" in note


def test_languages_are_told_apart_where_they_are_kept_the_worst_first(data: Dataset) -> None:
    for file in sorted((data.path / "documents" / "valid").glob("*.parquet")):
        table = pq.read_table(file)
        names = pa.array(["xx" if "ka" in text[:30] else "yy" for text in table["text"].to_pylist()])
        file.unlink()
        pq.write_table(table.append_column("language", names), file)
    (row,) = sweep_vocabularies(data, (), recipe="tiny").sizes
    shares = [each.tokens_per_byte for each in row.languages]
    assert {each.language for each in row.languages} == {"xx", "yy"} and shares == sorted(shares, reverse=True)
    assert sum(each.bytes * each.tokens_per_byte for each in row.languages) == pytest.approx(
        row.tokens_per_byte * sum(each.bytes for each in row.languages)
    )


def test_the_page_fits_eighty_columns(sweep: TokenizerSweep, capsys: pytest.CaptureFixture[str]) -> None:
    wide = replace(sweep, sizes=(*sweep.sizes, replace(sweep.sizes[0], vocabulary=131_072)))
    Console(width=80, no_color=True).print(draw_sweep(wide))
    lines = capsys.readouterr().out.splitlines()
    heads = next(line for line in lines if "size" in line)
    assert "tokens/byte" in heads and "FLOPs/byte" in heads and "…" not in heads
    assert any("131,072" in line for line in lines) and all(len(line.rstrip()) <= 80 for line in lines[:-2])


@pytest.mark.parametrize("text", ["4x", "", "4k,,8k", "0"])
def test_sizes_that_are_none_are_told(text: str) -> None:
    with pytest.raises(BadInput, match="--sweep"):
        sweep_sizes(text)
