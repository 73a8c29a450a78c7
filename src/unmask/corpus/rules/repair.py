"""Text that was decoded wrongly on its way here, put right: "itâ€™s" is "it’s".

In: a raw text, before cleaning, because what cleaning takes away (C1 controls, no-break spaces) is the evidence. Out:
the text as ftfy repairs its encoding, line by line and only where a line looks broken; quotes, ligatures, widths and
everything else stay as they are, and so does a text that is not broken, as the same object.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING

from unmask.corpus.rules.edits import TextEdit, replace_stretches
from unmask.records import Mark

if TYPE_CHECKING:
    from ftfy import TextFixerConfig

# A character of UTF-8 that was read byte by byte is two or more characters beyond ASCII side by side, the first of them
# what a byte from 0xC2 to 0xF4 is in western, central European, Cyrillic, Greek, Turkish or DOS code page, or MacRoman
# Of "Ã\xa0", which is à, the no-break space may have become a plain one. ftfy's own check is exact, and slower.
LEAD = (
    "[\u00a0-\u017f\u0192\u02c6-\u02dd\u0380-\u045f\u0490\u0491\u2010-\u203a\u20ac\u2116-\u2122\u2202-\u2265"
    "\u2500-\u25ff\ufb01\ufb02]"
)
# It begins with one set of characters, so that a search runs over those of ASCII without trying each way at each.
SUSPECT = re.compile(f"[^\x00-\x7f](?:(?<={LEAD})[^\x00-\x7f]|(?<=[ÂÃ]) |(?<=[\x80-\x9f\ufffd]))")
ALIGNED = 2_000  # characters of a changed stretch within which marks are moved one by one


def repair_text(text: str, marks: tuple[Mark, ...] = ()) -> tuple[str, tuple[Mark, ...]]:
    """A text with its encoding put right, and its marks moved with it; the same text where nothing is broken.

    >>> repair_text("Itâ€™s the cafÃ© on the left.")[0], repair_text("“Ça va ?”")[0]
    ('It’s the café on the left.', '“Ça va ?”')
    """
    if text.isascii() or SUSPECT.search(text) is None:
        return text, marks
    replacements: list[TextEdit] = []
    start = 0
    for line in text.splitlines(keepends=True):
        if SUSPECT.search(line) and (repaired := _repair_line(line)) != line:
            whole = [TextEdit(start, start + len(line), repaired)]
            replacements += _differences(line, repaired, start) if marks else whole
        start += len(line)
    return replace_stretches(text, marks, replacements) if replacements else (text, marks)


def _repair_line(line: str) -> str:
    from ftfy import fix_encoding
    from ftfy.badness import is_bad

    return fix_encoding(line, config=_config(all(character < "\u0100" for character in line))) if is_bad(line) else line


@cache
def _config(latin: bool) -> TextFixerConfig:
    """Repair the encoding alone; controls from 0x80 on are taken for Windows' punctuation in lines of Latin-1 only."""
    from ftfy import TextFixerConfig

    return TextFixerConfig(
        fix_c1_controls=latin,
        unescape_html=False,
        remove_terminal_escapes=False,
        fix_latin_ligatures=False,
        fix_character_width=False,
        uncurl_quotes=False,
        fix_line_breaks=False,
        fix_surrogates=False,
        remove_control_chars=False,
        normalization=None,
        explain=False,
    )


def _differences(before: str, after: str, offset: int) -> Sequence[TextEdit]:
    """What became what: the stretches between the characters that both have."""
    first = _same(before, after)
    last = _same(before[:first:-1], after[:first:-1])
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    if max(len(old), len(new)) > ALIGNED:
        return [TextEdit(offset + first, offset + first + len(old), new)]
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    place = offset + first
    return [
        TextEdit(place + begin, place + end, new[start:stop])
        for tag, begin, end, start, stop in codes
        if tag != "equal"
    ]


def _same(one: str, other: str) -> int:
    """With how many characters both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
