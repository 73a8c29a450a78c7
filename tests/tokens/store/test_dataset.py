"""Laws of reading a data directory: opening it loads no engine, and what it says is what its files say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from unmask.errors import BadInput
from unmask.files import SEAL, with_seal, write_json
from unmask.tokens.store.dataset import Dataset

ENGINES = ("ray", "lxml", "zstandard", "pyarrow", "transformers", "torch")


def loaded(code: str, data: Path) -> list[str]:
    """The engines that a fresh process has loaded after this code."""
    tell = f"import sys; print([name for name in {ENGINES} if name in sys.modules])"
    lines = ["import sys", "from unmask.tokens.store.dataset import Dataset", "data = Dataset.open(sys.argv[1])", code]
    line = [sys.executable, "-c", "\n".join([*lines, tell]), str(data)]
    answer = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    return json.loads(answer.replace("'", '"'))


def test_opening_data_and_reading_its_tokens_loads_no_engine(data: Path) -> None:
    code = "data.fingerprint, data.counts, data.split('train').read(0, 10), data.spans('train'), data.tokens_per_byte"
    assert loaded(code, data) == []


def test_text_and_tokenizer_are_read_without_the_corpus_engine(data: Path) -> None:
    code = "data.vocabulary, data.segmenter(), next(data.texts('valid')), data.sample('train', 100)"
    assert not {"ray", "lxml", "zstandard"} & set(loaded(code, data))


def test_tokens_per_byte_are_those_of_the_held_out_text_whether_the_manifest_knows_its_bytes_or_not(
    data: Path, tmp_path: Path
) -> None:
    dataset = Dataset.open(data)
    size = sum(len(text.encode()) for text in dataset.texts("valid"))
    assert dataset.tokens_per_byte == dataset.split("valid").tokens / size
    older = Path(shutil.copytree(data, tmp_path / "data"))
    manifest = {name: value for name, value in dataset.manifest.items() if name not in ("text_bytes", SEAL)}
    write_json(older / "manifest.json", with_seal(manifest))
    assert "text_bytes" not in Dataset.open(older).manifest
    assert Dataset.open(older).tokens_per_byte == dataset.tokens_per_byte


def test_an_unknown_split_is_named(data: Path) -> None:
    for look in (Dataset.open(data).split, Dataset.open(data).texts):
        with pytest.raises(BadInput, match="split 'test': there are train and valid"):
            look("test")
