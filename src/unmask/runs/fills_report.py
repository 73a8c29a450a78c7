"""Held-out sentences filled at each kept moment, as a section of the run's page: to click and to slide through.

In: `fills.json` of a run. Out: HTML without scripts: moments and words are radio buttons, which styles look at, so
arrow keys slide through them; where styles cannot look at them everything stands there as lists.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

FILLS = "fills.json"
LARGEST = 620_000  # characters of the section: with the plot the page stays below a megabyte
MOST_WORDS = 40

Values = Mapping[str, Any]

STYLE = """
fieldset { border: 0; margin: 0; padding: 0; min-width: 0; }
legend { padding: 0; color: var(--faint); font-size: 14px; }
.scale { display: flex; flex-wrap: wrap; gap: 2px 0; margin: 0 0 20px; }
.scale label { display: grid; justify-items: center; min-width: 56px; padding: 4px 6px; cursor: pointer;
  font-size: 14px; font-variant-numeric: tabular-nums; border-top: 3px solid var(--line); }
.scale label:has(:checked) { border-color: var(--accent); font-weight: 700; }
.scale small { font-weight: 400; color: var(--faint); }
.scale input { accent-color: var(--accent); margin: 4px; }
.filled { border-top: 1px solid var(--line); padding: 14px 0; break-inside: avoid; }
.words { display: flex; flex-wrap: wrap; gap: 6px 2px; align-items: baseline; }
.words label { display: inline-grid; justify-items: center; padding: 2px 5px; border-radius: 6px; cursor: pointer;
  position: relative; max-width: 100%; overflow-wrap: anywhere; }
.words label:hover { background: var(--ground); }
.words label:has(:checked) { background: var(--ground); outline: 2px solid var(--accent); }
.words label:has(:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px; }
.words input { position: absolute; opacity: 0; pointer-events: none; }
.words .l { margin-left: -6px; } .words .r { margin-right: -6px; }
.words b { font-weight: 500; font-size: 17px; }
.words i { font: 13px/1.3 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; color: var(--faint); }
.words i.y { color: var(--accent); font-weight: 700; text-decoration: underline; }
.guesses ol { list-style: none; margin: 10px 0 0; padding: 0; max-width: 420px; }
.guesses li { display: flex; justify-content: space-between; gap: 12px; padding: 2px 8px; font-size: 15px;
  font-variant-numeric: tabular-nums; border-left: 3px solid var(--accent);
  background: linear-gradient(var(--line) 0 0) 0 / calc(var(--p) * 1%) 100% no-repeat; margin-bottom: 2px; }
@supports selector(:has(a)) {
  .words i, .guesses ol, .guesses > div { display: none; }
  SHOWN
}
@media print { .scale label:not(:has(:checked)), .scale input { display: none; } .words label { outline: 0 !important; }
  .guesses { display: none; } .fills { break-inside: auto; } }
"""


def fills_section(run: Path) -> str:
    """The section of a run whose held-out sentences were filled; nothing where there is no such file of ours."""
    try:
        fills = json.loads((run / FILLS).read_text(encoding="utf-8"))
        return _section(fills)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ""


def _section(fills: Values) -> str:
    moments, drawn, size = fills["moments"], list[str](), 0
    most = max((len(sentence["words"]) for sentence in fills["sentences"]), default=0)
    for number, sentence in enumerate(fills["sentences"]):
        drawn.append(_sentence(number, sentence))
        size += len(drawn[-1])
        if size > LARGEST:
            drawn.pop()
            break
    if not drawn:
        return ""
    return f"""<style>{STYLE.replace("SHOWN", _shown(len(moments), min(most, MOST_WORDS)))}</style>
<section class="fills"><h2>Held-out sentences, filled</h2>
<p>Every word was blanked in turn. Below each stands what the model would put there, underlined where it is the word
that stood there; choose a word for the five likeliest.{_left_out(fills)}</p>
{_scale(moments)}{"".join(drawn)}</section>"""


def _left_out(fills: Values) -> str:
    """What there was no time for, or nothing to slide through."""
    count, kept = len(fills["moments"]), int(fills["kept"])
    if kept > count:
        return f" Of {kept} moments that were kept, there was time for {count}."
    return " With --keep-moments a run shows how it came to that." if count < 3 else ""


def _shown(moments: int, words: int) -> str:
    """Which rules show the chosen moment, and the guesses for the chosen word."""
    rules = []
    for number in range(1, moments + 1):
        chosen = f".fills:has(.scale label:nth-of-type({number}) :checked)" if moments > 1 else ".fills"
        rules.append(f"{chosen} :is(.words i, .guesses ol):nth-of-type({number}) {{ display: block; }}")
    for number in range(1, words + 1):
        chosen = f".filled:has(.words label:nth-of-type({number}) :checked)"
        rules.append(f"{chosen} .guesses > div:nth-of-type({number}) {{ display: block; }}")
    return "\n  ".join(rules)


def _scale(moments: Sequence[Values]) -> str:
    """The moments, to slide through; the last is chosen."""
    if len(moments) < 2:
        return ""
    labels = []
    for number, moment in enumerate(moments, start=1):
        checked = " checked" if number == len(moments) else ""
        names = "".join(f"<small>{escape(str(name))}</small>" for name in moment["names"])
        labels.append(f'<label><input type="radio" name="moment"{checked}>{int(moment["step"]):,}{names}</label>')
    return f'<fieldset class="scale"><legend>After how many steps</legend>{"".join(labels)}</fieldset>'


def _sentence(number: int, sentence: Values) -> str:
    text, words, behind = sentence["text"], sentence["words"][:MOST_WORDS], 0
    drawn, guesses = list[str](), list[str]()
    longest = max(range(len(words)), key=lambda place: words[place][1] - words[place][0])
    for place, (start, end) in enumerate(words):
        word, at_moments = text[start:end], [fills[place] for fills in sentence["fills"]]
        checked = " checked" if number == 0 and place == longest else ""
        firsts = "".join(_first(word, fills) for fills in at_moments)
        drawn.append(
            f'{_between(text[behind:start])}<label><input type="radio" name="s{number}"{checked}>'
            f"<b>{escape(word)}</b>{firsts}</label>"
        )
        guesses.append(f"<div>{''.join(map(_list, at_moments))}</div>")
        behind = end
    drawn.append(_between(text[behind:]))
    choice = f'<fieldset class="words"><legend>{number + 1}</legend>{"".join(drawn)}</fieldset>'
    return f'<div class="filled">{choice}<div class="guesses">{"".join(guesses)}</div></div>\n'


def _between(text: str) -> str:
    """What stands between words, as near to them as it stood."""
    if not text.strip():
        return ""
    sides = (("l", not text[0].isspace()), ("r", not text[-1].isspace()))
    near = " ".join(side for side, is_near in sides if is_near)
    return f'<span class="{near}">{escape(text.strip())}</span>'


def _first(word: str, fills: Sequence[tuple[str, float]]) -> str:
    """The likeliest, marked where it is right."""
    if not fills:
        return "<i></i>"
    likeliest = str(fills[0][0])
    right = " class=y" if likeliest.casefold() == word.casefold() else ""
    return f"<i{right}>{escape(likeliest)}</i>"


def _list(fills: Sequence[tuple[str, float]]) -> str:
    rows = (
        f"<li style=--p:{100 * float(p):.1f}>{escape(str(token))} <b>{100 * float(p):.1f} %</b>" for token, p in fills
    )
    return f"<ol>{''.join(rows)}</ol>"
