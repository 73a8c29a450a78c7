"""What the server has done, for those who watch over it: counts and seconds by route, as Prometheus reads them.

In: every request. Out: lines of text at `GET /api/metrics`.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unmask.web.batching import Load

BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)  # seconds


class Metrics:
    """Counts requests on their way to an application."""

    def __init__(self, app: ASGIApp, load: Load) -> None:
        self.app, self.load = app, load
        self.lock = threading.Lock()
        self.requests: Counter[tuple[str, int]] = Counter()
        self.buckets: Counter[tuple[str, float]] = Counter()
        self.seconds: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, and count it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            route = getattr(scope.get("route"), "path", "other")  # never what a stranger typed
            self._count(route, status, time.perf_counter() - begun)

    def _count(self, route: str, status: int, seconds: float) -> None:
        with self.lock:
            self.requests[route, status] += 1
            self.seconds[route] += seconds  # type: ignore[assignment]
            for bucket in BUCKETS:
                self.buckets[route, bucket] += seconds <= bucket

    def text(self) -> str:
        """All of it as text."""
        with self.lock:
            requests, seconds, buckets = dict(self.requests), dict(self.seconds), dict(self.buckets)
        lines = ["# TYPE unmask_requests_total counter"]
        lines += [
            f'unmask_requests_total{{route="{route}",status="{status}"}} {count}'
            for (route, status), count in sorted(requests.items())
        ]
        lines.append("# TYPE unmask_request_seconds histogram")
        for route in sorted(seconds):
            total = sum(count for (name, _), count in requests.items() if name == route)
            name = "unmask_request_seconds"
            lines += [f'{name}_bucket{{route="{route}",le="{each:g}"}} {buckets[route, each]}' for each in BUCKETS]
            lines.append(f'{name}_bucket{{route="{route}",le="+Inf"}} {total}')
            lines += [f'{name}_sum{{route="{route}"}} {seconds[route]:.6f}', f'{name}_count{{route="{route}"}} {total}']
        for name, kind, value in (
            ("unmask_unfinished_requests", "gauge", self.load.unfinished),
            ("unmask_batches_total", "counter", self.load.batches),
            ("unmask_batched_requests_total", "counter", self.load.batched),
            ("process_resident_memory_bytes", "gauge", resident_memory()),
        ):
            lines += [f"# TYPE {name} {kind}", f"{name} {value}"]
        return "\n".join(lines) + "\n"


def resident_memory() -> int:
    """Bytes of memory that this process has; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * 4096
