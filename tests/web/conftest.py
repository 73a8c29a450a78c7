"""Servers that really serve: models that are made in seconds, a real port, real requests."""

from __future__ import annotations

import http.client
import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import unmask
from unmask.web.guard import Keys
from unmask.web.limits import Limits
from unmask.web.places import gather_places
from unmask.web.server import bind, create_app, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AROUND = ("the king sees", "nobody likes", "my sister paints", "one traveller wants", "her teacher remembers")
LEASE = "the tenant shall pay the rent to the landlord under clause {} of the lease ."
WORDS = {"animal": ("cat", "dog"), "place": ("river", "garden", "sea")}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Server:
    """A server that is up, and requests to it."""

    port: int
    keys: Keys

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """A request as it is; `host_` and the like are the headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        named = {name.strip("_").replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        response = connection.getresponse()
        answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        connection.close()
        return answer

    def get(self, path: str) -> Answer:
        return self.send("GET", path, authorization=f"Bearer {self.keys.key}")

    def post(self, path: str, question: Any) -> Answer:
        body = json.dumps(question).encode()
        return self.send("POST", path, body, authorization=f"Bearer {self.keys.key}", content_type="application/json")

    def answers(self, path: str, **question: Any) -> list[Any]:
        """What is answered to a question that is in order."""
        answer = self.post(path, question)
        assert answer.status == 200, answer.body
        return answer.json["answers"]


@pytest.fixture(scope="session")
def serving() -> Callable[..., AbstractContextManager[Server]]:
    """`with serving(path, …) as server:` serves paths."""

    @contextmanager
    def serve(*paths: Path, limits: Limits | None = None) -> Iterator[Server]:
        listener, keys = bind(0), Keys()
        port = listener.getsockname()[1]
        with running(create_app(gather_places(paths), keys, port, limits), listener):
            yield Server(port, keys)

    return serve


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, started once for a file, for while it runs no other event loop can; each visit has its own context."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no chromium to see the pages in: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def settle() -> Callable[[Page], None]:
    """`settle(page)` waits until a view has every answer that it waits for, and no longer."""

    def wait(page: Page) -> None:
        # effects run after the frame that they belong to; then the view says whether it waits
        page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        page.wait_for_selector("#view:not([aria-busy=true])")
        page.wait_for_selector(".busy", state="detached")

    return wait


def labelled(count: int, seed: int) -> str:
    """Lines of JSON: one word of each text decides its label."""
    draw, lines = random.Random(seed), []
    for number in range(count):
        label = ("animal", "place")[number % 2]
        text = f"{draw.choice(AROUND)} the {draw.choice(WORDS[label])} {draw.choice(('every day', 'again'))}."
        lines.append(json.dumps({"text": text, "label": label, "source": ("mail", "chat")[number % 3 // 2]}) + "\n")
    return "".join(lines)


@pytest.fixture(scope="session")
def training(kept_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kept run before it had a model: its moments, and what the model is like."""
    run = tmp_path_factory.mktemp("training") / "training"
    shutil.copytree(kept_run, run)
    (run / "model").rename(run / "shape")
    (run / "shape" / "model.safetensors").unlink()
    return run


@pytest.fixture(scope="session")
def intent_start(make_model: Callable[..., Path]) -> Path:
    """What the tuned run started from."""
    return make_model("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.1)


@pytest.fixture(scope="session")
def intent(intent_start: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tuned run that was judged."""
    folder = tmp_path_factory.mktemp("intent")
    files = {name: folder / f"{name}.jsonl" for name in ("train", "dev", "test")}
    for number, file in enumerate(files.values()):
        file.write_text(labelled(40, number), encoding="utf-8")
    parts = {"dev": files["dev"], "test": files["test"], "sets": 0.9}
    unmask.tune("classify", intent_start, files["train"], out=folder / "intent", epochs=2, precision="float32", **parts)
    return folder / "intent"


@pytest.fixture(scope="session")
def index(make_model: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of forty texts."""
    folder = tmp_path_factory.mktemp("index")
    (folder / "texts.jsonl").write_text(labelled(40, 7), encoding="utf-8")
    unmask.index(make_model("bert"), folder / "texts.jsonl", out=folder / "shelf")
    return folder / "shelf"


@pytest.fixture(scope="session")
def adapted(make_model: Callable[..., Path], corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that moved a model into a domain, with general text beside it."""
    folder, model = tmp_path_factory.mktemp("adapted"), make_model("bert")
    (folder / "lease.txt").write_text("\n\n".join(LEASE.format(number) for number in range(60)), encoding="utf-8")
    for name, text in (("domain", folder / "lease.txt"), ("general", corpus)):
        unmask.prepare(text, out=folder / name, tokenizer=str(model), valid=0.1)
    settings: dict[str, Any] = {"steps": 4, "lr": 3e-3, "length": 32, "batch_size": 8, "precision": "float32"}
    kept = {"replay": folder / "general", "replay_share": 0.1, "forget": 0.5, "out": folder / "run"}
    return unmask.adapt(model, folder / "domain", **settings, **kept).path


@pytest.fixture(scope="session")
def sparse(make_model: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model that weighs words, hardly trained, and an index of the same forty texts made with it."""
    folder = tmp_path_factory.mktemp("sparse")
    (folder / "texts.jsonl").write_text(labelled(40, 7), encoding="utf-8")
    collection = folder / "collection"
    (collection / "qrels").mkdir(parents=True)
    texts = [f"{who} the {word}." for who in AROUND[:2] for words in WORDS.values() for word in words]
    for name, prefix in (("corpus", "d"), ("queries", "q")):
        lines = [json.dumps({"_id": f"{prefix}{number}", "text": text}) for number, text in enumerate(texts)]
        (collection / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    judged = [f"q{number}\td{number}\t1" for number in range(len(texts))]
    for split in ("train", "dev"):
        (collection / "qrels" / f"{split}.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]) + "\n")
    settings: dict[str, Any] = {"head": "sparse", "epochs": 60, "batch_size": 10, "precision": "float32"}
    settings |= {"lr": 3e-3, "sparsity": 1000.0}
    run = unmask.tune("retrieve", make_model("bert"), collection, out=folder / "weigher", **settings).path
    unmask.index(run, folder / "texts.jsonl", out=folder / "weighed")
    return run, folder / "weighed"
