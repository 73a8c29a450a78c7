"""Raw text to clean text: Unicode NFC, no control characters, one kind of space, a paragraph per line.

The patterns run in Arrow's kernels over whole columns, so other threads go on meanwhile. The laws: cleaning
twice is cleaning once; no letter is lost; what comes out has no control character but the newline, no line
that is empty and no space at the edge of a line.
"""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pyarrow.compute as pc

# (pattern, what stands for it), applied in order. The line ends are those of Unicode (UAX 14), CR LF one of
# them; controls are category Cc and the byte order mark; spaces are category Zs and the tab.
RULES: tuple[tuple[str, str], ...] = (
    (r"\r\n|[\r\v\f\x1c-\x1e\x{85}\x{2028}\x{2029}]", "\n"),
    (r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x{9f}\x{feff}]+", ""),
    (r"[\t\x{a0}\x{1680}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}]", " "),
    (r"  +", " "),
    (r" ?\n[ \n]*", "\n"),
    (r"^[ \n]+|[ \n]+$", ""),
)
# What none of the rules would change does not have any of this: one look instead of six.
UNCLEAN = (
    r"[\x00-\x09\x0b-\x1f\x7f-\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]"
    + (r"|  | \n|\n[ \n]|^[ \n]|[ \n]$")
)


def clean_texts(text: pa.Array) -> pa.Array:
    r"""The texts, clean.

    >>> clean_texts(pa.array(["\ufeffNai\u0308ve \t café\r\n\n  second\x00 line \n"])).to_pylist()
    ['Naïve café\nsecond line']
    """
    unclean = pc.match_substring_regex(text, UNCLEAN)
    some = text.filter(unclean)
    for pattern, replacement in RULES:
        some = pc.replace_substring_regex(some, pattern=pattern, replacement=replacement)
    text = pc.replace_with_mask(text, unclean, some)
    # Last, because a control character between a letter and its accent keeps the two apart. Arrow's own
    # utf8_normalize decomposes where it should compose (apache/arrow#51225) and is twenty times slower.
    lines = [unicodedata.normalize("NFC", line) for line in text.to_pylist()]
    return pa.array(lines, type=text.type)
