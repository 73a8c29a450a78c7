"""A process that opens PDF and docx files, and pages for their main text, apart from the one that reads the corpus.

In, on a pipe whose number is its argument: a path (or a page) and its format, as JSON. Out, for each: a message for
every page of a PDF (its number, and its text or its problem) or one with a docx as HTML, then one that says the file is
at its end or what is wrong with it. Whatever a hostile file does (loops, gigabytes, a page without an end) it does to
this process, which has a bound on its memory and is ended when nothing comes from it. It ends itself when the other
side is gone.
"""

from __future__ import annotations

import json
import logging
import resource
import signal
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

MEMORY = 2 << 30  # bytes of this process
MAX_PAGES = 50_000
MAX_TEXT = 64 << 20  # characters of a file
OLD_OFFICE = b"\xd0\xcf\x11\xe0"  # how .doc begins, and a docx with a password

NAMES = {"pdf": "a pdf", "docx": "a docx", "main": "a page"}

Message = dict[str, Any]


class UnreadableFile(Exception):
    """Why a file cannot be read at all."""


def pdf_messages(path: Path) -> Iterator[Message]:
    """The pages of a PDF, one after the other."""
    import pypdf

    with path.open("rb") as file:
        reader = pypdf.PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):  # many have a password for printing, and none for reading
            raise UnreadableFile("encrypted, it opens with a password only; save it without one")
        characters = 0
        for number, page in enumerate(reader.pages, start=1):
            if number > MAX_PAGES:
                raise UnreadableFile(f"more than {MAX_PAGES:,} pages; those behind were left out")
            try:
                text = page.extract_text()
            except Exception as error:
                yield {"page": number, "problem": f"page {number} cannot be read ({_reason(error)})"}
                continue
            if (characters := characters + len(text)) > MAX_TEXT:
                raise UnreadableFile(f"more than {MAX_TEXT >> 20} MB of text; what is behind was left out")
            yield {"page": number, "text": text}


def docx_messages(path: Path) -> Iterator[Message]:
    """A docx as HTML: paragraphs, tables and notes in their order, without its pictures."""
    import mammoth

    with path.open("rb") as file:
        if file.read(len(OLD_OFFICE)) == OLD_OFFICE:
            raise UnreadableFile("encrypted, or an old .doc under another name; save it as a .docx without a password")
        # A zip never gives more of a part than it declares, so that what it declares is a bound.
        with zipfile.ZipFile(file) as parts:
            if sum(part.file_size for part in parts.infolist() if part.filename.endswith((".xml", ".rels"))) > MAX_TEXT:
                raise UnreadableFile(f"unpacks to more than {MAX_TEXT >> 20} MB of text")
        no_picture = mammoth.images.img_element(lambda image: {})
        page = mammoth.convert_to_html(file, convert_image=no_picture, include_embedded_style_map=False)
        yield {"page": 1, "text": page.value}


def main_messages(page: str) -> Iterator[Message]:
    """The main text of an HTML page, a paragraph a line."""
    from resiliparse.extract.html2text import extract_plain_text

    text = extract_plain_text(page, main_content=True, list_bullets=False, alt_texts=False, links=False)
    yield {"text": "\n".join(paragraph for line in text.splitlines() if (paragraph := " ".join(line.split())))}


OPENERS: dict[str, Callable[[str], Iterator[Message]]] = {
    "pdf": lambda path: pdf_messages(Path(path)),
    "docx": lambda path: docx_messages(Path(path)),
    "main": main_messages,
}


def messages(content: str, form: str) -> Iterator[Message]:
    """What is sent for a file, or a page."""
    problem = None
    try:
        yield from OPENERS[form](content)
    except UnreadableFile as error:
        problem = str(error)
    except OSError as error:
        problem = error.strerror or str(error)
    except MemoryError:
        problem = f"takes more than {MEMORY >> 30} GB of memory"
    except Exception as error:  # a damaged file may raise anything
        problem = f"not {NAMES[form]}, or damaged ({_reason(error)})"
    yield {"end": problem}


def _reason(error: Exception) -> str:
    line = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def main(pipe: Connection) -> None:
    """Open what is asked for until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it ends it
    logging.disable()
    with suppress(ValueError, OSError):  # not every system has this bound
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with suppress(EOFError, BrokenPipeError):
        while True:
            for message in messages(*json.loads(pipe.recv_bytes())):
                pipe.send_bytes(json.dumps(message).encode())


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
