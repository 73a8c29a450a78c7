"""How fast the pages and the API are, and whether they hold under load.

    python benchmarks/pages.py run
    python benchmarks/pages.py run --clients 20 --seconds 60

A server of its own is started as a user would. The first view in chromium, where there is one, each time of another
server. Then one client: hiding again, and filling a blank, in a text of 128 tokens. Then many clients at once, which
hide, fill and score: errors, seconds and the memory of the server at a third of the time and in the end.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import tyro

WORDS = "the village was founded in the early part of a century and its church is known for two towers"
TEXT = " ".join((WORDS.split() * 7)[:120])
BLANKED = TEXT.replace("founded", "[MASK]", 1)


class Client:
    """A connection that stays open."""

    def __init__(self, serving: dict[str, Any]) -> None:
        self.host = serving["address"].removeprefix("http://")
        self.headers = {"authorization": f"Bearer {serving['key']}", "content-type": "application/json"}
        self.connection = http.client.HTTPConnection(self.host, timeout=120)

    def ask(self, path: str, question: dict[str, Any] | None = None) -> tuple[int, bytes, float]:
        """Status, body and seconds."""
        begun = time.perf_counter()
        body = None if question is None else json.dumps(question)
        self.connection.request("GET" if body is None else "POST", path, body, self.headers)
        response = self.connection.getresponse()
        return response.status, response.read(), time.perf_counter() - begun


class Asked(NamedTuple):
    """One answer under load."""

    route: str
    status: int
    seconds: float


@contextmanager
def served(run: Path) -> Iterator[dict[str, Any]]:
    """The command, in a process of its own."""
    line = [sys.executable, "-m", "unmask", "serve", str(run), "--port", "0", "--no-open", "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline()) | {"process": process.pid}
        finally:
            process.terminate()


def percentile(values: list[float], share: float) -> float:
    """A value that so large a share is below."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def line(name: str, seconds: list[float]) -> str:
    """Median and 95th percentile."""
    middle, high = (1000 * percentile(seconds, share) for share in (0.5, 0.95))
    return f"{name:<34} median {middle:7.1f} ms   p95 {high:7.1f} ms   ({len(seconds)} requests)"


def memory(serving: dict[str, Any]) -> float:
    """Megabytes that the server has."""
    text = Client(serving).ask("/api/metrics")[1].decode()
    (value,) = (row.split()[1] for row in text.splitlines() if row.startswith("process_resident_memory_bytes "))
    return float(value) / 1e6


def processor_seconds(process: int) -> float:
    """That a process has worked, all of its threads together: what a request costs where the machine is not quiet."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def alone(serving: dict[str, Any], model: str, rounds: int) -> None:
    """One client."""
    client = Client(serving)
    for name, path, question in (
        ("hide again, 120 words", "/api/show", {"text": TEXT, "policy": "word"}),
        ("every policy", "/api/show", {"text": TEXT, "all": True}),
        ("fill a blank, 120 words", "/api/fill", {"texts": [BLANKED]}),
    ):
        client.ask(path, {"model": model, **question})
        changing = [{"seed": number} if path == "/api/show" else {"top": 5} for number in range(rounds)]
        before = processor_seconds(serving["process"])
        answers = [client.ask(path, {"model": model, **question, **change}) for change in changing]
        worked = 1000 * (processor_seconds(serving["process"]) - before) / rounds
        assert all(status == 200 for status, _, _ in answers), answers[0]
        print(f"{line(name, [seconds for _, _, seconds in answers])}   processor {worked:.1f} ms", flush=True)


def first_view(run: Path, times: int) -> None:
    """How large the page is, and how soon its first view is drawn.

    The browser is open, with nothing in its cache. The time begins when the line with the address comes out of the
    server, and ends with the frame that has the text and what is hidden in it, or all of the view.
    """
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("first view: no chromium to see it in")
        return
    from playwright.sync_api import sync_playwright

    text_there: list[float] = []
    all_there: list[float] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(times):
            context, sizes = browser.new_context(), []
            page = context.new_page()
            page.on("response", lambda response, sizes=sizes: sizes.append(int(response.headers["content-length"])))
            with served(run) as serving:
                begun = time.perf_counter()
                page.goto(serving["url"], wait_until="commit")
                for selector, seconds in ((".tokens", text_there), ("main:has(.columns):has(.tokens.many)", all_there)):
                    page.wait_for_selector(selector)
                    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
                    seconds.append(time.perf_counter() - begun)
            context.close()
        browser.close()
    for name, seconds in (("the text and what is hidden", text_there), ("and all policies, rolled", all_there)):
        middle, worst = percentile(seconds, 0.5), max(seconds)
        print(f"first view, {name:<28} median {middle:.2f} s, at the most {worst:.2f} s, {times} times")
    print(f"{sum(sizes) / 1000:.0f} kB loaded", flush=True)


def together(serving: dict[str, Any], model: str, clients: int, seconds: float) -> None:
    """Many clients at once."""
    asked: list[Asked] = []
    end = time.perf_counter() + seconds

    def work(number: int) -> None:
        client, turn = Client(serving), number
        while time.perf_counter() < end:
            path, question = (
                ("/api/show", {"text": TEXT, "policy": "span", "seed": turn}),
                ("/api/fill", {"texts": [BLANKED]}),
                ("/api/score", {"texts": [WORDS]}),
            )[turn % 3]
            status, _, took = client.ask(path, {"model": model, **question})
            asked.append(Asked(path, status, took))
            turn += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    time.sleep(seconds / 3)
    before = memory(serving)
    for thread in threads:
        thread.join()
    after = memory(serving)
    errors = sum(each.status != 200 for each in asked)
    print(f"{clients} clients for {seconds:.0f} s: {len(asked)} answers, {errors} errors, ", end="")
    print(f"memory {before:.0f} MB after a third, {after:.0f} MB in the end")
    for route in sorted({each.route for each in asked}):
        print("  " + line(route, [each.seconds for each in asked if each.route == route]))


def main(run: Path, /, views: int = 5, rounds: int = 200, clients: int = 20, seconds: float = 60.0) -> None:
    """Measure the pages and the API of a server.

    Args:
        run: A run or a masked-LM directory; the claims are made for one of mini.
        views: How often a server is started and its first view waited for.
        rounds: Requests of one client.
        clients: Clients at once.
        seconds: How long they ask.
    """
    first_view(run, views)
    with served(run) as serving:
        model = next(iter(serving["places"]))
        alone(serving, model, rounds)
        together(serving, model, clients, seconds)


if __name__ == "__main__":
    tyro.cli(main)
