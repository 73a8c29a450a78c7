"""Whatever is sent or served: no script runs, no file leaks, no request brings the server down."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from unmask.files import with_seal, write_json

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


def hostile_run(place: Path, intent: Path, payload: str) -> None:
    """A tuned run whose every file was written by somebody else."""
    shutil.copytree(intent, place)
    description = json.loads((place / "run.json").read_text())
    description.pop("seal")
    description |= {
        "name": payload,
        "figures": [{"name": "loss", "title": payload}, {"name": payload, "title": payload}],
    }
    write_json(place / "run.json", with_seal(description))
    lines = [{"step": step, "loss": 1.0 / step, "tokens": step, payload: step} for step in range(1, 9)]
    (place / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    result = json.loads((place / "tuned.json").read_text())
    result |= {"task": payload, "labels": [payload]}
    error = {"line": 1, "text": payload, "pair": None, "true": [payload], "said": [payload], "probability": 0.9}
    result["test"] |= {"errors": [error], "confusions": [{"true": payload, "said": payload, "count": 3}]}
    write_json(place / "tuned.json", result)
    adapted = {"before": {payload: 1.0}, "after": {payload: 1.0}, "mixtures": [], "kept": 0.0, "why": payload}
    write_json(place / "adapted.json", adapted)
    card = json.loads((place / "model" / "task.json").read_text())
    write_json(place / "model" / "task.json", card | {"labels": [payload, "place"]})
    tokenizer = (place / "model" / "tokenizer.json").read_text(encoding="utf-8")
    piece = json.dumps(payload).strip('"')
    (place / "model" / "tokenizer.json").write_text(tokenizer.replace('"garden"', f'"{piece}"'), encoding="utf-8")


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


def test_scripts_in_texts_names_pieces_metrics_and_cards_are_inert(
    serving: Any, intent: Path, make_model: Any, browser: Any, settle: Any, tmp_path: Path
) -> None:
    from urllib.parse import quote

    everything = " ".join(PAYLOADS)
    place = tmp_path / "<img src=x onerror=window.pwned=1>"
    hostile_run(place, intent, PAYLOADS[0] + PAYLOADS[1])
    with serving(place, make_model("bert")) as server:
        id = server.get("/api/places").json["places"][0]["id"]
        context = browser.new_context()
        context.add_cookies([{"name": f"unmask-{server.port}", "value": server.keys.session, "url": server.address}])
        page, outside, blocked = context.new_page(), [], []
        context.on("request", lambda request: outside.append(request.url))
        page.on("console", lambda message: blocked.append(message.text) if "Content Security" in message.text else None)
        page.on("dialog", lambda dialog: (blocked.append("dialog"), dialog.dismiss()))
        words = quote(everything, safe="")
        for fragment in (
            f"hide?model={id}&text={words}%20the%20garden",
            f"fill?text={words}&policy={words}",
            f"tuned?model={id}&text={words}",
            f"runs?runs={id}&figure={words}",
            f"search?query={words}",
            f"grow?prefix={words}&at={words}",
            words,
        ):
            page.goto("about:blank")  # else only the fragment changes
            page.goto(f"{server.address}/#{fragment}")
            page.wait_for_selector("h1")
            settle(page)
            assert page.evaluate("window.pwned") is None, fragment
            dangerous = "script:not([src]), iframe, object, base, meta[http-equiv], [onerror], [onload], [ontoggle]"
            assert page.locator(dangerous).count() == 0, fragment
        assert [url for url in outside if not url.startswith((server.address, "about:blank"))] == []
        assert blocked == []  # nothing even tried
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
