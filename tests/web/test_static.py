"""The files of the pages: pinned where they came from elsewhere, and no address leads to another."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

from unmask.web.static import page_files

HERE = Path(__file__).parent
VENDORED = [HERE / "vendor", HERE.parents[1] / "src" / "unmask" / "web" / "pages" / "vendor"]


@pytest.mark.parametrize("folder", VENDORED, ids=["tests", "pages"])
def test_what_came_from_elsewhere_is_what_was_pinned_and_has_its_licence(folder: Path) -> None:
    pins = json.loads((folder / "pins.json").read_text(encoding="utf-8"))
    for name, pin in pins.items():
        assert sha256((folder / name).read_bytes()).hexdigest() == pin["sha256"], name
        assert pin["from"].startswith("https://registry.npmjs.org/")
        assert all((folder / licence).stat().st_size > 500 for licence in pin["licences"])
    scripts = {path.name for path in folder.iterdir() if path.suffix in (".js", ".css")}
    assert scripts == {*pins}


def test_every_page_and_script_is_served_small_and_asks_nobody_else() -> None:
    served = page_files()
    assert {"/", "/style.css", "/app.js", "/vendor/preact.js"} <= {*served}
    assert not any(path.endswith((".json", "LICENSE.htm")) or "key.html" in path for path in served)
    assert sum(len(file.content) for file in served.values()) < 300_000
    for path, file in served.items():
        if "/vendor/" not in path:
            text = file.content.decode()
            assert not re.search(r"https?://(?!www\.w3\.org)|innerHTML|insertAdjacent|document\.write|eval\(", text), (
                path
            )


def test_whatever_the_page_imports_is_named_in_the_page_so_that_nothing_is_waited_for_in_turn() -> None:
    served = {path: file.content.decode() for path, file in page_files().items()}
    imported, waiting = set[str](), ["/app.js"]
    while waiting:
        module = waiting.pop()
        for name in re.findall(r"^import .* from '\./(.*)';", served[module], re.M):
            if f"/{name}" not in imported:
                imported.add(f"/{name}")
                waiting.append(f"/{name}")
    assert {*re.findall(r'rel="modulepreload" href="(.*?)"', served["/"])} == imported and len(imported) > 8
