"""What the pages of runs and of data have in common: one file, no script, nothing loaded, in light and in dark.

In: plain strings, which are escaped here. Out: HTML.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any

LONG = 32  # characters of a cell that is a text and no figure

STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --faint: #616e7c; --line: #e4e7eb; --ground: #f5f7fa; --card: #fff;
  --accent: #3b6fb6; --warn: #9a5b00; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --faint: #9aa5b1; --line: #323f4b;
  --ground: #12181f; --card: #1b242d; --accent: #7fb0ee; --warn: #f0b429; } /* drawn for paper */
  section > svg { background: #fff; border-radius: 8px; filter: invert(0.92) hue-rotate(180deg); } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1100px; margin: 0 auto; padding: 40px 24px 64px; }
header { display: flex; align-items: baseline; gap: 14px; flex-wrap: wrap; margin-bottom: 24px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 13px; margin: 0 0 12px; color: var(--faint); text-transform: uppercase; letter-spacing: 0.06em; }
.state { padding: 2px 12px; border-radius: 999px; font-size: 14px; font-weight: 600; color: #fff; background: #616e7c; }
.finished { background: #26773a; } .running { background: #1971c2; } .stopped { background: #b35900; }
.damaged { background: #c92a2a; }
.faint { color: var(--faint); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(155px, 1fr)); gap: 12px; margin-bottom: 16px; }
.card, section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.card { padding: 14px 18px; }
.card b { display: block; font-size: 22px; line-height: 1.25; font-variant-numeric: tabular-nums; white-space: nowrap; }
.card span { color: var(--faint); font-size: 14px; }
section { padding: 20px 24px; margin-bottom: 16px; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 16px; align-items: start; }
.two section { margin-bottom: 0; } .two { margin-bottom: 16px; }
svg { width: 100%; height: auto; display: block; }
table { border-collapse: collapse; width: 100%; font-size: 15px; }
th { text-align: left; font-weight: 500; color: var(--faint); vertical-align: top; padding-right: 20px; }
td, th { padding: 5px 0; border-bottom: 1px solid var(--line); }
tr:last-child td, tr:last-child th { border-bottom: 0; }
td { overflow-wrap: anywhere; }
.figures td, .figures th { text-align: right; padding-left: 16px; font-variant-numeric: tabular-nums; }
.figures th:first-child, .figures td:first-child { text-align: left; padding-left: 0; }
.figures td { overflow-wrap: break-word; }
.figures .text { text-align: left; }
.bar { display: block; height: 10px; min-width: 1px; border-radius: 3px; background: var(--accent); }
td.bars { width: 30%; }
.warn { color: var(--warn); }
blockquote { margin: 0 0 12px; padding: 4px 0 4px 14px; border-left: 3px solid var(--line); overflow-wrap: anywhere; }
blockquote .faint { display: block; font-size: 13px; }
pre { background: var(--ground); border-radius: 8px; padding: 12px 14px; margin: 0 0 12px; font-size: 14px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
pre:last-child { margin-bottom: 0; }
summary { cursor: pointer; color: var(--faint); font-size: 13px; text-transform: uppercase; letter-spacing: 0.06em; }
details table { margin-top: 12px; }
@media (max-width: 560px) { .two { grid-template-columns: 1fr; } main { padding: 24px 12px; }
  section { padding: 16px 14px; } th { overflow-wrap: anywhere; padding-right: 10px; }
  .figures td, .figures th { padding-left: 6px; font-size: 12.5px; overflow-wrap: anywhere; }
  .stack, .stack tbody, .stack tr, .stack td { display: block; width: 100%; } .stack td { padding: 1px 0; border: 0; }
  .stack tr { border-bottom: 1px solid var(--line); padding: 6px 0; }
  .stack tr > td { text-align: left; font-size: 14px; }
  .stack tr:first-child { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .stack td::before { content: attr(data-head); color: var(--faint); } }
@media print { :root { color-scheme: light; } body { background: #fff; font-size: 14px; }
  main { max-width: none; padding: 0; } section { padding: 14px 16px; } h2, summary { break-after: avoid; }
  .card, tr, blockquote, pre, section > svg { break-inside: avoid; } .state, .bar { print-color-adjust: exact; }
  details::details-content { content-visibility: visible; } } /* paper cannot be clicked */
"""


def html_page(title: str, body: str) -> str:
    """A whole page; the body is HTML already."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)} · unmask</title>
<style>{STYLE}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def html_cards(cards: Iterable[tuple[str, str]]) -> str:
    """Figures with their names, side by side."""
    drawn = (f'<div class="card"><b>{escape(figure)}</b><span>{escape(name)}</span></div>' for figure, name in cards)
    return f'<div class="cards">{"".join(drawn)}</div>'


def html_section(title: str, content: str) -> str:
    """Something under a title; nothing where there is nothing."""
    return f"<section><h2>{escape(title)}</h2>{content}</section>\n" if content else ""


def html_table(rows: Mapping[str, Any]) -> str:
    """Names and what belongs to them."""
    cells = (f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows.items())
    return f"<table>{''.join(cells)}</table>"


def html_heads(names: Sequence[str], texts: Collection[int] = ()) -> str:
    """The heads of columns, some of them of texts; above what needs none there is an empty cell."""
    heads = (
        f"<th scope=col{' class=text' if number in texts else ''}>{escape(name)}</th>" if name else "<td></td>"
        for number, name in enumerate(names)
    )
    return "".join(heads)


def html_figures(heads: Sequence[str], rows: Iterable[Sequence[str]], bars: Sequence[float] | None = None) -> str:
    """Rows of figures under their heads, and a bar behind each where its share of the longest is given.

    Columns with a long cell, or of words for the most part, are texts, which begin where lines do; those without any
    content are left out.
    """
    rows = list(rows)
    kept = [place for place in range(len(heads)) if any(row[place] for row in rows)]
    long = {at for at, place in enumerate(kept) if any(len(row[place]) > LONG for row in rows)}
    texts = long | {at for at, place in enumerate(kept) if _are_words([row[place] for row in rows if row[place]])}
    heads = [*(heads[place] for place in kept), *([""] if bars is not None else [])]
    stacks = bool(long) or (len(kept) > 3 and bars is None)  # on a narrow screen
    body = []
    for number, row in enumerate(rows):
        cells = "".join(_cell(row[place], heads[at], at in texts, stacks) for at, place in enumerate(kept))
        if bars is not None:
            cells += f'<td class="bars"><span class="bar" style="width: {100 * bars[number]:.1f}%"></span></td>'
        body.append(f"<tr>{cells}</tr>")
    kind = "figures stack" if stacks else "figures"
    return f'<table class="{kind}"><tr>{html_heads(heads, texts)}</tr>{"".join(body)}</table>' if body else ""


def _are_words(cells: Sequence[str]) -> bool:
    """Whether most cells of a column have no figure in them.

    >>> _are_words(["patients", "1, 3", "cells"]), _are_words(["0.3 (0.2–0.4)", "–"])
    (True, False)
    """
    return 2 * sum(any(character.isdigit() for character in cell) for cell in cells) < len(cells)


def _cell(content: str, head: str, is_text: bool, stacks: bool) -> str:
    """A cell; one that stands below the others on a narrow screen has its head with it."""
    named = f' data-head="{escape(head)}: "' if stacks and head else ""
    return f"<td{' class=text' if is_text else ''}{named}>{escape(content)}</td>"


def html_quote(text: str, place: str) -> str:
    """A text, and where it is from."""
    return f'<blockquote><span class="faint">{escape(place)}</span>{escape(text)}</blockquote>'
