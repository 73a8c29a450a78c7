"""Laws of shards: what is written is read, from any place to any other, whatever the shard size."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.errors import Damaged
from unmask.tokens.store.shards import Shards, ShardWriter
from unmask.tokens.tokenizer.encode import EncodedText

LENGTHS = st.lists(st.integers(0, 40), min_size=1, max_size=30)


def some(lengths: list[int], vocabulary: int = 300, seed: int = 0) -> list[EncodedText]:
    draw = np.random.default_rng(seed)
    return [
        EncodedText(draw.integers(0, vocabulary, n).astype(np.int32), draw.integers(0, 2, n).astype(np.bool_))
        for n in lengths
    ]


def written(
    path: Path, documents: list[EncodedText], vocabulary: int = 300, shard_tokens: int = 1 << 20
) -> ShardWriter:
    with ShardWriter(path, vocabulary, shard_tokens) as writer:
        writer.add(documents[: len(documents) // 2])
        writer.add(documents[len(documents) // 2 :])
    return writer


@settings(max_examples=60, deadline=None)
@given(LENGTHS, st.integers(1, 100), st.data())
def test_any_stretch_reads_as_it_was_written(lengths: list[int], shard_tokens: int, data: st.DataObject) -> None:
    documents = some(lengths)
    ids, starts = (np.concatenate([document[part] for document in documents]) for part in (0, 1))
    with TemporaryDirectory() as folder:
        written(Path(folder), documents, shard_tokens=shard_tokens)
        shards = Shards(Path(folder))
        assert (shards.documents, shards.tokens) == (len(lengths), len(ids))
        np.testing.assert_array_equal(shards.ends, np.cumsum(lengths))
        begin = data.draw(st.integers(0, len(ids)))
        end = data.draw(st.integers(begin, len(ids)))
        read = shards.read(begin, end)
    np.testing.assert_array_equal(read[0], ids[begin:end])
    np.testing.assert_array_equal(read[1], starts[begin:end])
    assert (read[0].dtype, read[1].dtype) == (np.int32, np.bool_)


def test_no_document_crosses_shards_and_no_shard_is_over_its_size_unless_a_document_is(
    tmp_path: Path,
) -> None:
    written(tmp_path, some([30, 30, 30, 250, 5, 90, 10]), shard_tokens=100)
    sizes = [len(np.load(path)) for path in sorted(tmp_path.glob("*.tokens.npy"))]
    assert sizes == [90, 250, 95, 10]
    ends = [np.load(path).tolist() for path in sorted(tmp_path.glob("*.ends.npy"))]
    assert ends == [[30, 60, 90], [250], [5, 95], [10]]


@pytest.mark.parametrize(("vocabulary", "dtype"), [(300, np.uint16), (1 << 16, np.uint16), ((1 << 16) + 1, np.uint32)])
def test_ids_take_two_bytes_while_they_fit(tmp_path: Path, vocabulary: int, dtype: type) -> None:
    top = EncodedText(np.array([vocabulary - 1, 0], np.int32), np.array([True, False]))
    written(tmp_path, [top], vocabulary)
    assert np.load(tmp_path / "00000.tokens.npy").dtype == dtype
    assert Shards(tmp_path).read(0, 2)[0].tolist() == [vocabulary - 1, 0]


def test_the_files_are_plain_numpy_arrays_as_the_readme_says(tmp_path: Path) -> None:
    documents = some([3, 9])
    written(tmp_path, documents)
    tokens, words, ends = (np.load(tmp_path / f"00000.{part}.npy") for part in ("tokens", "words", "ends"))
    np.testing.assert_array_equal(tokens[ends[0] : ends[1]], documents[1].ids)
    np.testing.assert_array_equal(
        np.unpackbits(words, count=12).astype(bool),
        np.concatenate([documents[0].word_starts, documents[1].word_starts]),
    )


def test_counts_are_those_of_the_ids(tmp_path: Path) -> None:
    documents = some([50, 0, 70], vocabulary=20)
    writer = written(tmp_path, documents, vocabulary=20)
    ids = np.concatenate([document.ids for document in documents]).tolist()
    assert writer.counts.tolist() == [ids.count(number) for number in range(20)]
    assert (writer.tokens, writer.documents) == (120, 3)


def test_a_split_without_documents_is_empty(tmp_path: Path) -> None:
    with ShardWriter(tmp_path / "valid", 300):
        pass
    shards = Shards(tmp_path / "valid")
    assert (shards.documents, shards.tokens, shards.ends.tolist()) == (0, 0, [])
    assert [len(part) for part in shards.read(0, 0)] == [0, 0]


def test_reading_outside_the_stream_is_an_error(tmp_path: Path) -> None:
    written(tmp_path, some([5]))
    for begin, end in ((-1, 3), (0, 6), (4, 3)):
        with pytest.raises(IndexError, match="5 tokens"):
            Shards(tmp_path).read(begin, end)


def test_a_shard_that_is_not_whole_is_named(tmp_path: Path) -> None:
    written(tmp_path, some([20, 20]))
    whole = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    spoilt = {
        "00000.tokens.npy": whole["00000.tokens.npy"][:-8],
        "00000.words.npy": whole["00000.words.npy"][:100],
        "00000.ends.npy": whole["00000.ends.npy"][:-8] + (99).to_bytes(8, "little"),
    }
    for name, content in spoilt.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(Damaged, match=name):
            Shards(tmp_path)
        (tmp_path / name).write_bytes(whole[name])
    (tmp_path / "00000.words.npy").unlink()
    with pytest.raises(Damaged, match=r"words\.npy: missing"):
        Shards(tmp_path)


def test_a_pickle_in_place_of_a_shard_is_not_loaded(tmp_path: Path) -> None:
    written(tmp_path, some([4]))
    np.save(tmp_path / "00000.tokens.npy", np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(Damaged, match=r"tokens\.npy"):
        Shards(tmp_path)
