"""The files of the pages: a fixed list, read once, so that no address can name another.

In: the folder `pages` beside this module. Out: routes, one for each file.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class PageFile(NamedTuple):
    """A file of the pages."""

    content: bytes
    kind: str
    tag: str  # that says whether it has changed


def page_files() -> dict[str, PageFile]:
    """The files by their addresses."""
    found = {}
    for path, file in _walk(files("unmask.web").joinpath("pages"), ""):
        suffix = f".{path.rpartition('.')[2]}"
        if suffix in KINDS and path != "/key.html":
            content = file.read_bytes()
            found["/" if path == "/index.html" else path] = PageFile(
                content, f"{KINDS[suffix]}; charset=utf-8", f'"{sha256(content).hexdigest()[:16]}"'
            )
    return found


def _walk(folder: Traversable, before: str) -> list[tuple[str, Traversable]]:
    pairs: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        path = f"{before}/{entry.name}"
        pairs += _walk(entry, path) if entry.is_dir() else [(path, entry)]
    return pairs


def page_routes() -> list[BaseRoute]:
    """A route for each file."""
    return [Route(path, partial(_send, file), methods=["GET"]) for path, file in page_files().items()]


async def _send(file: PageFile, request: Request) -> Response:
    headers = {"etag": file.tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.kind, headers=headers)
