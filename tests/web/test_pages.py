"""The pages in a real browser: each view, by keyboard, in both themes, narrow and wide, with hostile text, cut off."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from unmask.inference.held_out_fills import write_fills
from unmask.runs.directory import LOCK
from unmask.runs.report import write_report
from unmask.tokens.store.dataset import Dataset

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium to see the pages in: apt-get install chromium")
VIEWS = ("hide", "fill", "grow", "runs", "tuned", "search")
TITLES = {
    "hide": "What is hidden",
    "fill": "What a model fills in",
    "grow": "How a text grows",
    "runs": "How runs go",
    "tuned": "What a tuned model says",
    "search": "What is found",
}
LOOK = 2_500  # milliseconds, within which a page looks at a run again
FULL = {
    "fill": "#fill?text=The+king+sees+the+dog.&corpus=data",
    "tuned": "#tuned?text=the+cat+again.",
    "search": "#search?query=the+river+again",
}


@pytest.fixture(scope="module")
def server(
    serving: Any, make_model: Any, intent: Path, index: Path, data: Path, kept_run: Path, training: Path
) -> Iterator[Any]:
    with serving(data, make_model("bert"), make_model("bert", "bpe"), intent, index, kept_run, training) as server:
        yield server


Visit = Callable[..., Any]


@pytest.fixture
def visit(browser: Browser) -> Visit:
    """`with visit(server, "#fill") as page:` a page whose every outside request, error and message fails the test."""

    @contextmanager
    def open_page(server: Any, fragment: str = "", **settings: Any) -> Iterator[Page]:
        settings = {"viewport": {"width": 1280, "height": 900}, "accept_downloads": True} | settings
        context = browser.new_context(**settings)
        context.set_default_timeout(15_000)
        context.add_cookies(
            [
                {
                    "name": f"unmask-{server.port}",
                    "value": server.keys.session,
                    "url": server.address,
                    "sameSite": "Strict",
                }
            ]
        )
        outside: list[str] = []
        context.on("request", lambda request: outside.append(request.url))
        page = context.new_page()
        page.clock.install()  # time goes on, and can be moved on
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: (wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.goto(f"{server.address}/{fragment}")
        page.wait_for_selector("h1")
        yield page
        context.close()
        assert [url for url in outside if not url.startswith((server.address, "blob:", "data:"))] == []
        assert wrong == []

    return open_page


def violations(page: Page, *, colours: bool = False) -> list[str]:
    """What axe-core finds, or what it finds of colours alone, for the other theme.

    Its script is put in by the debugger, which no policy of a page forbids.
    """
    rules = {"runOnly": ["color-contrast", "link-in-text-block"]} if colours else {}
    if not page.evaluate("'axe' in window"):
        page.evaluate(f"{AXE.read_text(encoding='utf-8')}; 0")
    found = page.evaluate("rules => axe.run(rules).then(result => result.violations)", rules)
    return [f"{each['id']}: {each['nodes'][0]['html'][:120]}" for each in found]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_has_its_command_and_its_data_no_barrier_in_either_theme_and_no_sideways_scrolling(
    server: Any, visit: Visit, settle: Any, view: str
) -> None:
    with visit(server, FULL.get(view, f"#{view}"), color_scheme="light") as page:
        assert page.text_content("h1") == TITLES[view]
        if view == "grow":
            page.click("button.primary")
            page.wait_for_selector("text=Every token in the order")
        settle(page)
        assert page.inner_text(".take code").startswith("unmask ")
        taken = {}
        for button in ("Data as CSV", "Picture as PNG"):
            with page.expect_download() as download:
                page.locator(f"text={button}").first.click()
            taken[button] = download.value.path().read_bytes()
        heads, *rows = taken["Data as CSV"].decode().splitlines()
        assert "," in heads and len(rows) > 1
        assert taken["Picture as PNG"].startswith(b"\x89PNG") and len(taken["Picture as PNG"]) > 3_000
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert violations(page) == []
        page.emulate_media(color_scheme="dark")
        assert violations(page, colours=True) == []
        for width in (320, 640):  # 640 is 1280 at 200 %
            page.set_viewport_size({"width": width, "height": 700})
            wide = "new Promise(done => requestAnimationFrame(() => done(document.documentElement.scrollWidth)))"
            assert page.evaluate(wide) <= width, width


def test_every_view_is_reached_and_used_by_the_keyboard_alone(server: Any, visit: Visit) -> None:
    with visit(server) as page:
        for number, view in enumerate(VIEWS):
            page.focus(".skip")
            for _ in range(number + 2):
                page.keyboard.press("Tab")
            page.keyboard.press("Enter")
            page.wait_for_selector(f"h1:text-is('{TITLES[view]}')")
            assert page.get_attribute("nav a[aria-current]", "href").startswith(f"#{view}")  # type: ignore[union-attr]
            if number:
                page.wait_for_selector("#view:focus")
        page.goto(f"{server.address}/#fill?text=The+king+sees+the+dog.")
        page.wait_for_selector(".words button")
        page.focus(".words button >> nth=0")
        before = page.get_attribute(".words button >> nth=0", "aria-pressed")
        page.keyboard.press("Space")
        assert page.get_attribute(".words button >> nth=0", "aria-pressed") != before
        stuck = {page.evaluate("document.activeElement.outerHTML") for _ in range(60) if not page.keyboard.press("Tab")}
        assert len(stuck) > 12  # the focus goes on, and round


def test_hiding_shows_what_the_command_shows_and_keeps_its_state_in_the_address(
    server: Any, visit: Visit, settle: Any
) -> None:
    text = "The king sees the unbelievable garden in winter, and nobody likes the river."
    with visit(server) as page:
        page.fill("#text", text)
        page.select_option("#policy", "span")
        page.fill("#seed", "4")
        page.click("text=Next epoch")
        page.wait_for_url("**epoch=1**")
        page.wait_for_selector("text=Every policy on this text")
        settle(page)
        (shown,) = server.answers("/api/show", model="data", text=text, policy="span", seed=4, epoch=1)
        kinds = page.locator(".tokens").first.locator(".tok").evaluate_all("all => all.map(one => one.classList[1])")
        assert kinds == [piece["kind"] for piece in shown["pieces"]]
        assert f"{shown['hidden']} of {shown['tokens']} tokens" in page.inner_text("main")
        command = page.inner_text(".command code")
        assert command == f"unmask show data '{text}' --policy span --seed 4 --epoch 1"
        page.reload()
        page.wait_for_selector(".tokens")
        assert page.input_value("#text") == text and page.input_value("#policy") == "span"
        page.wait_for_selector("text=Every policy on this text")
        assert page.locator(".tokens.many").count() == 8
        with page.expect_download() as csv:
            page.click("text=Data as CSV")
        rows = csv.value.path().read_text(encoding="utf-8").splitlines()
        assert rows[0].startswith("policy,place,token") and len(rows) == 1 + len(shown["pieces"])
        with page.expect_download() as png:
            page.click("text=Picture as PNG")
        assert png.value.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and png.value.path().stat().st_size > 5_000


def test_policies_of_phrases_take_phrases_that_are_written_there(server: Any, visit: Visit, settle: Any) -> None:
    text = "The king sees bread and butter in winter."
    with visit(server, "#hide?policy=phrase&rate=0.4&text=" + text.replace(" ", "+")) as page:
        page.wait_for_selector(".notice:has-text('hides phrases whole')")
        page.fill("#phrases", "bread and butter\nin winter")
        page.wait_for_selector(".tokens")
        settle(page)
        asked = {"model": "data", "text": text, "policy": "phrase", "rate": "0.4"}
        (shown,) = server.answers("/api/show", **asked, phrases=["bread and butter", "in winter"])
        kinds = page.locator(".tokens").first.locator(".tok").evaluate_all("all => all.map(one => one.classList[1])")
        assert kinds == [piece["kind"] for piece in shown["pieces"]]
        page.wait_for_selector(".tokens.many >> nth=10")  # among every policy on this text too


def test_words_are_blanked_by_a_click_and_two_models_stand_side_by_side(server: Any, visit: Visit, settle: Any) -> None:
    with visit(server, "#fill?text=The+king+sees+the+dog+in+winter.&blanks=6") as page:
        page.click(".words button:has-text('dog')")
        page.click(".words button:has-text('king')")
        page.check("text=Which words mattered")
        page.select_option("#other", "bert-bpe")
        page.wait_for_selector("h2:has-text('bert-bpe')")
        page.wait_for_selector("text=Together against each on its own")
        settle(page)
        text = page.inner_text(".command code").split("'")[1]
        assert text == "The [MASK] sees [MASK] [MASK] in winter."
        (filled,) = server.answers("/api/fill", model="bert-wordpiece", texts=[text], top=8, explain=True)
        names = page.locator(".pair > div").first.locator(".bars .name").all_inner_texts()
        assert names == [guess["token"] for guesses in filled["blanks"] for guess in guesses]
        assert page.locator(".sentence").first.inner_text() == filled["completed"]
        assert page.locator(".pair > div").count() == 2 and page.locator(".why").count() >= 2
        page.select_option("#corpus", "data")
        page.wait_for_selector(".concordance li")
        settle(page)
        asked = {"before": "The ", "word": "king", "after": " sees the dog in winter.", "top": 8}
        (near,) = server.answers("/api/contexts", model="bert-wordpiece", corpus="data", **asked)
        lines = page.locator(".concordance >> nth=0").locator("li").evaluate_all("all => all.map(one => one.innerText)")
        assert len(lines) == len(near["same"]) == 8 and near["same"][0]["right"].strip() in lines[0]


def test_a_text_grows_step_by_step_under_a_slider(server: Any, visit: Visit, settle: Any) -> None:
    with visit(server, "#grow?length=16&steps=8") as page:
        page.click("button.primary")
        page.wait_for_selector("#at")
        settle(page)
        assert page.locator(".grown").first.locator(".mask").count() == 0
        page.fill("#at", "0")
        assert page.locator(".grown").first.locator(".mask").count() == 16
        page.fill("#at", "3")
        assert 0 < page.locator(".grown").first.locator(".mask").count() < 16
        page.wait_for_url("**at=3**")


def test_a_sentence_is_filled_through_the_checkpoints_under_a_slider(server: Any, visit: Visit, settle: Any) -> None:
    with visit(server, "#runs?runs=run") as page:
        page.fill("#sentence", "The king sees the [MASK] in winter.")
        page.wait_for_selector(".moments .bars")
        settle(page)
        moments = server.answers("/api/moments", model="run", text="The king sees the [MASK] in winter.", top=8)
        for at, moment in reversed([*enumerate(moments)]):
            page.fill("#at", str(at))
            names = page.locator(".moments .bars .name").all_inner_texts()
            assert names == [guess["token"] for guess in moment["filled"]["blanks"][0]]
            assert f"After {moment['step']} steps" in page.inner_text("label[for=at]")
        assert page.inner_text(".moments .command code").endswith("--top 8 --step 0")
        page.wait_for_url("**at=0**")
        page.fill("#sentence", "Nothing is blank.")
        page.wait_for_selector(".moments .notice")
        page.goto(f"{server.address}/#runs?runs=training&at=1")  # one that has no model yet
        page.wait_for_selector("label:text('After 5 steps, the best')")
        page.wait_for_selector(".moments .bars")


def test_a_tuned_model_answers_and_its_judgement_can_be_read(server: Any, visit: Visit, settle: Any) -> None:
    with visit(server, "#tuned") as page:
        page.fill("#text", "nobody likes the dog again.")
        page.wait_for_selector(".bars")
        settle(page)
        (said,) = server.answers("/api/predict", model="intent", texts=["nobody likes the dog again."])
        assert page.inner_text(".sentence") == ", ".join(said["labels"])
        detail = server.get("/api/tuned/intent").json
        cells = [int(text) for text in page.locator(".matrix td").all_inner_texts() if text]
        assert sum(cells) == detail["examples"] == 40 == len(detail["answers"])
        slices = page.locator("table", has=page.locator("caption", has_text="By source")).locator("tbody tr")
        assert slices.evaluate_all("all => all.map(one => one.innerText.split('\\t').slice(0, 2).join(' '))") == [
            "chat 13",
            "mail 27",
        ]
        with page.expect_download() as download:
            page.click("text=Data as CSV")
        whats = [line.partition(",")[0] for line in download.value.path().read_text(encoding="utf-8").splitlines()]
        assert whats.count("test example") == 40 and whats.count("probability for this text") == 2
        assert {"figure", "precision", "confusion", "slice", "reliability"} < {*whats}
        assert whats.count("error to read") == len(detail["errors"]) > 0
        assert whats.count("cannot be ruled out for this text") == len(said["label_set"])
        note = page.locator("section p.small").first.inner_text()
        assert f"Cannot be ruled out: {', '.join(said['label_set'])}." in note
        assert f"{said['tokens_read']} tokens read in {said['windows']} window" in note
        sure = page.locator("table", has=page.locator("caption", has_text="by how sure")).locator("tbody tr")
        bins = [row.split("\t") for row in sure.all_inner_texts()]
        assert sum(int(cells[1]) for cells in bins) == 40
        for begin, *shown in bins:
            inside = [each for each in detail["answers"] if begin[:3] == f"{int(each[0] * 10) / 10:.1f}"]
            means = [sum(each[place] for each in inside) / len(inside) for place in (0, 1)]
            assert shown == [str(len(inside)), *(f"{100 * mean:.1f}\xa0%" for mean in means)]
        page.fill("#least", "0")
        assert "40 of 40 test texts" in page.inner_text("main")
        page.fill("#least", "1")
        assert "40 of 40 test texts" not in page.inner_text("main")


def test_a_query_is_searched_in_every_way_side_by_side(server: Any, visit: Visit, settle: Any) -> None:
    with visit(server, "#search?query=the+river+again&top=3") as page:
        page.wait_for_selector(".hit >> nth=8")
        settle(page)
        assert page.locator("section.pair h2").all_inner_texts() == ["BM25", "Dense", "Fused"]
        assert "river" in page.locator("mark").all_inner_texts()


def test_weighted_words_are_searched_beside_bm25_vectors_and_both_as_one(
    serving: Any, visit: Visit, settle: Any, make_model: Any, index: Path, sparse: tuple[Path, Path]
) -> None:
    query = {"queries": ["the river again"], "top": 3}
    with (
        serving(make_model("bert"), index, *sparse) as server,
        visit(server, "#search?query=the+river+again&top=3") as page,
    ):
        page.wait_for_selector(".hit >> nth=11")
        settle(page)
        assert page.locator("section.pair h2").all_inner_texts() == ["BM25", "Dense", "Sparse", "Fused"]
        shown = [hits.splitlines()[0] for hits in page.locator(".hit").all_inner_texts()]
        ways = (("shelf", "bm25"), ("shelf", "dense"), ("weighed", "sparse"), ("shelf", "fused"))
        found = [server.answers("/api/search", index=place, by=way, **query)[0]["hits"] for place, way in ways]
        for line, hit in zip(shown, (hit for hits in found for hit in hits), strict=True):
            assert f"· {hit['document']} ·" in line
        assert all(hit["matched"] for hit in found[2]) and page.locator("div:has(> h2:text('Sparse')) mark").count() > 2
        assert violations(page) == []
        page.select_option("#other", "none")
        page.wait_for_selector("h2:text('Sparse')", state="detached")
        page.select_option("#index", "weighed")
        page.select_option("#other", "shelf")
        page.wait_for_selector(".hit >> nth=11")
        settle(page)
        assert page.locator("section.pair h2").all_inner_texts() == ["BM25", "Sparse", "Dense", "Fused"]


def test_what_is_set_in_fill_tuned_and_search_stands_in_the_address_and_is_there_after_a_reload(
    server: Any, visit: Visit, settle: Any
) -> None:
    def shown(page: Page) -> dict[str, str]:
        settle(page)
        fields = page.locator("main :is(textarea, select, input:not([type=checkbox]))")
        return dict(fields.evaluate_all("all => all.map(one => [one.id, one.value])")) | {
            "ticks": str(page.locator("main input[type=checkbox]").evaluate_all("all => all.map(one => one.checked)")),
            "said": page.locator("main section").first.inner_text(),
            "pressed": str(page.locator("main [aria-pressed=true]").all_inner_texts()),
        }

    def reload_and_compare(page: Page, selector: str) -> dict[str, str]:
        before = shown(page)
        page.reload()
        page.wait_for_selector(selector)
        assert shown(page) == before
        return before

    with visit(server, "#fill") as page:
        page.fill("#text", "The king sees the dog & the sea.")
        page.click(".words button:has-text('king')")
        page.select_option("#other", "bert-bpe")
        page.select_option("#top", "3")
        page.check("text=Which words mattered")
        page.wait_for_url("**why=1**")
        page.wait_for_url("**top=3**")
        kept = reload_and_compare(page, ".pair .bars")
        assert kept["pressed"] == "['king', 'sees']" and kept["other"] == "bert-bpe"
        page.click("nav >> text=Tuned")
        page.wait_for_selector("#least")
        page.fill("#text", "nobody likes the dog again = 100 %.")
        page.fill("#least", "0.75")
        page.wait_for_url("**least=0.75**")
        page.wait_for_selector(".bars")
        assert reload_and_compare(page, "main:has(.bars) #least")["least"] == "0.75"
        page.click("nav >> text=Search")
        page.fill("#query", "the river again")
        page.select_option("#top", "3")
        page.wait_for_url("**top=3**")
        page.wait_for_selector(".hit >> nth=8")
        reload_and_compare(page, ".hit >> nth=8")
        assert page.locator(".hit").count() == 9


def test_runs_are_followed_while_they_train_and_said_to_be_gone_when_they_are(
    intent: Path, serving: Any, visit: Visit, tmp_path: Path
) -> None:
    import fcntl

    live, begun = tmp_path / "live", tmp_path / "begun"
    shutil.copytree(intent, live)
    begun.mkdir()
    (begun / "metrics.jsonl").write_text('{"step": 1, "loss"', encoding="utf-8")
    with (live / LOCK).open("a+") as lock, serving(live, begun) as server:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with visit(server, "#runs") as page:
            page.wait_for_selector(".state.running")
            page.wait_for_selector("canvas")
            assert "the run was begun and given up" in page.inner_text("main")
            rows = page.locator("details table tbody tr").count()
            assert rows > 1
            with (live / "metrics.jsonl").open("a") as file:
                file.write('{"step": 99999, "loss": 0.5, "tokens": 123456789}\n')
            page.clock.fast_forward(LOOK)
            page.wait_for_selector("td:has-text('123,456,789')")
            fcntl.flock(lock, fcntl.LOCK_UN)
            page.clock.fast_forward(LOOK)
            page.wait_for_selector(".state.finished")
            shutil.rmtree(live)
            page.clock.fast_forward(LOOK)
            page.wait_for_selector(".state.vanished")


def test_an_adaptation_is_shown_with_both_losses_its_mixtures_and_the_intervals_that_it_kept(
    serving: Any, visit: Visit, settle: Any, adapted: Path, kept_run: Path
) -> None:
    came = json.loads((adapted / "adapted.json").read_text(encoding="utf-8"))
    last = json.loads((adapted / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    with serving(adapted, kept_run) as server, visit(server, "#runs?figure=general_loss") as page:
        page.wait_for_selector("h2:has-text('adapted')")
        page.wait_for_selector("canvas")
        settle(page)
        assert page.inner_text("section h2 >> nth=0") == "General loss, nats a token"
        assert [each["name"] for each in server.get("/api/runs/run").json["curves"] if each["held_out"]][:2] == [
            "loss",
            "general_loss",
        ]
        losses, mixtures = page.locator("section:has(h2:has-text('adapted')) table").all()
        for name in ("loss", "general_loss"):
            row = losses.locator(
                "tr", has=page.locator(f":is(td, th):text-is('{name.replace('_', ' ')}')")
            ).inner_text()
            assert [float(cell) for cell in row.split("\t")[1:]] == pytest.approx(
                [came["before"][name], came["after"][name]], abs=1e-3
            )
        rows = [row.split("\t") for row in mixtures.locator("tbody tr").all_inner_texts()]
        assert len(rows) == len(came["mixtures"]) > 3
        for cells, mixture in zip(rows, came["mixtures"], strict=True):
            assert ("kept" in cells[0]) == (mixture["share"] == came["kept"])
            assert [float(cell) for cell in cells[1:]] == pytest.approx(
                [mixture["loss"], mixture["general_loss"]], abs=1e-3
            )
        stand = page.locator("table", has=page.locator("caption", has_text="in the end")).inner_text()
        for name in ("loss", "general_loss"):
            low, high = (last[f"interval_{name}_{end}"] for end in ("low", "high"))
            assert low < last[f"final_{name}"] < high and f"({low:.3f} to {high:.3f})" in stand
        assert stand.count("no interval was kept") == 1  # of the run that was trained before there were any
        assert violations(page) == []


def test_empty_views_say_what_to_do(serving: Any, visit: Visit, data: Path) -> None:
    with serving(data) as server, visit(server, "#fill") as page:
        for view in VIEWS[1:]:
            page.click(f"nav >> text={view.capitalize()}")
            page.wait_for_selector(f"h1:text-is('{TITLES[view]}')")
            assert "unmask serve" in page.inner_text(".empty")
        assert violations(page) == []


@pytest.fixture(scope="module")
def reports(
    intent: Path, data: Path, adapted: Path, kept_run: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """A report of each kind; that of a run has its sentences filled."""
    run = tmp_path_factory.mktemp("reports") / "run"
    shutil.copytree(kept_run, run)
    write_fills(run, Dataset.open(data), 0.0)
    write_report(run)
    folders = {"tuned": intent, "corpus": data, "adaptation": adapted, "run": run}
    return {kind: folder / "report.html" for kind, folder in folders.items()}


def test_reports_are_printed_whole_and_black_on_white(browser: Browser, reports: dict[str, Path]) -> None:
    context = browser.new_context()
    page = context.new_page()
    for kind, report in reports.items():
        page.goto(report.as_uri())
        page.emulate_media(media="print", color_scheme="dark")
        page.set_viewport_size({"width": 718, "height": 1000})  # of a sheet of A4 within its margins
        assert page.evaluate("document.documentElement.scrollWidth") <= 718, kind
        colours = "[...document.querySelectorAll('body, h2, td')].map(each => getComputedStyle(each))"
        assert page.evaluate(f"{colours}[0].backgroundColor") == "rgb(255, 255, 255)", kind
        inks = page.evaluate(f"{colours}.map(each => Math.max(...each.color.match(/[0-9]+/g).slice(0, 3)))")
        assert len(inks) > 10 and max(inks) < 0x80, kind
        hidden = "all => all.filter(each => !each.checkVisibility()).length"
        assert page.locator("details:not([open]) > *").evaluate_all(hidden) == 0, kind
        sheet = page.pdf(format="A4")
        assert sheet.startswith(b"%PDF") and len(re.findall(rb"/Type */Page\b", sheet)) >= 1, kind
    assert page.locator("details").count() > 0
    context.close()


def test_reports_open_from_disk_without_barriers_scripts_or_sideways_scrolling(
    browser: Browser, reports: dict[str, Path]
) -> None:
    run = reports["run"].parent
    assert (run / "report.html").stat().st_size < 1_000_000
    context = browser.new_context()  # scripts of a page of ours would run here
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for report in reports.values():
        page.goto(report.as_uri())
        assert page.locator("script").count() == 0
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": 1280, "height": 900})
            assert violations(page, colours=scheme == "dark") == [], (report, scheme)
        page.set_viewport_size({"width": 320, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, report
    assert len(requests) == 4
    shown = page.locator(".words i:visible")
    assert page.locator(".filled").count() == 20 and page.locator(".guesses li:visible").count() == 5
    last = shown.all_inner_texts()
    page.locator(".scale input").nth(2).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.locator(".scale input").first.is_checked() and shown.all_inner_texts() != last
    page.locator(".words label").nth(1).click()
    fills = json.loads((run / "fills.json").read_text(encoding="utf-8"))
    first_words = [line.split()[0] for line in page.locator(".guesses li:visible").all_inner_texts()]
    assert first_words == [token for token, _ in fills["sentences"][0]["fills"][0][1]]
    context.close()


def test_the_first_view_is_small_and_the_page_opens_with_its_ticket(serving: Any, browser: Browser, data: Path) -> None:
    with serving(data) as server:
        context = browser.new_context()
        page = context.new_page()
        sizes: list[int] = []
        page.on("response", lambda response: sizes.append(int(response.headers.get("content-length", 0))))
        page.goto(f"{server.address}/?key={server.keys.ticket}")
        page.wait_for_selector(".tokens")
        assert sum(sizes) < 300_000
        assert "key" not in page.url
        context.close()
        stranger = browser.new_context().new_page()
        stranger.goto(server.address)
        assert stranger.text_content("h1") == "A key, please"
        stranger.fill("#key", server.keys.key)
        stranger.click("button")
        stranger.wait_for_selector(".tokens")
        stranger.context.close()
