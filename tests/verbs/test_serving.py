"""The command serves until it is stopped, and says where and with which key."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

import unmask
from unmask.console.serving import draw_serving
from unmask.web.server import bind

Run = Callable[..., subprocess.CompletedProcess[str]]
FACTS = ("health", "metrics")


def listen_to_interrupts() -> None:
    """As a terminal has it: what a script starts in the background does not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_the_command_has_asked_itself_what_the_first_view_asks_and_serves_until_it_is_stopped(data: Path) -> None:
    line = [sys.executable, "-m", "unmask", "serve", str(data), "--port", "0", "--no-open", "--json"]
    env = os.environ | {"UNMASK_KEY": "a key of one's own"}
    pipe = subprocess.PIPE
    with subprocess.Popen(line, stdout=pipe, stderr=pipe, env=env, preexec_fn=listen_to_interrupts) as process:
        assert process.stdout is not None
        try:
            serving = json.loads(process.stdout.readline())
            assert serving["key"] == "a key of one's own" and serving["places"] == {"data": ["hide", "corpus"]}
            key = {"Authorization": f"Bearer {serving['key']}"}
            asked = [urllib.request.Request(f"{serving['address']}/api/{name}", headers=key) for name in FACTS]
            health, metrics = (urllib.request.urlopen(each, timeout=30).read().decode() for each in asked)
            assert json.loads(health)["status"] == "ok"
            for route in ("/api/places", "/api/policies", "/api/show", "/api/roll"):
                assert f'unmask_requests_total{{route="{route}",status="200"}} 1\n' in metrics
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, b"", b"")


def test_what_is_wrong_is_said_before_anything_is_served(
    data: Path, inside: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bind(0) as taken:
        done = inside("serve", data, "--port", taken.getsockname()[1])
        assert done.returncode == 3 and "something else listens there" in done.stderr
    assert "ports go from 0" in inside("serve", data, "--port", 70_000).stderr
    monkeypatch.setenv("UNMASK_KEY", "short")
    assert "UNMASK_KEY: a key of 5 letters can be guessed" in inside("serve", data).stderr
    monkeypatch.delenv("UNMASK_KEY")
    monkeypatch.setattr("unmask.web.server.find_spec", lambda name: None if name == "fastapi" else name)
    done = inside("serve", data)
    assert (done.returncode, done.stderr) == (3, "unmask: serve needs fastapi: pip install 'unmask[web]'\n")


def test_the_page_in_the_terminal_has_the_address_the_key_and_what_is_served() -> None:
    from rich.console import Console

    console = Console(width=80, no_color=True, record=True, file=io.StringIO())
    places: dict[str, tuple[str, ...]] = {"run": ("hide", "fill"), "begun": ()}
    serving = unmask.Serving(
        address="http://127.0.0.1:1", url="http://127.0.0.1:1/?key=once", key="secret", places=places
    )
    console.print(draw_serving(serving), crop=False)
    said = console.export_text()
    assert "http://127.0.0.1:1/?key=once" in said and "secret" in said
    assert "hide, fill" in said and "nothing yet" in said
