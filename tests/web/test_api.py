"""The API says what the command line says, and what is wrong in one line."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from unmask.web.limits import Limits

Run = Callable[..., subprocess.CompletedProcess[str]]
TEXTS = ["The king sees the [MASK] in winter.", "Nobody [MASK] the [MASK] every day."]
PLAIN = ["The king sees the garden in winter.", "Nobody likes the dog."]


@pytest.fixture(scope="module")
def server(
    serving: Any, make_model: Any, intent: Path, intent_start: Path, index: Path, data: Path, kept_run: Path
) -> Iterator[Any]:
    with serving(make_model("bert"), intent, index, data, intent_start, kept_run) as server:
        yield server


def test_every_figure_is_the_command_lines_to_the_digit(
    server: Any, inside: Run, make_model: Any, intent: Path, index: Path, data: Path, kept_run: Path
) -> None:
    model, id = make_model("bert"), "bert-wordpiece"

    def printed(*words: object) -> list[Any]:
        done = inside(*words, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    assert server.answers("/api/fill", model=id, texts=TEXTS, top=3) == printed("fill", model, *TEXTS, "--top", 3)
    explained = server.answers("/api/fill", model=id, texts=TEXTS[:1], explain=True, targets=["dog", "garden"])
    assert explained == printed("fill", model, TEXTS[0], "--explain", "--targets", "dog", "garden")
    moments = server.answers("/api/moments", model="run", text=TEXTS[0], top=3)
    assert [(moment["step"], moment["names"]) for moment in moments] == [(0, []), (5, ["the best"]), (10, [])]
    for moment in moments:
        assert [moment["filled"]] == printed("fill", kept_run, TEXTS[0], "--top", 3, "--step", moment["step"])
    scored = server.answers("/api/score", model=id, texts=PLAIN, tokens=True)
    assert scored == printed("score", model, *PLAIN, "--tokens")
    assert server.answers("/api/embed", model=id, texts=PLAIN) == printed("embed", model, *PLAIN)
    assert server.answers("/api/predict", model="intent", texts=PLAIN) == printed("predict", intent, *PLAIN)
    (why,) = server.answers("/api/explain", model="intent", text=PLAIN[1], changes=2)
    (wanted,) = printed("explain", intent, PLAIN[1], "--changes", 2)
    assert why == wanted | {"start": server.get("/api/places").json["places"][4]["id"]}
    shown = server.answers("/api/show", model="data", text=PLAIN[0], all=True, seed=3, epoch=2)
    assert shown == printed("show", data, PLAIN[0], "--all", "--seed", 3, "--epoch", 2)
    for by in ("bm25", "dense", "fused"):
        found = server.answers("/api/search", index="shelf", queries=["the river again"], by=by, top=3)
        (wanted,) = printed("search", index, "the river again", "--by", by, "--top", 3)
        assert found == [wanted | {"index": "shelf"}] and len(found[0]["hits"]) == 3
    grown = server.answers("/api/grow", model=id, prefix="The king", length=6, seed=1)
    assert grown == printed("generate", model, "--prefix", "The king", "--length", 6, "--seed", 1, "--trace")


def test_a_run_that_still_trains_is_asked_at_the_moments_that_it_has(
    server: Any, serving: Any, inside: Run, training: Path, tmp_path: Path
) -> None:
    run, begun = tmp_path / "live", tmp_path / "begun"
    shutil.copytree(training, run)
    shutil.copytree(training, begun)
    for folder in ("moments", "checkpoints", "best"):
        shutil.rmtree(begun / folder)
    with serving(run, begun) as live:
        places = {place["id"]: place for place in live.get("/api/places").json["places"]}
        assert [(places[id]["moments"], "hide" in places[id]["abilities"]) for id in ("live", "begun")] == [
            (3, True),
            (0, True),
        ]
        finished = server.answers("/api/moments", model="run", text=TEXTS[0])
        now = live.answers("/api/moments", model="live", text=TEXTS[0])
        assert [each["filled"]["completed"] for each in now] == [each["filled"]["completed"] for each in finished]
        done = inside("fill", run, TEXTS[0], "--step", 5, "--json")
        assert json.loads(done.stdout) == now[1]["filled"]
        shutil.rmtree(run / "moments" / "step-0000000")
        assert live.answers("/api/moments", model="live", text=TEXTS[0]) == now[1:]
        assert live.post("/api/moments", {"model": "begun", "text": TEXTS[0]}).status == 422


def test_phrases_are_hidden_whole_as_sent_or_by_the_lists_of_data(
    serving: Any, inside: Run, data: Path, make_model: Any, tmp_path: Path
) -> None:
    text, listed = "The king sees bread and butter, and Paris again.", tmp_path / "listed"
    shutil.copytree(data, listed)
    with serving(listed, make_model("bert")) as server:
        bare = server.post("/api/show", {"model": "listed", "text": text, "policy": "phrase"})
        assert bare.status == 422 and "give --phrases" in bare.json["error"]
        missing = server.post(
            "/api/roll", {"model": "listed", "text": text, "policy": "entity", "phrases_of": "listed"}
        )
        assert missing.status == 422 and "mines them" in missing.json["error"]
        assert not (listed / "entities.txt").exists()  # a server that is asked writes nothing
        sent = {"model": "bert-wordpiece", "text": text, "policy": "phrase", "rate": "0.4", "seed": 2}
        (shown,) = server.answers("/api/show", **sent, phrases=["bread and butter"])
        assert shown["hidden"] and server.answers("/api/roll", **sent, phrases=["bread and butter"], rolls=20)
        done = inside("show", listed, text, "--policy", "entity", "--seed", 2, "--json")  # mines the lists
        assert server.get("/api/places").json["places"][0]["phrases"]
        asked = {"text": text, "policy": "entity", "seed": 2}
        assert server.answers("/api/show", model="listed", **asked) == [json.loads(done.stdout)]
        (other,) = server.answers("/api/show", model="bert-wordpiece", **asked, phrases_of="listed")
        assert (
            other["policy"] == "entity" and len(server.answers("/api/show", model="listed", text=text, all=True)) == 11
        )


def test_contexts_are_looked_for_in_data_and_in_an_index(server: Any) -> None:
    for corpus in ("data", "shelf"):
        asked = {"model": "bert-wordpiece", "corpus": corpus, "before": "My sister paints the ", "word": "river"}
        (near,) = server.answers("/api/contexts", **asked, after=" again.", top=3)
        assert {line["word"] for line in near["same"]} == {"river"} and len(near["others"]) == 3
        assert near["occurrences"] <= near["sentences"]


def test_requests_that_wait_are_answered_together_and_say_the_same(server: Any) -> None:
    alone = {text: server.answers("/api/fill", model="bert-wordpiece", texts=[text])[0] for text in TEXTS}
    before = _metric(server, "unmask_batches_total")
    found: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda text: found.extend(server.answers("/api/fill", model="bert-wordpiece", texts=[text])),
            args=(TEXTS[number % 2],),
        )
        for number in range(24)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 24
    assert _metric(server, "unmask_batches_total") - before < 24
    for answer in found:
        (one, *_), (other, *_) = answer["blanks"], alone[answer["text"]]["blanks"]
        assert [guess["token"] for guess in one] == [guess["token"] for guess in other]
        expected = pytest.approx([guess["probability"] for guess in other], rel=1e-5)  # a row of a batch, and one alone
        assert [guess["probability"] for guess in one] == expected


def _metric(server: Any, name: str) -> float:
    lines = server.get("/api/metrics").body.decode().splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith(f"{name} "))


@pytest.mark.parametrize(
    ("path", "question", "status", "said"),
    [
        ("/api/fill", {"model": "nowhere", "texts": ["a"]}, 404, "nothing is served as 'nowhere'"),
        (
            "/api/fill",
            {"model": "intent", "texts": ["a"]},
            422,
            "intent: cannot fill; it can hide, predict, embed, run",
        ),
        ("/api/fill", {"model": "../etc", "texts": ["a"]}, 422, "model: String should match pattern"),
        ("/api/fill", {"model": "bert-wordpiece", "texts": ["a"], "tpo": 3}, 422, "tpo: Extra inputs"),
        ("/api/fill", {"model": "bert-wordpiece", "texts": ["\ud800 [MASK]"]}, 422, "texts.0: "),
        ("/api/fill", {"model": "bert-wordpiece", "texts": ["dog " * 9000]}, 422, "9,000 tokens in one request"),
        ("/api/score", {"model": "bert-wordpiece", "texts": ["dog " * 1100]}, 422, "1,024 may be asked about"),
        ("/api/moments", {"model": "data", "text": "a [MASK]"}, 422, "data: cannot run; it can hide"),
        ("/api/moments", {"model": "intent", "text": "a [MASK]"}, 422, "has no head that fills blanks"),
        ("/api/contexts", {"model": "bert-wordpiece", "corpus": "intent", "word": "a"}, 422, "intent: is no corpus"),
        ("/api/contexts", {"model": "bert-wordpiece", "corpus": "data", "word": " "}, 422, "give a word to look for"),
        ("/api/predict", {"model": "intent", "texts": ["a"], "pairs": ["b"]}, 422, "single texts, not pairs"),
        ("/api/show", {"model": "data", "text": "A dog.", "policy": "tokn"}, 422, "no policy is called 'tokn'"),
        ("/api/show", {"model": "data", "text": "A dog.", "rate": "7"}, 422, "rate"),
        ("/api/search", {"index": "shelf", "queries": ["a"], "by": "sparse"}, 422, "was made with a dense model"),
    ],
)
def test_what_cannot_be_answered_is_said_in_one_line(
    server: Any, path: str, question: Any, status: int, said: str
) -> None:
    answer = server.post(path, question)
    assert (answer.status, list(answer.json)) == (status, ["error"])
    assert said in answer.json["error"] and "\n" not in answer.json["error"]
    assert "/tmp" not in answer.json["error"]  # ids instead of paths


def test_a_text_that_cannot_be_used_stands_among_others_that_can(server: Any) -> None:
    good, bad = server.answers("/api/fill", model="bert-wordpiece", texts=[TEXTS[0], "no blank"])
    assert good["completed"] and list(bad) == ["error"]


def test_limits_and_the_queue_are_stated_and_held(serving: Any, make_model: Any) -> None:
    limits = Limits(body=2_000, waiting=0)
    with serving(make_model("bert"), limits=limits) as server:
        health = server.get("/api/health").json
        assert health["limits"]["body"] == 2_000 and health["queue"] == {"unfinished": 0, "capacity": 0}
        large = server.post("/api/fill", {"model": "bert-wordpiece", "texts": ["a" * 3_000]})
        assert large.status == 413 and "2,000 bytes" in large.json["error"]
        full = server.post("/api/fill", {"model": "bert-wordpiece", "texts": TEXTS})
        assert full.status == 503 and full.headers["retry-after"] == "1"
    with serving(make_model("bert"), limits=Limits(seconds=0.0)) as server:
        slow = server.post("/api/fill", {"model": "bert-wordpiece", "texts": TEXTS})
        assert slow.status == 504 and "no answer within 0 seconds" in slow.json["error"]


def test_the_description_names_every_route_and_its_answers(server: Any) -> None:
    described = server.get("/api/openapi.json").json
    assert {
        f"/api/{name}" for name in ["fill", "score", "embed", "predict", "search", "show", "health", "metrics"]
    } <= {*described["paths"]}
    assert described["security"] == [{"key": []}]
    answers = described["components"]["schemas"]["FillAnswers"]["properties"]["answers"]["items"]["anyOf"]
    assert {each["$ref"].rpartition("/")[2] for each in answers} == {"Filled", "TextProblem"}


def test_the_encoder_of_an_index_is_asked_only_where_it_is_served(serving: Any, index: Path) -> None:
    with serving(index) as server:
        (place,) = server.get("/api/places").json["places"]
        assert place["encoder"] is None
        refused = server.post("/api/search", {"index": "shelf", "queries": ["river"], "by": "dense"})
        assert refused.status == 422 and "a model that is not served" in refused.json["error"]
        assert server.answers("/api/search", index="shelf", queries=["river"], by="bm25")[0]["hits"]
