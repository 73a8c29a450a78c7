import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from unmask.errors import BadInput, Damaged
from unmask.models.weights import INDEX, SINGLE, weight_files, weight_shapes


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """Two files and their index."""
    files = [tmp_path / f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    for number, file in enumerate(files):
        save_file({f"weight.{number}": torch.zeros(2, 3 + number)}, file)
    names = {f"weight.{number}": file.name for number, file in enumerate(files)}
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": names}))
    return files


def test_shards_are_those_that_the_index_names(shards: list[Path]) -> None:
    assert weight_files(shards[0].parent) == shards
    assert weight_shapes(shards[0].parent) == {"weight.0": (2, 3), "weight.1": (2, 4)}


def test_a_shard_that_is_missing_cut_or_elsewhere_is_named(shards: list[Path]) -> None:
    directory, content = shards[1].parent, shards[1].read_bytes()
    for length in (0, 4, 20, len(content) - 1):
        shards[1].write_bytes(content[:length])
        with pytest.raises(Damaged, match=r"model-00002-of-00002\.safetensors: the weights cannot be read"):
            weight_shapes(directory)
    shards[1].unlink()
    with pytest.raises(Damaged, match=r"model-00002-of-00002\.safetensors: is missing"):
        weight_files(directory)
    (directory / INDEX).write_text(json.dumps({"weight_map": {"weight": "../secret.safetensors"}}))
    with pytest.raises(BadInput, match="which is not in this directory"):
        weight_files(directory)
    for text in ("{", "[]", "{}", '{"weight_map": {"a": 1}}', '{"weight_map": {"a": [1]}}'):
        (directory / INDEX).write_text(text)
        with pytest.raises(Damaged, match="is no index of weights"):
            weight_files(directory)


def test_a_link_that_leads_nowhere_or_to_itself_is_named(tmp_path: Path) -> None:
    (tmp_path / SINGLE).symlink_to(tmp_path / SINGLE)
    with pytest.raises(Damaged, match=r"model\.safetensors: is a link that leads nowhere"):
        weight_files(tmp_path)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "model.ckpt", "weights.pt"])
def test_pickles_are_refused_with_the_command_that_converts_them(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(
        BadInput, match=r"pickled weights can run code .* if you trust them: python -c .*save_pretrained"
    ):
        weight_files(tmp_path)
