"""The main text of an HTML page, an extra: what its author wrote, without menus, comments, banners and footers.

In: a page. Out: its main text, a paragraph a line, or why there is none. resiliparse (Bevendorff et al. 2018) finds it
by rules over the tree of the page. It runs in the process that opens PDF and docx files, so that a page which takes
longer than `SECONDS` is given up, whatever it does there.
"""

from __future__ import annotations

from unmask.corpus.read import office
from unmask.corpus.read.formats import Unextracted

SECONDS = 10.0  # for a page


def main_text(page: str) -> str:
    """The main text of a page; `Unextracted` where it took too long, or broke the process that looked for it."""
    text = ""
    for message in office.worker_messages(page, "main", SECONDS):
        text = message.get("text", text)
        if problem := message.get("end"):
            raise Unextracted(problem)
    return text
