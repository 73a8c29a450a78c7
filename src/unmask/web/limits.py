"""How much may be asked for: bytes, texts, tokens, requests at once, seconds.

In: requests. Out: the same, or a refusal that says which limit it was. `GET /api/health` states them.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unmask.web.questions import MOST_TEXTS, MOST_WRITTEN


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request, and all of them together, may take."""

    body: int = 256 << 10  # bytes of a request
    texts: int = MOST_TEXTS  # of a request
    tokens: int = 8_192  # of a request's texts together
    costly_tokens: int = 1_024  # the same where each token is asked about by itself: score, and which words mattered
    written: int = MOST_WRITTEN  # tokens that a model is asked to write
    waiting: int = 64  # requests that are computed or wait for it; more are sent away (503)
    together: int = 64  # texts of several requests that a model is asked at once
    seconds: float = 60.0  # until an answer; then the request is given up (504)


class TooLarge(Exception):
    """A body beyond the limit."""


class BodyLimit:
    """Refuses bodies that are too large: by what is said of their size, and by what comes."""

    def __init__(self, app: ASGIApp, *, limit: int) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        seen, begun = 0, False

        async def receiving() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.limit:
                raise TooLarge
            return message

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            if not declared.isdigit() or int(declared) > self.limit:
                raise TooLarge
            await self.app(scope, receiving, sending)
        except TooLarge:
            if not begun:
                said = f"a request may have {self.limit:,} bytes; send fewer texts at a time"
                await JSONResponse({"error": said}, 413)(scope, receive, send)
