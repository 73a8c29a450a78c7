"""Who may ask: a key even to read, from this address and from this page alone.

In: every request. Out: the request, or a refusal in one line. Others on the machine reach the port, and any page in the
same browser can send requests to it, so:

    Host     must be this machine with the port, or a name that was rebound to it could read the answers
    Origin   must be this server's, where there is one; a cookie alone may not change or compute anything without it
    key      the address that is opened has a ticket for one use, which is exchanged for a cookie that scripts cannot
             read and other sites do not send; programs send the key: Authorization: Bearer KEY

Every answer forbids what the pages do not need: no script, style or connection but the server's own, no frame, no
sniffing, nothing kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none at all, a form would not say where it comes from
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
OPEN = {"/style.css"}  # what the page that asks for the key is drawn with
FORM = 1_024  # bytes of the form with a key


@dataclass
class Keys:
    """What lets in: the key of programs, a ticket for one use, and what a browser is given for it."""

    key: str = field(default_factory=lambda: token_urlsafe(32))
    ticket: str | None = field(default_factory=lambda: token_urlsafe(24))
    session: str = field(default_factory=lambda: token_urlsafe(32))

    def take_ticket(self, given: str) -> bool:
        """Whether this is the ticket; it is used up by that."""
        if self.ticket is None or not _same(given, self.ticket):
            return False
        self.ticket = None
        return True


def _same(given: str, wanted: str) -> bool:
    """Whether two secrets are the same, in a time that does not tell how nearly."""
    return compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode())


class Guard:
    """Lets requests through to an application, or refuses them."""

    def __init__(self, app: ASGIApp, *, keys: Keys, port: int) -> None:
        self.app, self.keys = app, keys
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        if port == 80:
            self.hosts |= {"127.0.0.1", "localhost", "[::1]"}
        self.cookie = f"unmask-{port}"  # cookies know no ports: two servers must not take each other's away

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # there are no web sockets here
        answer = await self._refusal(scope, receive)
        await (self.app if answer is None else answer)(scope, receive, _with_headers(send))

    async def _refusal(self, scope: Scope, receive: Receive) -> Response | None:
        """What is answered instead of what was asked for; none where it may be."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get("host") not in self.hosts:
            return _refuse(421, "this server answers at its own address only, with the port: 127.0.0.1")
        origin, method = headers.get("origin"), scope["method"]
        if origin is not None and origin.removeprefix("http://") not in self.hosts:
            return _refuse(403, "another site's page may not ask here")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not _is_arrival(scope, headers):
            return _refuse(403, "another site's page may not ask here")
        bearer = headers.get("authorization", "")
        if bearer.startswith("Bearer "):
            known = _same(bearer.removeprefix("Bearer ").strip(), self.keys.key)
            return None if known else self._ask_for_key(scope, "the key is not this server's")
        if scope["path"] in OPEN and method in ("GET", "HEAD"):
            return None
        if scope["path"] == "/key" and method == "POST" and origin is not None:
            return await self._exchange(receive)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("key")
        if given and scope["path"] == "/" and self.keys.take_ticket(given[0]):
            return self._let_in(HTMLResponse(_page("index.html")))
        if not _same(_cookie(headers.get("cookie", ""), self.cookie), self.keys.session):
            used = "that address was opened before, and opens once; " if given else ""
            return self._ask_for_key(scope, used + "a key is needed")
        if method not in ("GET", "HEAD") and origin is None:
            return _refuse(403, "a request of a browser says where it comes from; programs send the key as a header")
        return None

    async def _exchange(self, receive: Receive) -> Response:
        """A cookie for the key that was typed."""
        body = b""
        while len(body) <= FORM:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        given = parse_qs(body.decode("latin-1")).get("key", [""])[0].strip()
        if len(body) > FORM or not _same(given, self.keys.key):
            return _key_page("that is not the key")
        return self._let_in(RedirectResponse("/", status_code=303))

    def _let_in(self, response: Response) -> Response:
        response.set_cookie(self.cookie, self.keys.session, httponly=True, samesite="strict", path="/")
        return response

    def _ask_for_key(self, scope: Scope, why: str) -> Response:
        if scope["path"] == "/":
            return _key_page(why)
        said = f"{why}: send it as Authorization: Bearer KEY, the command that serves has shown it"
        return JSONResponse({"error": said}, 401, {"www-authenticate": "Bearer"})


def _is_arrival(scope: Scope, headers: dict[str, str]) -> bool:
    """Whether somebody follows a link to the page: they arrive without a cookie, and nothing is given away."""
    return scope["path"] == "/" and scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"


def _cookie(header: str, name: str) -> str:
    try:
        cookies: SimpleCookie = SimpleCookie(header)
    except CookieError:
        return ""
    return cookies[name].value if name in cookies else ""


def _refuse(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status)


def _key_page(why: str) -> Response:
    """The page that asks for the key."""
    return HTMLResponse(_page("key.html").replace("{why}", why[0].upper() + why[1:]), 401)


def _page(name: str) -> str:
    return files("unmask.web").joinpath("pages", name).read_text(encoding="utf-8")


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: list[Any] = message.setdefault("headers", [])
            there = {name.lower() for name, _ in headers}
            headers += [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            if b"cache-control" not in there:
                headers.append((b"cache-control", b"no-store"))
        await send(message)

    return sending
