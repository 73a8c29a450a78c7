"""The reader of tar archives, plain or compressed: their files one after the other, without unpacking any to disk.

In: the bytes of an archive. Out: what the readers of its files give, each under the name `archive.tar/file`. Names are
names and never paths, so `../` leads nowhere; links and devices are passed over and counted, and so are archives inside
of archives and files of unknown suffixes.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import IO, Self

from unmask.corpus.read.byte_reader import BUFFER, ByteReader, packed_as, recoder_of
from unmask.corpus.read.find import TextSource, format_of, is_installed, suffix_of
from unmask.corpus.read.formats import Malformed, PassedOver, Recoded, Record

HEADER = 1 << 20  # bytes of what stands before a file in pax and GNU archives: names, times, comments
BEFORE_FILES = {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, *tarfile.GNU_TYPES[:2]}

DAMAGED = ("InvalidHeaderError", "TruncatedHeaderError")  # errors of tarfile which it tells nobody

Reader = Callable[[io.BufferedReader, TextSource, str], Iterator[Record]]


class CheckedTarInfo(tarfile.TarInfo):
    """An entry of an archive. One that is damaged ends the archive with an error: tarfile alone says nothing then.

    What stands before a file is not larger than headers are, for it is held in memory.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str | None, errors: str) -> Self:
        """An entry from its block."""
        try:
            entry = super().frombuf(buf, encoding, errors)  # type: ignore[arg-type]  # as tarfile itself calls it
        except tarfile.HeaderError as error:
            if type(error).__name__ in DAMAGED:
                raise tarfile.ReadError(str(error)) from error
            raise  # where the archive ends
        if entry.type in BEFORE_FILES and entry.size > HEADER:
            raise tarfile.ReadError(f"a header of {entry.size:,} bytes before a file")
        return entry


def read_tar(
    content: io.BufferedReader, source: TextSource, field: str, readers: dict[str, Reader]
) -> Iterator[Record]:
    """Every document of every file in an archive, in the order they are packed."""
    try:
        with tarfile.open(fileobj=content, mode="r|", tarinfo=CheckedTarInfo) as archive:
            for member in archive:
                name = f"{source.name}/{member.name}"
                if member.isfile():
                    file = archive.extractfile(member)
                    assert file is not None
                    yield from _read_member(file, replace(source, name=name, named=False), field, readers)
                elif not member.isdir():
                    yield PassedOver(name, "link" if member.issym() or member.islnk() else "special file")
    except (tarfile.TarError, OSError, EOFError) as error:
        yield Malformed(source.name, 0, f"not a tar archive, or cut off ({error})")


def _read_member(file: IO[bytes], source: TextSource, field: str, readers: dict[str, Reader]) -> Iterator[Record]:
    path = PurePosixPath(source.name)
    kind = format_of(path)
    if path.name.startswith("."):
        yield PassedOver(source.name, "hidden")
        return
    if kind is None or kind[0] == "tar" or not is_installed(kind[0]):
        yield PassedOver(source.name, suffix_of(path))
        return
    source = replace(source, format=kind[0], compression=kind[1], member=True)
    stream = ByteReader(file.read, packed_as(source), recoder_of(source))
    line = 0
    for record in readers[source.format](io.BufferedReader(stream, BUFFER), source, field):
        line = record.line
        yield record
    if stream.recoded:
        yield Recoded(source.name, source.encoding)
    if stream.problem:
        yield Malformed(source.name, line, stream.problem)
