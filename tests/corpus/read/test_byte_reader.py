from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from unmask.corpus.read.byte_reader import open_source
from unmask.corpus.read.find import TextSource

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
}
DATA = os.urandom(200_000) + b"line after line\n" * 20_000


def taken_in(path: Path, compression: str | None) -> tuple[bytes, str | None, int]:
    with open_source(TextSource(str(path), "text", compression)) as (content, stream):
        data = content.read()
    return data, stream.problem, stream.bytes_read


@pytest.mark.parametrize("compression", PACK)
def test_what_was_packed_comes_out_and_bytes_on_disk_are_counted(tmp_path: Path, compression: str) -> None:
    (path := tmp_path / "file").write_bytes(packed := PACK[compression](DATA))
    assert taken_in(path, compression) == (DATA, None, len(packed))


@pytest.mark.parametrize("compression", PACK)
def test_packed_files_appended_to_each_other_are_one_file(tmp_path: Path, compression: str) -> None:
    (path := tmp_path / "file").write_bytes(PACK[compression](b"one,") + PACK[compression](b"two"))
    assert taken_in(path, compression)[:2] == (b"one,two", None)


@pytest.mark.parametrize("compression", PACK)
@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_truncated_file_gives_what_was_before_and_says_so(tmp_path: Path, compression: str, kept: float) -> None:
    packed = PACK[compression](DATA)
    (path := tmp_path / "file").write_bytes(packed[: int(len(packed) * kept)])
    data, problem, _ = taken_in(path, compression)
    assert DATA.startswith(data)
    assert len(data) > 0.2 * kept * 200_000 or compression == "bz2"  # whose blocks are of 900 kB
    assert problem == "breaks off (the compressed data is truncated)"


@pytest.mark.parametrize("compression", PACK)
def test_a_flipped_byte_is_noticed(tmp_path: Path, compression: str) -> None:
    packed = bytearray(PACK[compression](DATA))
    packed[len(packed) // 2] ^= 0xFF
    (path := tmp_path / "file").write_bytes(packed)
    _, problem, _ = taken_in(path, compression)
    assert problem is not None
    assert problem.startswith("breaks off (")


@pytest.mark.parametrize("compression", PACK)
def test_what_is_not_packed_at_all_is_noticed(tmp_path: Path, compression: str) -> None:
    (path := tmp_path / "file").write_bytes(b"plain text, whatever its name says\n" * 10)
    data, problem, _ = taken_in(path, compression)
    assert data == b""
    assert problem is not None


def test_an_empty_file_is_empty(tmp_path: Path) -> None:
    (path := tmp_path / "file").write_bytes(b"")
    for compression in (None, *PACK):
        assert taken_in(path, compression) == (b"", None, 0)


BOMB = """
import re, sys
from pathlib import Path
from unmask.corpus.read import byte_reader
from unmask.corpus.read.byte_reader import open_source
byte_reader.UNSUSPECTED = 40 << 20
from unmask.corpus.read.find import TextSource
def most():  # memory it ever had, in kB; getrusage counts that of who started it too
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
before = most()
with open_source(TextSource(sys.argv[1], "text", sys.argv[2])) as (content, stream):
    size = 0
    while data := content.read(1 << 20):
        size += len(data)
grown = most() - before
print(size >> 20, grown >> 10, stream.problem)
"""


@pytest.mark.parametrize("compression", PACK)
def test_a_bomb_takes_little_memory_and_ends_where_no_text_would(tmp_path: Path, compression: str) -> None:
    compressor = {
        "gzip": lambda: zlib.compressobj(wbits=31),
        "zstd": lambda: zstandard.ZstdCompressor(level=19).compressobj(),
        "xz": lambda: lzma.LZMACompressor(preset=0),
        "bz2": lambda: bz2.BZ2Compressor(1),
    }[compression]()
    with (path := tmp_path / "bomb").open("wb") as file:
        for _ in range(64):
            file.write(compressor.compress(bytes(1 << 20)))
        file.write(compressor.flush())
    assert path.stat().st_size < 1 << 20
    answer = subprocess.run([sys.executable, "-c", BOMB, path, compression], capture_output=True, text=True, check=True)
    size, grown, problem = answer.stdout.split(" ", 2)
    assert 8 <= int(size) <= 41 and int(grown) < 80
    assert problem == "breaks off (it unpacks to more than 250 times its size, which text does not)\n"
