"""Google's storage as far as its readers ask: what a folder has, of one bucket, over HTTP on this machine.

    python google_storage.py FOLDER BUCKET    # says its port, and serves until it is ended

A process of its own: pyarrow's client keeps Python waiting while it asks, so that one in the same could not answer.
"""

from __future__ import annotations

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote


class Storage(BaseHTTPRequestHandler):
    """The lists of a bucket, what is said of an object, and its bytes from any place on."""

    protocol_version = "HTTP/1.1"
    folder, bucket = Path(), ""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        asked = {name: values[0] for name, values in parse_qs(query).items()}
        match = re.fullmatch(rf"/storage/v1/b/{self.bucket}/o(?:/(.+))?", path)
        if match and match[1] is None:
            files = [file for file in sorted(self.folder.rglob("*")) if file.is_file()]
            objects = [self.told(file) for file in files]
            items = [each for each in objects if each["name"].startswith(asked.get("prefix", ""))]
            self.answer(200, json.dumps({"kind": "storage#objects", "items": items}).encode())
        elif match is None or not (file := self.folder / unquote(match[1])).is_file():
            self.answer(404, json.dumps({"error": {"code": 404, "message": "Not Found"}}).encode())
        elif asked.get("alt") == "media":
            content = file.read_bytes()
            first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
            piece = content[int(first) : int(last) + 1 if last else None]
            place = f"bytes {first}-{int(first) + len(piece) - 1}/{len(content)}"
            self.answer(206 if "Range" in self.headers else 200, piece, {"Content-Range": place})
        else:
            self.answer(200, json.dumps(self.told(file)).encode())

    def told(self, file: Path) -> dict[str, str]:
        name, dates = file.relative_to(self.folder).as_posix(), dict.fromkeys(("updated", "timeCreated"), DATE)
        size = str(file.stat().st_size)
        return {"kind": "storage#object", "bucket": self.bucket, "name": name, "size": size, "generation": "1", **dates}

    def answer(self, code: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), "x-goog-generation": "1", **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


DATE = "2026-01-01T00:00:00Z"

if __name__ == "__main__":
    Storage.folder, Storage.bucket = Path(sys.argv[1]), sys.argv[2]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Storage)
    print(server.server_address[1], flush=True)
    server.serve_forever()
