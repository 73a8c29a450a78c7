"""What is read of HTML pages, beside what a person says is their text: all prose (`whole`) and main text (`main`).

    python benchmarks/html_text.py                    # the pages of benchmarks/pages, written by hand
    python benchmarks/html_text.py --pages folder     # yours: NAME.html beside NAME.txt

Words (characters where there are no spaces) are compared as multisets: precision is the share of what was read that is
in the text, recall the share of the text that was read. A handful of pages tells how the two readers differ, not
how well either does on the web.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from unmask.corpus.read.find import HTML_READERS, TextSource
from unmask.corpus.read.office import end_idle_workers
from unmask.corpus.read.prose import page_documents
from unmask.records import Document
from unmask.words import spelt_words

PAGES = Path(__file__).parent / "pages"


def words(text: str) -> Counter[str]:
    spelt = spelt_words(text)
    return Counter(word for each in spelt for word in (each if any(c > "\u2e80" for c in each) else [each]))


def score(html: str, page: Path) -> tuple[float, float]:
    """Precision and recall of a page."""
    records = page_documents(page.read_bytes(), TextSource(page.name, "html", html=html))
    read = words("\n".join(record.text for record in records if isinstance(record, Document)))
    wanted = words(page.with_suffix(".txt").read_text(encoding="utf-8"))
    both = (read & wanted).total()
    return both / max(1, read.total()), both / max(1, wanted.total())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=Path, default=PAGES)
    pages = sorted(parser.parse_args().pages.glob("*.html"))
    if not pages:
        raise SystemExit("no page: NAME.html beside NAME.txt")
    print(f"{len(pages)} pages, {time.strftime('%Y-%m-%d')}")
    print(f"{'':>12} " + " ".join(f"{html + ' precision, recall':>24}" for html in HTML_READERS))
    scores = {html: [score(html, page) for page in pages] for html in HTML_READERS}
    for number, page in enumerate(pages):
        print(f"{page.stem:>12} " + " ".join("{:>17.2f} {:>6.2f}".format(*scores[html][number]) for html in scores))
    for html, each in scores.items():
        precision, recall = (sum(column) / len(pages) for column in zip(*each, strict=True))
        f1 = sum(2 * p * r / max(1e-9, p + r) for p, r in each) / len(pages)
        print(f"{html}: precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f} (means over pages)")
    end_idle_workers()


if __name__ == "__main__":
    main()
