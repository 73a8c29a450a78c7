"""The real client against a small hub on this machine: what is asked for, what is kept, what is refused."""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from huggingface_hub import constants

import unmask
from unmask.errors import BadInput, Refused
from unmask.models.hub import hub_name
from unmask.models.load import load_model
from unmask.models.locate import model_directory
from unmask.network import FETCHES

Make = Callable[..., Path]
Command = Callable[..., subprocess.CompletedProcess[str]]
NAME, GATED, TEXT = "org/small", "org/gated", "The king sees the [MASK]."
FIRST, SECOND = "1" * 40, "2" * 40


@dataclass
class Hub:
    """Models by name, each with its revisions, and what was asked for."""

    models: dict[str, dict[str, Path]]
    url: str = ""
    asked: list[str] = field(default_factory=list)
    cut: str = ""  # a file that breaks off in its middle

    def files_asked(self) -> set[str]:
        """The files that were asked for by name."""
        return {path.rpartition("/")[2] for path in self.asked if "/resolve/" in path}


def handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            hub.asked.append(f"{self.command} {self.path}")
            path = self.path.partition("?")[0].removeprefix("/api/models").strip("/")
            name, rest = "/".join(path.split("/")[:2]), path.split("/")[2:]
            if name not in hub.models:
                return self.refuse(401, "RepoNotFound")
            revision = rest[1] if len(rest) > 1 else "main"
            commit = {"main": SECOND, "v1": FIRST}.get(revision, revision)
            if commit not in hub.models[name]:
                return self.refuse(404, "RevisionNotFound")
            folder = hub.models[name][commit]
            if rest[:1] == ["resolve"]:
                if name == GATED:
                    return self.refuse(403, "GatedRepo")
                return self.send_file(folder / "/".join(rest[2:]), commit)
            files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
            names = [str(file.relative_to(folder)) for file in files]
            if rest[:1] == ["tree"]:
                rows = zip(names, files, strict=True)
                return self.send_json([self.entry(each, file) for each, file in rows])
            return self.send_json({"id": name, "sha": commit, "siblings": [{"rfilename": each} for each in names]})

        def entry(self, name: str, file: Path) -> dict[str, Any]:
            return {"type": "file", "path": name, "size": file.stat().st_size, "oid": etag(file)[:40]}

        def refuse(self, code: int, why: str) -> None:
            self.send_response(code)
            self.send_header("X-Error-Code", why)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def send_json(self, value: Any) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def send_file(self, file: Path, commit: str) -> None:
            body = file.read_bytes()
            self.send_response(200)
            self.send_header("ETag", f'"{etag(file)}"')
            self.send_header("X-Repo-Commit", commit)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "HEAD":
                return
            if file.name == hub.cut:  # the rest never comes, and nobody answers from then on
                self.wfile.write(body[: len(body) // 2])
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.server.socket.close()
                return
            self.wfile.write(body)

    return Answer


def etag(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def models(make_model: Make, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Path]]:
    """Two revisions of one, a gated one, and one with a pickle alone."""
    from shutil import copytree

    folder = tmp_path_factory.mktemp("hub")
    first, second = copytree(make_model("roberta"), folder / "1"), copytree(make_model(), folder / "2")
    (second / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    (second / "modeling.py").write_text("raise SystemExit('ran')")
    pickled = copytree(second, folder / "3")
    (pickled / "model.safetensors").unlink()
    sentences = copytree(first, folder / "4")
    (sentences / "1_Pooling").mkdir()
    for file in ("modules.json", "1_Pooling/config.json"):
        (sentences / file).write_text("{}")
    return {
        "org/sentences": {SECOND: sentences},
        NAME: {FIRST: first, SECOND: second},
        GATED: {SECOND: second},
        "org/pickled": {SECOND: pickled},
    }


@pytest.fixture
def hub(models: dict[str, dict[str, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub on this machine, with an empty cache, and nothing in the folder we are in."""
    monkeypatch.chdir(tmp_path)
    with serving(Hub(models)) as hub:
        use(monkeypatch, hub.url, tmp_path / "cache")
        yield hub


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(hub))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    yield hub
    server.shutdown()
    server.server_close()
    thread.join()


def use(monkeypatch: pytest.MonkeyPatch, url: str, cache: Path) -> None:
    """Where the client looks; it has read its environment long ago."""
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_ENDPOINT", url)  # … and those that we start have not
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", FETCHES):
        monkeypatch.delenv(name, raising=False)


def test_a_name_is_fetched_and_fills_as_its_directory_does_and_no_pickle_or_code_is_asked_for(hub: Hub) -> None:
    fetched = unmask.load(NAME)
    assert fetched.fill(TEXT) == unmask.load(hub.models[NAME][SECOND]).fill(TEXT)
    assert hub.files_asked() == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert not [*Path().rglob("*.bin"), *Path().rglob("*.py")]


def test_what_was_fetched_is_used_again_without_asking_the_network(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = model_directory(Path(NAME))
    hub.asked.clear()
    assert model_directory(Path(NAME)) == model_directory(Path(f"hf:{NAME}")) == place
    assert not hub.asked
    use(monkeypatch, "http://127.0.0.1:9", tmp_path / "cache")
    assert load_model(Path(NAME)).path == place


def test_a_revision_is_another_model_and_both_stay(hub: Hub) -> None:
    kinds = [load_model(model_directory(Path(NAME), revision)).model.config.model_type for revision in ("v1", None)]
    assert kinds == ["roberta", "bert"]
    hub.asked.clear()
    assert model_directory(Path(NAME), "v1").name == model_directory(Path(NAME), FIRST).name == FIRST
    assert not hub.asked
    with pytest.raises(BadInput, match=r"org/small: has no revision v9 on http"):
        model_directory(Path(NAME), "v9")


def test_a_revision_of_what_is_here_is_refused(hub: Hub) -> None:
    here = hub.models[NAME][FIRST]
    with pytest.raises(BadInput, match=r"--revision v1: .* is here, and only a name on the hub has revisions"):
        model_directory(here, "v1")


def test_a_text_is_shown_by_the_tokenizer_of_a_name_and_weights_are_not_fetched_for_it(hub: Hub) -> None:
    shown = unmask.show(NAME, "The king sees the garden.", seed=1)
    assert shown == unmask.show(hub.models[NAME][SECOND], "The king sees the garden.", seed=1)
    assert hub.files_asked() == {"config.json", "tokenizer.json", "tokenizer_config.json"}
    hub.asked.clear()
    unmask.show(f"hf:{NAME}", "The king sees the garden.")
    assert not hub.asked
    unmask.show("org/pickled", "The king.")  # nothing of its weights is needed
    assert load_model(Path(NAME)).model.config.model_type == "bert"  # what is missing is fetched then
    older = unmask.show(NAME, "The king sees the garden.", seed=1, revision="v1")
    assert older == unmask.show(hub.models[NAME][FIRST], "The king sees the garden.", seed=1)
    for name, revision, line in (
        ("nobody/nothing", None, "nobody/nothing: not a directory here, and not on http"),
        (NAME, "v9", "org/small: has no revision v9"),
        (str(hub.models[NAME][FIRST]), "v1", "only a name on the hub has revisions"),
    ):
        with pytest.raises(BadInput, match=line):
            unmask.show(name, "The king.", revision=revision)


def test_an_index_is_used_by_the_revision_it_was_made_with_and_no_other(hub: Hub, tmp_path: Path) -> None:
    texts, more, index = tmp_path / "texts.txt", tmp_path / "more.jsonl", tmp_path / "index"
    texts.write_text("The king sees the garden.\n", encoding="utf-8")
    more.write_text('{"id": "sea", "text": "The sea at night."}\n', encoding="utf-8")
    unmask.index(NAME, texts, out=index, revision="v1")
    assert unmask.index(index, add=more, encoder=NAME, revision="v1").added == 1
    with pytest.raises(Refused, match="another model"):
        unmask.index(index, add=more, encoder=NAME)
    for given in ({"add": more}, {"remove": ("1",)}):
        with pytest.raises(BadInput, match="--revision v1: an index knows its model"):
            unmask.index(index, revision="v1", **given)
    (found,) = unmask.search(index, "king", by="dense", encoder=NAME, revision="v1")
    assert isinstance(found, unmask.Searched) and len(found.hits) == 2
    with pytest.raises(Refused, match="another model"):
        unmask.search(index, "king", by="dense", encoder=NAME)
    with pytest.raises(BadInput, match="--revision v1: an index knows its model"):
        unmask.search(index, "king", by="dense", revision="v1")


def test_unknown_gated_and_pickled_models_are_told_in_one_line_each(hub: Hub) -> None:
    Path("small").mkdir()
    for name, line in {
        "nobody/nothing": "nobody/nothing: not a directory here, and not on http.*if it is private, set HF_TOKEN",
        "smal/nothing": r"not on http.*; did you mean small/\?",
        GATED: r"org/gated: is gated; accept its conditions at http\S+/org/gated, then set HF_TOKEN",
        "org/pickled": r"its weights are pickled \(pytorch_model.bin\), which can run code, and are not fetched",
        "hf:a/b/c": r"hf:a/b/c: no name on the hub",
    }.items():
        with pytest.raises(BadInput, match=line) as refused:
            model_directory(Path(name))
        assert "\n" not in str(refused.value)
    assert hub.files_asked() <= {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}


def test_a_hub_that_cannot_be_reached_is_told_in_one_line(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "http://127.0.0.1:9", tmp_path / "cache")
    with pytest.raises(BadInput, match=r"org/small: not a directory here, and http://127.0.0.1:9 cannot be reached: "):
        model_directory(Path(NAME))


def test_offline_as_the_user_wishes_nothing_is_asked(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(BadInput, match="not in the hub's cache, and HF_HUB_OFFLINE is set; unset it to fetch"):
        model_directory(Path(NAME))
    assert not hub.asked
    monkeypatch.setenv(FETCHES, "1")  # offline by the command line's own choice
    model_directory(Path(NAME))
    assert constants.HF_HUB_OFFLINE


def test_how_a_sentence_encoder_pools_comes_with_it(hub: Hub) -> None:
    place = model_directory(Path("org/sentences"))
    assert (place / "modules.json").is_file()
    assert (place / "1_Pooling" / "config.json").is_file()


@pytest.mark.slow
def test_a_hub_that_dies_in_the_middle_of_a_file_leaves_nothing_half_in_use(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.cut = "model.safetensors"
    with pytest.raises(BadInput, match="cannot be reached"):
        model_directory(Path(NAME))
    assert any(asked.startswith("GET") and asked.endswith(hub.cut) for asked in hub.asked)
    assert not [*tmp_path.rglob("snapshots/*/model.safetensors")]
    with pytest.raises(BadInput, match="cannot be reached"):  # what is there of it is not taken for a model
        model_directory(Path(NAME))
    with serving(Hub(hub.models)) as again:
        use(monkeypatch, again.url, tmp_path / "cache")
        assert load_model(Path(NAME)).vocabulary.size == 300


def test_a_path_wins_over_a_name_and_a_misspelt_one_is_no_name(hub: Hub, make_model: Make) -> None:
    Path("org").mkdir()
    assert hub_name(Path("org/small")) is None  # there is a folder org: a path that is misspelt
    with pytest.raises(BadInput, match=r"org/small: does not exist"):
        model_directory(Path("org/small"))
    Path("run").mkdir()
    with pytest.raises(BadInput, match=r"rum: does not exist; did you mean run/\?"):
        model_directory(Path("rum"))
    with pytest.raises(BadInput, match="or a name on the hub, such as hf:bert-base-uncased"):
        model_directory(Path("bert-base-uncased"))
    Path("org/small").symlink_to(make_model())
    assert model_directory(Path("org/small")) == Path("org/small")
    assert not hub.asked


def test_a_bare_name_is_one_where_the_cache_has_it(hub: Hub, tmp_path: Path, make_model: Make) -> None:
    kept = tmp_path / "cache" / "models--small"
    (kept / "snapshots").mkdir(parents=True)
    (kept / "snapshots" / FIRST).symlink_to(make_model())
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(FIRST)
    assert model_directory(Path("small")).name == FIRST
    assert not hub.asked


@pytest.mark.slow
def test_evaluate_and_compare_take_names(hub: Hub, data: Path) -> None:
    figures = unmask.evaluate(NAME, data, length=32, limit=400)
    assert figures.top1 == unmask.evaluate(hub.models[NAME][SECOND], data, length=32, limit=400).top1
    assert figures.model == NAME
    (compared,) = unmask.compare(NAME, data=data, length=32).runs
    assert compared.name == "small"


@pytest.mark.slow
def test_the_command_fetches_with_stdout_clean_though_libraries_are_offline(
    hub: Hub, command: Command, inside: Command
) -> None:
    done = command("fill", NAME, TEXT, "--json", "--revision", "main")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["text"] == TEXT
    assert not [line for line in done.stderr.splitlines() if "Fetching org/small" not in line]  # no line, or ours
    refused = inside("fill", hub.models[NAME][FIRST], TEXT, "--revision", "v1")
    assert (refused.returncode, refused.stdout) == (3, "")
    assert refused.stderr.startswith("unmask: --revision v1: ")
    assert refused.stderr.count("\n") == 1
