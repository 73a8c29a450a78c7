"""Files that are elsewhere, as bytes for our own readers: s3:// and gs:// by pyarrow, hf:// by the hub's own client.

In: an address of a file, a folder or a glob. Out: the files there, each with its size and what tells one version of it
from another; and the bytes of one, from any place on. Nothing is copied to this machine. What is refused becomes one
line; a network that fails while a file is read is never taken for the end of it.
"""

from __future__ import annotations

import fnmatch
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from glob import has_magic
from typing import Any, Protocol

from unmask.errors import BadInput, Unreachable
from unmask.network import hub_allowed

SCHEMES = ("s3", "gs", "hf")
ADDRESS = re.compile(r"(s3|gs|hf):/+(anonymous@)?(.+)")  # as a path, it has lost one of its slashes
BLOCK = 4 << 20  # bytes that are asked for at a time
SECONDS = 20  # that a connection may take, and after which a store that does not answer is given up
REFUSED = re.compile(r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE|PERMISSION_DENIED|UNAUTHENTICATED|OAuth2|HTTP 40[13]")
MISSING = re.compile(r"NO_SUCH_(BUCKET|KEY)|RESOURCE_NOT_FOUND|NOT.FOUND|HTTP 404|Path does not exist", re.IGNORECASE)
CREDENTIALS = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or AWS_PROFILE), or give s3://anonymous@… if all may read",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS (gcloud auth application-default login), or give gs://anonymous@… "
    "if all may read",
    "hf": "set HF_TOKEN or run `hf auth login`; conditions of a gated dataset are accepted on its page",
}


@dataclass(frozen=True)
class RemoteFile:
    """A file in a store."""

    path: str  # in its store: bucket/key, or datasets/org/name/file
    size: int
    version: str  # another one where its bytes are others


class Store(Protocol):
    """What files are asked of."""

    def file(self, path: str) -> RemoteFile | None:
        """The file of a path, if it is one."""

    def files(self, folder: str) -> list[RemoteFile]:
        """All files below a folder; none where there is no such folder."""

    def open(self, path: str) -> Any:
        """The bytes of a file, from any place on."""


class ArrowStore:
    """A bucket by pyarrow's file systems."""

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem

    def file(self, path: str) -> RemoteFile | None:
        """The file of a path, if it is one."""
        (info,) = self._filesystem.get_file_info([path])
        return _described(info) if info.is_file else None

    def files(self, folder: str) -> list[RemoteFile]:
        """All files below a folder."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(folder, recursive=True, allow_not_found=True)
        return [_described(info) for info in self._filesystem.get_file_info(selector) if info.is_file]

    def open(self, path: str) -> Any:
        """The bytes of a file."""
        return self._filesystem.open_input_file(path)


def _described(info: Any) -> RemoteFile:
    return RemoteFile(info.path, info.size, str(info.mtime_ns))


class HubStore:
    """Datasets on the hub, by its own client."""

    def __init__(self) -> None:
        from huggingface_hub import HfFileSystem

        self._filesystem: Any = HfFileSystem(skip_instance_cache=True)

    def file(self, path: str) -> RemoteFile | None:
        """The file of a path, if it is one."""
        try:
            info = self._filesystem.info(path)
        except FileNotFoundError:
            return None
        return _hub_file(info) if info["type"] == "file" else None

    def files(self, folder: str) -> list[RemoteFile]:
        """All files below a folder."""
        return [_hub_file(info) for info in self._filesystem.find(folder, detail=True).values()]

    def open(self, path: str) -> Any:
        """The bytes of a file; what is asked for is fetched, and no more."""
        return self._filesystem.open(path, "rb", block_size=BLOCK, cache_type="none")


def _hub_file(info: Any) -> RemoteFile:
    return RemoteFile(info["name"], info["size"] or 0, str(info.get("blob_id") or info.get("xet_hash") or ""))


def is_remote(name: str) -> bool:
    """Whether a name is the address of a file in a store that is read from.

    >>> is_remote("s3://bucket/a.txt"), is_remote("hf:/datasets/org/name"), is_remote("https://x.org/a.txt")
    (True, True, False)
    """
    return ADDRESS.fullmatch(name) is not None


def find_remote(address: str) -> tuple[str, list[RemoteFile]]:
    """The address as it is written, and the files that it stands for, in order: one, those of a folder or of a glob."""
    scheme, path = _scheme_and_path(address)
    written = _written(address, path)
    files: list[RemoteFile] = []
    with suppress(FileNotFoundError), _refusals_in_a_line(written, scheme):
        store = _store_of(address)
        if has_magic(path):
            parts = path.split("/")
            fixed = "/".join(parts[: next(n for n, part in enumerate(parts) if has_magic(part))])
            if not fixed:
                raise BadInput(f"{written}: name the bucket or the dataset itself, without * in it")
            pattern = _pattern(path)
            files = [file for file in store.files(fixed) if pattern.fullmatch(file.path)]
        else:
            file = None if address.endswith("/") else store.file(path)
            files = [file] if file else store.files(path)
    if not files:
        private = "; if it is private, set HF_TOKEN or run `hf auth login`" if scheme == "hf" else ""
        raise BadInput(f"{written}: there is no such file or folder, or nothing in it{private}")
    return written, sorted(files, key=_order)


def _order(file: RemoteFile) -> list[tuple[bool, str]]:
    """The order of a folder of this machine: its files, then its folders."""
    *folders, name = file.path.split("/")
    return [*((True, folder) for folder in folders), (False, name)]


def remote_name(address: str, file: RemoteFile) -> str:
    """The address of a file that was found by another one."""
    return _written(address, file.path)


def open_remote(name: str, block: int = BLOCK) -> io.BufferedReader:
    """The bytes of a file, from any place on, asked for in blocks."""
    scheme, path = _scheme_and_path(name)
    with _refusals_in_a_line(name, scheme):
        return io.BufferedReader(RemoteBytes(_store_of(name).open(path), name, scheme), block)


class RemoteBytes(io.RawIOBase):
    """Bytes from a store, in which nothing that fails looks like an end."""

    def __init__(self, content: Any, name: str, scheme: str) -> None:
        self._content, self._name, self._scheme = content, name, scheme

    def readable(self) -> bool:
        """True: this is what it is for."""
        return True

    def seekable(self) -> bool:
        """True: any stretch can be asked for."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        return int(self._content.seek(offset, whence))

    def tell(self) -> int:
        """The place."""
        return int(self._content.tell())

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with what comes from here on."""
        with _refusals_in_a_line(self._name, self._scheme):
            return int(self._content.readinto(buffer))

    def close(self) -> None:
        """Let go of it."""
        if not self.closed:
            self._content.close()
        super().close()


def _scheme_and_path(address: str) -> tuple[str, str]:
    """The scheme and the path of an address."""
    match = ADDRESS.fullmatch(address)
    assert match is not None
    return match[1], match[3].rstrip("/")


def _store_of(address: str) -> Store:
    match = ADDRESS.fullmatch(address)
    assert match is not None
    return _connected_store(match[1], match[2] is not None, match[3].partition("/")[0])


def _written(address: str, path: str) -> str:
    """An address with both of its slashes."""
    match = ADDRESS.fullmatch(address)
    assert match is not None
    return f"{match[1]}://{match[2] or ''}{path}"


@cache
def _connected_store(scheme: str, anonymous: bool, bucket: str) -> Store:
    if scheme == "hf":
        return HubStore()
    from pyarrow import fs

    if scheme == "gs":
        endpoint = os.environ.get("STORAGE_EMULATOR_HOST", "")
        transport, _, host = endpoint.rpartition("://")
        where = {"endpoint_override": host, "scheme": transport or "http"} if endpoint else {}
        patience = timedelta(seconds=SECONDS)
        return ArrowStore(fs.GcsFileSystem(anonymous=anonymous, retry_time_limit=patience, **where))
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    transport, _, host = endpoint.rpartition("://")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region and not endpoint:
        region = fs.resolve_s3_region(bucket)
    return ArrowStore(
        fs.S3FileSystem(
            anonymous=anonymous,
            region=region,
            endpoint_override=host or None,
            scheme=transport or "https",
            connect_timeout=SECONDS,
            request_timeout=3 * SECONDS,
        )
    )


def _pattern(path: str) -> re.Pattern[str]:
    """What a glob stands for: * within a name, ** over folders, neither for a dot that begins one.

    A folder that matches stands for all that is in it.

    >>> bool(_pattern("b/*/x*").fullmatch("b/a/xy/z.txt")), bool(_pattern("b/*.txt").fullmatch("b/a/z.txt"))
    (True, False)
    >>> bool(_pattern("b/**/*.txt").fullmatch("b/z.txt")), bool(_pattern("b/**/*.txt").fullmatch("b/a/c/z.txt"))
    (True, True)
    """
    spelt = ""
    for part in path.split("/"):
        if part == "**":
            spelt += r"(?:(?!\.)[^/]+/)*"
        else:
            spelt += r"(?!\.)" if part[:1] in "*?[" else ""
            spelt += fnmatch.translate(part).removeprefix("(?s:").removesuffix(r")\Z").replace(".*", "[^/]*") + "/"
    return re.compile(spelt.removesuffix("/") + "(?:/.*)?", re.DOTALL)


@contextmanager
def _refusals_in_a_line(name: str, scheme: str) -> Iterator[None]:
    """Turn what a store refuses, and a network that fails, into one line that names the file."""
    try:
        with hub_allowed() if scheme == "hf" else nullcontext():
            yield
    except (BadInput, FileNotFoundError):
        raise
    except Exception as error:
        if not _of_store(error):
            raise
        told = f"{type(error).__name__}: {error}"
        if MISSING.search(told) or "NotFound" in type(error).__name__:
            raise FileNotFoundError(2, "there is no such file") from error
        if REFUSED.search(told) or type(error).__name__ in ("GatedRepoError", "PermissionError"):
            raise BadInput(f"{name}: no access; {CREDENTIALS[scheme]}") from error
        if type(error).__name__ == "OfflineModeIsEnabled":
            raise BadInput(f"{name}: HF_HUB_OFFLINE is set; unset it to read from the hub") from error
        raise Unreachable(
            f"{name}: cannot be reached ({_store_reason(error)}); the same command goes on with what was not read yet"
        ) from error


def _of_store(error: Exception) -> bool:
    """Whether an error is one of a store or the network, and not a mistake of ours."""
    modules = {each.__module__.partition(".")[0] for each in type(error).__mro__}
    return isinstance(error, OSError | ValueError) or bool(modules & {"huggingface_hub", "httpx", "httpx2", "pyarrow"})


def _store_reason(error: Exception) -> str:
    """What a store says, without what it says to its makers."""
    first = str(error).strip().partition("\n")[0] or type(error).__name__
    details = re.search(r"(curlCode: \d+, [^;]*|CURL error \[\d+\]=[^{]*?(?= error_info|$))", first)
    return (details[1] if details else first)[:160].strip()
