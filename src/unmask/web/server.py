"""The server: the API and the pages behind the guard, on this machine alone.

In: what is served, and the keys. Out: an application, or a server that runs until it is stopped.
"""

from __future__ import annotations

import errno
import json
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from unmask import __version__
from unmask.errors import BadInput, Damaged, UnmaskError
from unmask.web.places import Place, Served, UnknownPlace

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp

    from unmask.web.guard import Keys
    from unmask.web.limits import Limits

ADDRESS = "127.0.0.1"
PATIENCE = 10.0  # seconds for the server to come up or to go
ABOUT = """Models behind HTTP, as `unmask serve` serves them. Send the key as `Authorization: Bearer KEY`.

Texts of several requests that wait for the same model are answered together. `GET /api/health` states how much may be
asked for, and how much is waiting; `GET /api/places` names what is served."""
WARMING = "The first text in which something is hidden."
log = logging.getLogger("unmask.web")


def check_web() -> None:
    """Say in one line how to get it where it is missing."""
    if missing := [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]:
        raise BadInput(f"serve needs {' and '.join(missing)}: pip install 'unmask[web]'")


def create_app(places: tuple[Place, ...], keys: Keys, port: int, limits: Limits | None = None) -> ASGIApp:
    """The application, guarded."""
    from fastapi import FastAPI

    from unmask.web.answering import AnswerDesk
    from unmask.web.api import api_router
    from unmask.web.guard import Guard
    from unmask.web.limits import BodyLimit, Limits
    from unmask.web.metrics import Metrics
    from unmask.web.static import page_routes

    limits = limits or Limits()
    answering = AnswerDesk(Served(places), limits)
    app = FastAPI(
        title="unmask",
        version=__version__,
        description=ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,  # their pages come from other servers
        redoc_url=None,
        routes=page_routes(),
    )
    metrics = Metrics(BodyLimit(app, limit=limits.body), answering.load)
    app.include_router(api_router(answering, metrics))
    _add_refusals(app, places)
    _describe_key(app)
    return Guard(metrics, keys=keys, port=port)


def _add_refusals(app: FastAPI, places: tuple[Place, ...]) -> None:
    """Every refusal is one line of JSON, without the paths of this machine."""
    from fastapi import Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from starlette.exceptions import HTTPException as Refusal

    from unmask.web.answering import TooSlow
    from unmask.web.batching import Busy

    statuses: list[tuple[type[UnmaskError], int]] = [
        (UnknownPlace, 404),
        (BadInput, 422),
        (Damaged, 500),
        (Busy, 503),
        (TooSlow, 504),
    ]

    def told(line: str) -> str:
        for place in sorted(places, key=lambda place: -len(str(place.path))):
            line = line.replace(str(place.path), place.id)
        return " ".join(line.split())

    @app.exception_handler(UnmaskError)
    async def refused(_request: Request, error: UnmaskError) -> JSONResponse:
        status = next((status for kind, status in statuses if isinstance(error, kind)), 500)
        headers = {"retry-after": "1"} if status == 503 else {}
        return JSONResponse({"error": told(str(error))}, status, headers)

    @app.exception_handler(RequestValidationError)
    async def misread(_request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"] if part != "body") or "body"
        return JSONResponse({"error": f"{field}: {first['msg']}"}, 422)

    @app.exception_handler(Refusal)
    async def answered(_request: Request, error: Refusal) -> JSONResponse:
        return JSONResponse({"error": str(error.detail).lower()}, error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def failed(_request: Request, error: Exception) -> JSONResponse:
        log.error("%s: %s", type(error).__name__, error)
        return JSONResponse({"error": "an error of unmask's own, please report it"}, 500)


def _describe_key(app: FastAPI) -> None:
    """Have the description of the API say that a key is needed."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        schema: dict[str, Any] = plain()
        schema.setdefault("components", {})["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"key": []}]
        schema["components"]["schemas"].pop("HTTPValidationError", None)
        schema["components"]["schemas"].pop("ValidationError", None)
        return schema

    app.openapi = described  # type: ignore[method-assign]


def warm_up(port: int, key: str, places: tuple[Place, ...]) -> None:
    """Ask the server what its first view will ask: whatever is done for the first time takes longest."""
    import unmask.inference.model  # noqa: F401  # torch and transformers, which every model needs

    connection = HTTPConnection(ADDRESS, port, timeout=PATIENCE)
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    requests: list[tuple[str, dict[str, Any] | None]] = [("/", None), ("/api/places", None), ("/api/policies", None)]
    if hides := [place.id for place in places if "hide" in place.abilities][:1]:
        question = {"model": hides[0], "text": WARMING}
        requests += [("/api/show", question | {"all": True}), ("/api/roll", question | {"rolls": 2})]
    with suppress(OSError, HTTPException), closing(connection):  # whoever asks is told what is wrong
        for path, asked in requests:
            body = None if asked is None else json.dumps(asked)
            connection.request("GET" if body is None else "POST", path, body, headers)
            connection.getresponse().read()


def bind(port: int) -> socket.socket:
    """A place to listen at, which only this machine reaches; any free one for 0."""
    if not 0 <= port < 1 << 16:
        raise BadInput(f"--port {port}: ports go from 0, any that is free, to 65535")
    # the protocol is named, for asyncio sends small answers at once only where it knows that it is TCP
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
        listener.listen()  # so that nobody else is let in at the same port
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise BadInput(f"--port {port}: something else listens there; give another, or 0 for any") from None
        raise BadInput(f"--port {port}: {error.strerror}") from None
    return listener


@contextmanager
def running(app: ASGIApp, listener: socket.socket) -> Iterator[threading.Thread]:
    """The server in a thread of its own, for as long as the block runs."""
    import uvicorn

    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=2, ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="server", daemon=True)
    thread.start()
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.02)):
        if server.started or not thread.is_alive():
            break
        pause.wait(0.02)
    try:
        yield thread
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()
