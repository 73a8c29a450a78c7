"""Nobody reads or asks without the key, from another address or from another page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from unmask.web.guard import Keys

ROUTES = ["/", "/app.js", "/api/health", "/api/places", "/api/openapi.json", "/api/metrics", "/api/nothing"]


@pytest.fixture(scope="module")
def data_server(serving: Any, data: Path) -> Iterator[Any]:
    with serving(data) as server:
        yield server


@pytest.fixture
def server(data_server: Any) -> Any:
    """The server with a ticket that nobody has used."""
    data_server.keys.ticket = Keys().ticket
    return data_server


def cookie(answer: Any) -> str:
    return answer.headers["set-cookie"].partition(";")[0]


@pytest.mark.parametrize("path", ROUTES)
def test_a_key_is_needed_even_to_read(server: Any, path: str) -> None:
    assert server.send("GET", path).status == 401
    assert server.send("GET", path, authorization="Bearer wrong").status == 401
    assert server.send("GET", path, cookie=f"unmask-{server.port}=wrong").status == 401
    assert server.send("GET", f"{path}?key={server.keys.key}").status == 401  # the key itself is not for addresses


def test_the_address_opens_once_and_the_browser_is_known_from_then_on(server: Any) -> None:
    opened = f"/?key={server.keys.ticket}"
    first = server.send("GET", opened)
    assert first.status == 200
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {
        part.strip() for part in first.headers["set-cookie"].split(";")
    }
    assert server.send("GET", opened).status == 401
    assert server.send("GET", "/", cookie=cookie(first)).status == 200
    assert server.send("GET", "/api/health", cookie=cookie(first)).status == 200


def test_the_key_that_is_typed_opens_the_page_too(server: Any) -> None:
    form = {"origin": server.address, "content_type": "application/x-www-form-urlencoded"}
    typed = server.send("POST", "/key", urlencode({"key": server.keys.key}).encode(), **form)
    assert typed.status == 303 and server.send("GET", "/", cookie=cookie(typed)).status == 200
    assert server.send("POST", "/key", b"key=wrong", **form).status == 401
    assert server.send("POST", "/key", b"key=" + b"a" * 5_000, **form).status == 401
    assert server.send("POST", "/key", urlencode({"key": server.keys.key}).encode()).status == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{}", ""])
def test_another_host_is_refused_whatever_the_key(server: Any, host: str) -> None:
    bearer = f"Bearer {server.keys.key}"
    refused = server.send("GET", "/api/places", host=host.format(server.port), authorization=bearer)
    assert refused.status in (400, 421) and b"bert" not in refused.body
    assert server.send("GET", "/api/places", host=f"localhost:{server.port}", authorization=bearer).status == 200


def test_pages_of_other_sites_are_refused_though_the_browser_sends_its_cookie(server: Any) -> None:
    known = {"cookie": cookie(server.send("GET", f"/?key={server.keys.ticket}")), "content_type": "application/json"}
    body = b'{"model": "data", "text": "A dog."}'
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{server.port + 1}", "http://127.0.0.1"):
        assert server.send("POST", "/api/show", body, origin=origin, **known).status == 403
        assert server.send("GET", "/api/places", origin=origin, **known).status == 403
    assert server.send("POST", "/api/show", body, **known).status == 403  # a browser says where it comes from
    assert server.send("GET", "/api/places", sec_fetch_site="cross-site", **known).status == 403
    assert server.send("POST", "/api/show", body, origin=server.address, **known).status == 200


def test_every_answer_forbids_what_the_pages_do_not_need(server: Any) -> None:
    for answer in (server.send("GET", "/"), server.get("/api/places"), server.get("/"), server.get("/nothing")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert not any(name.startswith("access-control") for name in answer.headers)
        assert answer.headers["cache-control"] in ("no-store", "no-cache")


def test_no_address_leads_to_another_file(server: Any) -> None:
    for path in ("/../places.py", "/%2e%2e/places.py", "/vendor/../../places.py", "/pages/index.html", "//etc/passwd"):
        assert server.get(path).status == 404
