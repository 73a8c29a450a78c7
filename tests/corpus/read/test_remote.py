"""Stores on this machine: S3 (moto's), Google's storage and a hub of datasets, asked by the real clients."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import boto3
import google_storage
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import constants

from unmask.corpus.collect import CollectedCorpus, collect_corpus
from unmask.corpus.engines.engine import Engine
from unmask.corpus.parts import Part
from unmask.corpus.read import remote
from unmask.corpus.read.find import find_sources
from unmask.corpus.staged import staging_place
from unmask.errors import BadInput, Unreachable

Command = Callable[..., subprocess.CompletedProcess[str]]


def rows(start: int, count: int) -> bytes:
    lines = (json.dumps({"text": f"Document {n} is about cats and ships."}) for n in range(start, start + count))
    return "\n".join(lines).encode() + b"\n"


def parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text": [f"Row {n} of a table, with words." for n in range(50)]}), buffer)
    return buffer.getvalue()


FILES = {
    "a/one.jsonl": rows(0, 2_000) + b"broken\n" + rows(2_000, 2_000),
    "a/deep/two.jsonl.gz": gzip.compress(rows(4_000, 100)),
    "a/table.parquet": parquet(),
    "a/picture.png": b"png",
    "a/.hidden.txt": b"No.",
    "a/empty.txt": b"",
    "b/other.txt": b"Of another folder, a document.\n",
}


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    """A server with one bucket; where it is and who may ask is in the environment, as for any other."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        remote._connected_store.cache_clear()
        client = boto3.client("s3")
        client.create_bucket(Bucket="texts")
        for key, content in FILES.items():
            client.put_object(Bucket="texts", Key=key, Body=content)
        yield client
        remote._connected_store.cache_clear()
    server.stop()


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """The same files on the disk."""
    for name, content in FILES.items():
        path = tmp_path / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "texts"


def texts_of(corpus: CollectedCorpus) -> list[str]:
    return [
        text
        for split in ("train", "valid")
        for path in sorted((corpus.path / split).glob("*.parquet"))
        for text in pq.read_table(path)["text"].to_pylist()
    ]


def test_a_store_gives_the_corpus_that_the_same_files_give_here(s3: Any, here: Path, tmp_path: Path) -> None:
    # Parts are small, so that stretches of one file are read by several processes.
    far = collect_corpus(["s3://texts/a/"], tmp_path / "far", engine=Engine(processes=2), part_bytes=100_000)
    near = collect_corpus([str(here / "a")], tmp_path / "near")
    assert texts_of(far) == texts_of(near)
    assert (far.fingerprint, far.counts, far.passed_over) == (near.fingerprint, near.counts, near.passed_over)
    assert far.passed_over == {".png": 1, "empty": 1, "hidden": 1}
    told = json.loads((far.path / "quarantine.jsonl").read_text())
    assert (told["source"], told["line"]) == ("s3://texts/a/one.jsonl", 2_001)


@pytest.mark.parametrize(
    ("argument", "names"),
    [
        ("s3:/texts/b", ["b/other.txt"]),  # a path of Python has one slash
        ("s3://texts/b/other.txt", ["b/other.txt"]),
        ("s3://texts/*/*.jsonl", ["a/one.jsonl"]),
        ("s3://texts/**/*.jsonl*", ["a/one.jsonl", "a/deep/two.jsonl.gz"]),
        ("s3://texts/a/d*", ["a/deep/two.jsonl.gz"]),
    ],
)
def test_files_folders_and_globs_of_a_store_are_found_in_order(s3: Any, argument: str, names: list[str]) -> None:
    sources = find_sources([argument])
    assert [source.name for source in sources] == [f"s3://texts/{name}" for name in names]
    assert [source.size for source in sources] == [len(FILES[name]) for name in names]


def test_a_file_that_was_written_again_is_another_part(s3: Any) -> None:
    def key() -> str:
        return Part(0, tuple(find_sources(["s3://texts/c.txt"]))).key({})

    s3.put_object(Bucket="texts", Key="c.txt", Body=b"A document of some words.")
    first = key()
    assert key() == first
    s3.put_object(Bucket="texts", Key="c.txt", Body=b"A document of more words.x")
    assert key() != first


@pytest.mark.parametrize(
    ("argument", "line"),
    [
        ("s3://none/a", "s3://none/a: there is no such file or folder, or nothing in it"),
        ("s3://texts/none.txt", "s3://texts/none.txt: there is no such file or folder, or nothing in it"),
        ("s3://texts/a/picture.png", "s3://texts/a/picture.png: unknown kind of file (.png)"),
        ("s3://*/a", "s3://*/a: name the bucket or the dataset itself, without * in it"),
    ],
)
def test_what_is_not_in_a_store_is_one_line(s3: Any, argument: str, line: str) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(line)}"):
        find_sources([argument])


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stores at an address where nobody answers."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(remote, "SECONDS", 1)
    remote._connected_store.cache_clear()
    yield
    remote._connected_store.cache_clear()


@pytest.mark.parametrize("address", ["s3://texts/a", "gs://anonymous@texts/a", "hf://datasets/org/texts"])
def test_a_store_that_does_not_answer_is_one_line(nobody: None, address: str) -> None:
    with pytest.raises(Unreachable, match=f"^{address}: cannot be reached") as caught:
        find_sources([address])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.fixture
def google(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same files in a bucket of Google's storage."""
    command = [sys.executable, google_storage.__file__, str(here), "texts"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{server.stdout.readline().strip()}")
    remote._connected_store.cache_clear()
    yield
    remote._connected_store.cache_clear()
    server.kill()
    server.wait()
    server.stdout.close()


def test_google_s_storage_gives_the_corpus_that_the_same_files_give_here(
    google: None, here: Path, tmp_path: Path
) -> None:
    sources = find_sources(["gs://anonymous@texts/a"])
    names = ["a/one.jsonl", "a/table.parquet", "a/deep/two.jsonl.gz"]
    assert [(source.name, source.size) for source in sources] == [
        (f"gs://anonymous@texts/{name}", len(FILES[name])) for name in names
    ]
    assert {source.version for source in sources} == {"1767225600000000000"}
    engine = Engine(processes=2)
    far = collect_corpus(["gs://anonymous@texts/a"], tmp_path / "far", engine=engine, part_bytes=100_000)
    near = collect_corpus([str(here / "a")], tmp_path / "near")
    assert texts_of(far) == texts_of(near)
    assert (far.fingerprint, far.counts, far.passed_over) == (near.fingerprint, near.counts, near.passed_over)
    told = json.loads((far.path / "quarantine.jsonl").read_text())
    assert (told["source"], told["line"]) == ("gs://anonymous@texts/a/one.jsonl", 2_001)


class Refusing(BaseHTTPRequestHandler):
    """Whoever asks may not."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        body = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET


def test_a_store_that_refuses_is_one_line_with_what_to_give_it(monkeypatch: pytest.MonkeyPatch) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    for name, value in {"AWS_ENDPOINT_URL": url, "AWS_REGION": "us-east-1", "STORAGE_EMULATOR_HOST": url}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    remote._connected_store.cache_clear()
    for address, remedy in {
        "s3://texts/a.txt": "set AWS_ACCESS_KEY_ID and",
        "gs://anonymous@texts/a.txt": "set GOOGLE_APP",
    }.items():
        with pytest.raises(BadInput, match=f"^{address}: no access; {remedy}"):
            find_sources([address])
    remote._connected_store.cache_clear()
    server.shutdown()
    server.server_close()


def test_a_network_that_fails_in_a_file_is_no_end_of_it_and_the_same_command_goes_on(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        def __init__(self, content: Any) -> None:
            self.content = content

        def readinto(self, buffer: Any) -> int:
            if self.content.tell() > 0:
                raise OSError("When reading: AWS Error NETWORK_CONNECTION: curlCode: 56, Failure when receiving data")
            return int(self.content.readinto(memoryview(buffer)[:1_000]))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.content, name)

    open_whole = remote.ArrowStore.open
    sources = ["s3://texts/b/other.txt", "s3://texts/a/one.jsonl"]
    run: dict[str, Any] = {"engine": Engine(processes=1), "part_bytes": 1_000_000}
    monkeypatch.setattr(
        remote.ArrowStore,
        "open",
        lambda self, path: Failing(open_whole(self, path)) if path.endswith("one.jsonl") else open_whole(self, path),
    )
    s3.put_object(Bucket="texts", Key="b/other.txt", Body=b"Of another folder, a document.\n" * 40_000)
    with pytest.raises(Unreachable, match=r"one.jsonl: cannot be reached .*the same command goes on"):
        collect_corpus(sources, tmp_path / "out", **run)
    assert not (tmp_path / "out").exists()
    assert len(list(staging_place(tmp_path / "out").iterdir())) == 1  # what was read before
    monkeypatch.undo()
    for name, value in {"AWS_ENDPOINT_URL": s3.meta.endpoint_url, "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    assert collect_corpus(sources, tmp_path / "out", **run).counts["read"] > 4_000


REPO = "org/texts"


class HubOfDatasets(BaseHTTPRequestHandler):
    """One dataset, by the addresses that the hub has."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        paths = [unquote(part.partition("=")[2]) for part in asked.split("&") if part.startswith("paths=")]
        paths = paths or json.loads(asked).get("paths", [])
        self.send_json([entry for entry in self.tree("", recursive=True) if entry["path"] in paths])

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        path = unquote(path)
        if f"datasets/{REPO}" not in path:
            self.refuse(404, "RepoNotFound")
        elif f"datasets/{REPO}-gated" in path and "/resolve/" in path:
            self.refuse(403, "GatedRepo")
        elif "/resolve/" in path:
            self.send_bytes(FILES[path.partition("/resolve/")[2].partition("/")[2]])
        elif "/tree/" in path:
            folder = path.partition("/tree/")[2].partition("/")[2]
            self.send_json(self.tree(folder, "recursive=true" in query.lower()))
        else:
            self.send_json({"id": REPO, "sha": "1" * 40, "siblings": []})

    def refuse(self, code: int, why: str) -> None:
        self.send_response(code)
        self.send_header("X-Error-Code", why)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def tree(self, folder: str, recursive: bool) -> list[dict[str, Any]]:
        entries: dict[str, dict[str, Any]] = {}
        for name, content in FILES.items():
            if folder and not name.startswith(f"{folder}/"):
                continue
            parts = name.split("/")
            for depth in range(1, len(parts) + 1):
                path = "/".join(parts[:depth])
                if path != folder and path.startswith(f"{folder}/" if folder else ""):
                    oid = hashlib.sha1(content).hexdigest()
                    whole = {"type": "file", "path": path, "size": len(content), "oid": oid}
                    entries[path] = whole if path == name else {**whole, "type": "directory", "size": 0}
        below = len(folder.split("/")) + 1 if folder else 1
        return [entry for entry in entries.values() if recursive or len(entry["path"].split("/")) == below]

    def send_json(self, value: Any) -> None:
        self.send_bytes(json.dumps(value).encode(), "application/json")

    def send_bytes(self, body: bytes, kind: str = "application/octet-stream") -> None:
        stretch = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if stretch:
            body = body[int(stretch[1]) : int(stretch[2]) + 1 if stretch[2] else None]
        self.send_response(206 if stretch else 200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@pytest.fixture(scope="module")
def hub() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), HubOfDatasets)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "ENDPOINT", url)
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
        patch.setattr(constants, "HF_HUB_OFFLINE", False)
        remote._connected_store.cache_clear()
        yield url
        remote._connected_store.cache_clear()
    server.shutdown()
    server.server_close()


def test_a_dataset_on_the_hub_gives_the_corpus_that_the_same_files_give_here(
    hub: str, here: Path, tmp_path: Path
) -> None:
    far = collect_corpus(["hf://datasets/org/texts/a"], tmp_path / "far", engine=Engine(processes=1))
    near = collect_corpus([str(here / "a")], tmp_path / "near")
    assert texts_of(far) == texts_of(near)
    assert (far.counts, far.passed_over) == (near.counts, near.passed_over)
    names = [source.name for source in find_sources(["hf://datasets/org/texts/*/*.txt"])]
    assert names == ["hf://datasets/org/texts/b/other.txt"]


def test_a_dataset_that_is_not_there_or_forbidden_is_one_line(hub: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^hf://datasets/org/none: there is no such file or folder"):
        find_sources(["hf://datasets/org/none"])
    with pytest.raises(BadInput, match=r"^hf://datasets/org/texts-gated/b/other.txt: no access; set HF_TOKEN"):
        collect_corpus(["hf://datasets/org/texts-gated/b/other.txt"], tmp_path / "out")


def test_the_command_reads_the_hub_although_libraries_are_offline(hub: str, command: Command, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if "OFFLINE" not in name} | {"HF_ENDPOINT": hub}
    sources = ("hf://datasets/org/texts/a/one.jsonl", "hf://datasets/org/texts/a/table.parquet")
    out = str(tmp_path / "data")
    answer = command("prepare", *sources, "--out", out, "--vocab-size", "200", "--json", env=environment)
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["counts"]["read"] == 4_050
