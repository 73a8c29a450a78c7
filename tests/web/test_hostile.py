"""Whatever is sent or served: no script runs, no file leaks, no request brings the server down."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

import unmask
from unmask.files import with_seal, write_json
from unmask.runs.report import write_report

PAYLOADS = [
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg/onload=window.pwned=1>",
    '"><script>window.pwned=1</script>',
    "'-window.pwned=1-'",
    "</textarea><script>window.pwned=1</script>",
    "</title><script>window.pwned=1</script>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<a href=javascript:window.pwned=1>x</a>",
    "javascript:window.pwned=1",
    "<details open ontoggle=window.pwned=1>",
    "<math><mtext><img src=x onerror=window.pwned=1></mtext></math>",
    "<object data=javascript:window.pwned=1></object>",
    "<style>@import'//evil.example'</style>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<base href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "${window.pwned=1}{{window.pwned=1}}",
    "__proto__",
    "\u2028<script>window.pwned=1</script>\u202e",
]


def hostile_logs(place: Path, name: str) -> None:
    """What a run says of itself and logged, each of the payloads a name and a title of figures in it."""
    description = json.loads((place / "run.json").read_text())
    description.pop("seal")
    titles = [{"name": payload, "title": payload} for payload in PAYLOADS]
    write_json(place / "run.json", with_seal(description | {"name": name, "example": name, "figures": titles}))
    figures = dict.fromkeys(PAYLOADS, 2.5) | {f"validation_{payload}": 2.5 for payload in PAYLOADS}
    lines = [{"step": step, "loss": 1.0, "validation_loss": 1.0, "tokens": step, **figures} for step in range(1, 5)]
    (place / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def hostile_tuned(place: Path, intent: Path) -> None:
    """A tuned run whose every file was written by somebody else."""
    shutil.copytree(intent, place)
    hostile_logs(place, PAYLOADS[0])
    result = json.loads((place / "tuned.json").read_text())
    result |= {"task": PAYLOADS[1], "labels": PAYLOADS}
    around = {"line": 1, "pair": None, "probability": 0.9}
    errors = [{**around, "text": payload, "true": [payload], "said": [payload]} for payload in PAYLOADS]
    confusions = [{"true": payload, "said": payload, "count": 3} for payload in PAYLOADS]
    result["test"] |= {"errors": errors, "confusions": confusions}
    write_json(place / "tuned.json", result)
    (place / "model" / "README.md").write_text("\n".join(PAYLOADS), encoding="utf-8")
    card = json.loads((place / "model" / "task.json").read_text())
    write_json(place / "model" / "task.json", card | {"labels": [PAYLOADS[0] + PAYLOADS[1], "place"]})


def hostile_model(place: Path, kept_run: Path) -> None:
    """A run whose tokenizer has the payloads as pieces, which its model likes best; its card is full of them."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(kept_run, place)
    hostile_logs(place, PAYLOADS[0])
    tokenizer = json.loads((place / "model" / "tokenizer.json").read_text(encoding="utf-8"))
    pieces = tokenizer["model"]["vocab"]
    words = [piece for piece in pieces if len(piece) > 3 and piece.isalpha()][: len(PAYLOADS)]
    renamed = dict(zip(words, PAYLOADS, strict=True))
    tokenizer["model"]["vocab"] = {renamed.get(piece, piece): id for piece, id in pieces.items()}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    added = [{"id": pieces[word], "content": payload, **flags} for word, payload in renamed.items()]
    tokenizer["added_tokens"] = sorted([*tokenizer["added_tokens"], *added], key=lambda each: each["id"])
    write_json(place / "model" / "tokenizer.json", tokenizer)
    weights = load_file(place / "model" / "model.safetensors")
    for id in map(pieces.__getitem__, words):
        weights["cls.predictions.bias"][id] += 30.0
    save_file(weights, place / "model" / "model.safetensors", {"format": "pt"})
    (place / "model" / "README.md").write_text("\n".join(PAYLOADS), encoding="utf-8")
    changes = {"before": dict.fromkeys(PAYLOADS, 1.0), "after": dict.fromkeys(PAYLOADS, 1.0)}
    fills = [{"text": each, "answer": each, "before": [each], "after": [each]} for each in PAYLOADS]
    mixtures = [{"share": 0.0, "loss": 1.0, "general_loss": None}]
    why = " ".join(PAYLOADS)
    write_json(place / "adapted.json", changes | {"mixtures": mixtures, "kept": 0.0, "why": why, "fills": fills})
    sentences = [{"text": each, "words": [[0, len(each)]], "fills": [[[[each, 0.5]]]]} for each in PAYLOADS]
    write_json(place / "fills.json", {"moments": [{"step": 1, "names": PAYLOADS}], "kept": 1, "sentences": sentences})


def hostile_names(folder: Path, kept_run: Path) -> list[Path]:
    """Runs that are called what the payloads say, as far as a folder can be."""
    places = [folder / payload.replace("/", "\u2215") for payload in PAYLOADS]
    for place, payload in zip(places, PAYLOADS, strict=True):
        place.mkdir(parents=True)
        shutil.copy(kept_run / "run.json", place)
        hostile_logs(place, payload)
    return places


def test_a_run_that_lies_is_said_to_be_damaged_and_leads_nowhere(serving: Any, intent: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"step": 1, "loss": 42.5, "tokens": 1}\n', encoding="utf-8")
    linked, huge, deep = (tmp_path / name for name in ("linked", "huge", "deep"))
    for place in (linked, huge, deep):
        shutil.copytree(intent, place)
    (linked / "metrics.jsonl").unlink()
    (linked / "metrics.jsonl").symlink_to(secret)
    (linked / "tuned.json").unlink()
    (linked / "tuned.json").symlink_to("/etc/passwd")
    odd = [
        '{"step": 1e999}',
        '{"step": 10%s}' % ("0" * 400),
        '{"step": -4}',
        "[]",
        "{",
        '{"step": true}',
        "\0",
        "[" * 99_999,
    ]
    wild = ['{"step": 5, "loss": 1%s, "tokens": -7}' % ("0" * 400), '{"step": 5, "tokens": 0, "loss": 3}']
    (huge / "metrics.jsonl").write_text("\n".join([*odd, *wild, *wild, ""]), encoding="utf-8")
    (deep / "run.json").write_text("[" * 100_000, encoding="utf-8")
    (deep / "tuned.json").write_text(
        '{"test": {"errors": [{"text": 3}], "accuracy": {"value": "x"}}}', encoding="utf-8"
    )
    with serving(linked, huge, deep) as server:
        assert server.get("/api/runs/linked").json["curves"] == []
        assert "42.5" not in server.get("/api/runs/linked").body.decode()
        assert "not there, or not whole" in server.get("/api/tuned/linked").json["problem"]
        assert server.get("/api/runs/huge").status == 200
        assert server.get("/api/runs/deep").json["state"] == "damaged"
        tuned = server.get("/api/tuned/deep").json
        assert (tuned["errors"], tuned["figures"]) == ([], [])
        shutil.rmtree(huge)
        assert server.get("/api/runs/huge").json["state"] == "vanished"
        assert server.post("/api/predict", {"model": "huge", "texts": ["a"]}).status == 422


ALIVE = "script:not([src]), iframe, object, base, meta[http-equiv], [onerror], [onload], [ontoggle], [href^=javascript]"


def test_every_script_in_texts_names_pieces_metrics_and_cards_is_inert(
    serving: Any, intent: Path, kept_run: Path, browser: Any, settle: Any, tmp_path: Path
) -> None:
    tuned, model, names = tmp_path / "tuned", tmp_path / "model", hostile_names(tmp_path / "names", kept_run)
    hostile_tuned(tuned, intent)
    hostile_model(model, kept_run)
    everything = quote(" ".join(PAYLOADS), safe="")
    with serving(tuned, model, *names) as server:
        runs = ",".join(place["id"] for place in server.get("/api/places").json["places"])
        context = browser.new_context()
        context.add_cookies([{"name": f"unmask-{server.port}", "value": server.keys.session, "url": server.address}])
        page, outside, blocked = context.new_page(), [], []
        context.on("request", lambda request: outside.append(request.url))
        page.on("console", lambda message: blocked.append(message.text) if "Content Security" in message.text else None)
        page.on("dialog", lambda dialog: (blocked.append("dialog"), dialog.dismiss()))
        folders = [place.name for place in names]
        for fragment, shown in (
            (f"hide?model=model&text={everything}", PAYLOADS),  # pieces
            ("fill?model=model&text=the+[MASK]&top=30", PAYLOADS),  # pieces
            (f"fill?text={everything}&policy={everything}", []),
            (f"tuned?model=tuned&text={everything}", PAYLOADS),  # labels and texts
            (f"runs?runs={runs}&figure={everything}", [*folders, *PAYLOADS]),  # names, metrics and what came of it
            (f"search?query={everything}", []),
            (f"grow?prefix={everything}&at={everything}", []),
            (everything, []),
        ):
            page.goto("about:blank")  # else only the fragment changes
            page.goto(f"{server.address}/#{fragment}")
            page.wait_for_selector("h1")
            settle(page)
            text = page.evaluate("document.body.textContent")
            assert [each for each in shown if each.strip("\u2028\u202e") not in text] == [], fragment
            assert page.evaluate("window.pwned") is None, fragment
            assert page.locator(ALIVE).count() == 0, fragment
        assert [url for url in outside if not url.startswith((server.address, "about:blank"))] == []
        assert blocked == []  # nothing even tried
        context.close()


def test_every_script_in_a_report_is_inert(intent: Path, kept_run: Path, browser: Any, tmp_path: Path) -> None:
    tuned, model = tmp_path / "tuned", tmp_path / PAYLOADS[1]
    hostile_tuned(tuned, intent)
    hostile_model(model, kept_run)
    (tmp_path / "texts.txt").write_text("\n\n".join(f"The king sees {each}." for each in PAYLOADS), encoding="utf-8")
    unmask.prepare(tmp_path / "texts.txt", out=tmp_path / "data", tokenizer=str(model / "model"), valid=0.2)
    context = browser.new_context()
    page, outside = context.new_page(), []
    context.on("request", lambda request: outside.append(request.url))
    for run in (tuned, model):
        write_report(run, dict(zip(PAYLOADS, PAYLOADS, strict=True)))
    for folder in (tuned, model, tmp_path / "data"):
        page.goto((folder / "report.html").as_uri())
        text = page.evaluate("document.body.textContent")
        assert "<script>" in text
        if folder.name != "data":
            assert [each for each in PAYLOADS if each not in text] == []
        assert page.evaluate("window.pwned") is None
        assert page.locator(f"script, {ALIVE}").count() == 0
    assert len(outside) == 3
    context.close()


def test_whatever_the_description_allows_is_answered_as_it_says(serving: Any, make_model: Any, data: Path) -> None:
    import schemathesis
    from hypothesis import HealthCheck, settings
    from schemathesis.checks import not_a_server_error

    with serving(make_model("bert"), data) as server:
        schema = schemathesis.openapi.from_dict(server.get("/api/openapi.json").json)
        asked = 0
        for operation in (each.ok() for each in schema.get_all_operations()):

            @settings(
                max_examples=12, deadline=None, database=None, derandomize=True, suppress_health_check=[*HealthCheck]
            )
            @_given(operation)
            def holds(case: Any) -> None:
                nonlocal asked
                headers = {"Authorization": f"Bearer {server.keys.key}"}
                response = case.call(base_url=server.address, headers=headers)
                asked += 1
                assert response.status_code != 500, (case.path, case.body, response.text)
                case.validate_response(response, checks=(not_a_server_error,))

            holds()
        assert asked > 100
        assert server.get("/api/health").json["status"] == "ok"


def _given(operation: Any) -> Any:
    from hypothesis import given

    return given(case=operation.as_strategy())
