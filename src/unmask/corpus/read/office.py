"""The readers of PDF and docx, an extra: one document a file, or several where it is long.

    file ─a process of its own─▶ pages ─join_pages─▶ paragraphs ─▶ Document
                                 HTML ─paragraphs─▶

`office_worker` is that process. It is kept from file to file, and ended when nothing has come from it for `SECONDS`. A
document's line is the page that it begins on.
"""

from __future__ import annotations

import atexit
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import Pipe

from unmask.corpus.read.find import TextSource
from unmask.corpus.read.formats import MAX_CHARACTERS, Malformed, Record, TextlessPages, cut_long_text
from unmask.corpus.read.office_worker import Message
from unmask.corpus.read.printed import join_pages
from unmask.corpus.read.prose import paragraphs
from unmask.corpus.read.remote import is_remote

SECONDS = 60.0  # for a page of a PDF, or for a docx
UNPACKED = 1 << 30  # bytes of a compressed file
SCANNED = "scanned? OCR makes text of pictures"


def read_pdf(content: io.BufferedReader, source: TextSource, field: str) -> Iterator[Record]:
    """The text of a PDF's pages; those without any are counted."""
    pages = textless = 0
    problems: list[Malformed] = []

    def page_texts() -> Iterator[tuple[int, str]]:
        nonlocal pages, textless
        for message in _messages(content, source):
            if problem := message.get("problem") or message.get("end"):
                problems.append(Malformed(source.name, message.get("page", 0), problem))
            elif "page" in message:
                pages += 1
                textless += not message["text"].strip()
                yield message["page"], message["text"]

    yield from _documents(join_pages(page_texts()), source.name)
    if textless:
        yield TextlessPages(source.name, textless, pages)
    if textless == pages and not problems:
        problems.append(Malformed(source.name, 0, f"no text on any of its pages ({pages:,}): {SCANNED}"))
    yield from problems


def read_docx(content: io.BufferedReader, source: TextSource, field: str) -> Iterator[Record]:
    """The paragraphs of a docx, and its tables a row a line."""
    for message in _messages(content, source):
        if problem := message.get("end"):
            yield Malformed(source.name, 0, problem)
        elif "text" in message:
            text = "\n".join(paragraphs(message["text"], rows_in_line=True))
            yield from cut_long_text(text, source.name, 1) if text else [Malformed(source.name, 0, "holds no text")]


def _documents(paragraphs_by_page: Iterable[tuple[int, str]], name: str) -> Iterator[Record]:
    """Paragraphs as one document, or as several of about MAX_CHARACTERS."""
    first, texts, size = 0, list[str](), 0
    for page, text in paragraphs_by_page:
        if texts and size + len(text) > MAX_CHARACTERS:
            yield from cut_long_text("\n".join(texts), name, first)
            texts, size = [], 0
        first = first if texts else page
        texts.append(text)
        size += len(text) + 1
    if texts:
        yield from cut_long_text("\n".join(texts), name, first)


def _messages(content: io.BufferedReader, source: TextSource) -> Iterator[Message]:
    """What the worker tells of a source, or that it had to be ended."""
    with _file_of(content, source) as path:
        if path is None:
            yield {"end": f"unpacks to more than {UNPACKED >> 30} GB"}
            return
        yield from worker_messages(path, source.format, SECONDS)


def worker_messages(content: str, form: str, seconds: float) -> Iterator[Message]:
    """What a worker tells of a file or a page, or that it had to be ended."""
    worker, finished = _free_worker(), False
    try:
        for message in worker.messages(content, form, seconds):
            finished = "end" in message
            yield message
    finally:
        if finished and worker.alive:
            _IDLE.append(worker)
        else:
            worker.end()


@contextmanager
def _file_of(content: io.BufferedReader, source: TextSource) -> Iterator[str | None]:
    """The path of a source, unpacked beside if it is compressed; none if it is too large then."""
    if source.compression is None and not source.member and not is_remote(source.name):
        yield source.name
        return
    with tempfile.NamedTemporaryFile() as unpacked:
        shutil.copyfileobj(Bounded(content, UNPACKED + 1), unpacked)
        unpacked.flush()
        yield None if unpacked.tell() > UNPACKED else unpacked.name


class Bounded(io.RawIOBase):
    """No more than so many bytes of a stream."""

    def __init__(self, content: io.BufferedReader, size: int) -> None:
        self._content, self._left = content, size

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data = self._content.read(min(size, self._left))
        self._left -= len(data)
        return data


class OfficeWorker:
    """The process that opens files, from this side."""

    def __init__(self) -> None:
        self._pipe, other = Pipe()
        command = [sys.executable, "-m", "unmask.corpus.read.office_worker", str(other.fileno())]
        self._process = subprocess.Popen(
            command,
            pass_fds=[other.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        other.close()

    def messages(self, content: str, form: str, seconds: float) -> Iterator[Message]:
        """What it tells of a file or a page; that nothing came in time, or that it is gone, where that is so."""
        page = 0
        try:
            self._pipe.send_bytes(json.dumps([content, form]).encode())
            while self._pipe.poll(seconds):
                message: Message = json.loads(self._pipe.recv_bytes())
                page = message.get("page", page)
                yield message
                if "end" in message:
                    return
            problem = f"nothing came for {seconds:.0f} seconds"
        except (EOFError, OSError):
            problem = "the process that opened it is gone"
        self.end()
        yield {"end": f"{problem}, behind page {page}" if page else problem}

    @property
    def alive(self) -> bool:
        """Whether it can be asked for another file."""
        return self._process.poll() is None

    def end(self) -> None:
        """End the process, whatever it does."""
        self._pipe.close()
        self._process.kill()
        self._process.wait()


_IDLE: list[OfficeWorker] = []


def _free_worker() -> OfficeWorker:
    while _IDLE:
        if (worker := _IDLE.pop()).alive:
            return worker
        worker.end()
    return OfficeWorker()


@atexit.register
def end_idle_workers() -> None:
    """End the processes that wait for a file."""
    while _IDLE:
        _IDLE.pop().end()
