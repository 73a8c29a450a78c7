"""A docstring to its prose: the English sentences of it, without code, tables, signatures or markup.

    docstring ─LAYOUT─▶ paragraphs ─MARKUP─▶ plain text ─sentences─▶ those that read as English

Reads the three styles in use (NumPy, Google, Sphinx fields) and plain text. What is said of a parameter is
kept when it is a sentence; its name and type are not. When in doubt a sentence is left out: there are plenty.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

Rules = tuple[tuple[re.Pattern[str], str], ...]

SAYING = "note|warning|important|tip|caution|attention|seealso|admonition|hint|danger|versionadded"
SAYING += "|versionchanged|deprecated"
SILENT = "references?|see also|examples?|usage|usage examples?|bibliography|literature|signature|shapes?"
RULE = r"(?:={3,}|-{3,}|~{3,}|\^{3,}|\"{3,}|'{3,}|`{3,}|\#{3,}|\*{3,}|\+{3,})[ \t]*$"
NAME = r"[`*]*[A-Za-z_][\w.*`\[\]]*"
LINE_REST = r"[ \t]*(?=[ \t]\S|$)"  # what follows keeps one space before it: so it is no term, see below
DEEPER = r"(?:\n(?:\1[ \t]+\S.*|[ \t]*$))*"  # the lines that are indented more than the first

# What is not prose goes, and what separates paragraphs becomes a blank line.
LAYOUT: Rules = tuple(
    (re.compile(pattern, re.MULTILINE | flags), replacement)
    for pattern, replacement, flags in (
        (r"^[ \t]*(```|~~~)[\s\S]*?(?:^[ \t]*\1.*$|\Z)", "\n", 0),  # fences
        (r"^[ \t]*(?:>>>|In \[\d+\]:).*(?:\n[ \t]*\S.*)*", "\n", 0),  # doctests, to the next blank line
        (rf"^([ \t]*)\.\. +(?!(?:{SAYING})::).*{DEEPER}", "\n", 0),  # code, figures, formulas, footnotes
        (rf"^[ \t]*\.\. +(?:{SAYING})::[ \t]*[\d.]*", "\n", 0),  # what an admonition says stays
        (rf"^([ \t]*)(\S.*|)::[ \t]*(?=\n[ \t]*$){DEEPER}", r"\1\2:\n", 0),  # literal blocks
        (rf"^[ \t]*(?:{SILENT})[ \t]*\n[ \t]*{RULE}[\s\S]*?(?=^.*\n[ \t]*{RULE}|\Z)", "\n", re.IGNORECASE),
        (rf"^.*\n[ \t]*{RULE}", "\n", 0),  # titles
        (r"^[ \t]*(?:\||\+[-=]|={2,} +=|-{2,} +-|[-=+*~#]{3,}[ \t]*$).*$", "\n", 0),  # tables and rules
        (r"^[ \t]*#+ .*$", "\n", 0),  # titles, in Markdown
        (r"^[ \t]*[A-Z][\w /-]{1,30}:{1,2}[ \t]*$", "\n", 0),  # Args:, Returns:
        (rf"^[ \t]*(?:[-*•+]|\(?\d{{1,2}}[.)]|\(?[a-z][.)]){LINE_REST}", "\n", 0),  # bullets
        (rf"^[ \t]*:\w+(?:[ \t][^:\n]*)?:{LINE_REST}", "\n", 0),  # :param x:
        (r"^[^:\n]*[^:\s] : \S.*$", "\n", 0),  # x : array_like
        (rf"^[ \t]*{NAME}(?:, ?{NAME})*[ \t]*(?:\([^\n]*?\)+)?[ \t]*:{LINE_REST}", "\n", 0),  # x (int): …
        (r"^((?:  +)?)[^\s.][^.\n]{0,50}[^.,;\n]\n(?=\1 +\S)", "\n", 0),  # a term above its definition
    )
)

MARKUP: Rules = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r":[\w:+-]+:`~?!?([^`<]+?)(?:\s*<[^`>]*>)?`", r"\1"),  # :class:`x`, :ref:`text <target>`
        (r"\[`+~?([^`\]]+)`+\](?:\([^)]*\))?", r"\1"),  # [`Model`]
        (r"!?\[([^\]]+)\]\([^)\s]*\)", r"\1"),  # [text](address)
        (r"`([^`<]+?)\s*<[^`>]*>`_*", r"\1"),  # `text <address>`_
        (
            r"\b(?:in|see|by|from|of|to|and|also|with|at|per|is) ?\[[\w*#-]+\]_+",
            " \\\\ ",
        ),  # … as shown in [1]_
        (r"\s?\[[\w*#-]+\]_+", ""),  # … as is known [1]_
        (r"`+([^`]*)`+_{0,2}", r"\1"),  # ``code``, `text`_
        (r"(?<![\w*])(\*{1,2})(?=\S)([^*]+?)(?<=\S)\1(?![\w*])", r"\2"),  # *emphasis*
        (r"</?[A-Za-z][^<>]*>", ""),  # <Tip>
        (r"(?<=\w)\(\)", ""),  # sort()
    )
)

MARKUP_CHARACTERS = frozenset("`*[<(")
SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!cf\.)(?<!vs\.)(?<!etc\.)(?<! al\.)\s+(?=[A-Z(\"'])")
SENTENCE_LINE = re.compile(r"[A-Z0-9(\"'].*[\w)\"'][.!?][\"')]*")
CODE_CHARACTERS = frozenset("\\{}<>=|@#$^~*`[]")
CODE = re.compile(r"://|::|--|__|\.\.\.|\(\)|\w\(|\w/\w.*/|www\.")
IDENTIFIER = re.compile(r"(?:[a-z][A-Z]|_|[a-z]\.[a-z]|/)\S*")
COMMON = frozenset(
    {"the", "a", "an", "of", "to", "in", "is", "are", "be", "and", "or", "for", "with", "that", "this", "it"}
    | {"if", "by", "on", "as", "from", "at", "not", "will", "can", "which", "when", "was", "has", "have"}
    | {
        "should",
        "must",
        "may",
        "you",
        "its",
        "but",
        "than",
        "each",
        "all",
        "no",
        "any",
        "into",
        "we",
        "do",
        "follows",
        "where",
    }
)


def docstring_prose(docstring: str) -> Iterator[str]:
    """The paragraphs of a docstring that are prose, each on one line.

    >>> list(docstring_prose("Add one number to another.\\n\\nArgs:\\n    x (int): The first :class:`int` to add."))
    ['Add one number to another.', 'The first int to add.']
    """
    text = inspect.cleandoc(docstring)
    for pattern, replacement in LAYOUT:
        text = pattern.sub(replacement, text)
    for block in re.split(r"\n[ \t]*\n", text):
        if paragraph := _paragraph(block):
            yield paragraph


def _paragraph(block: str) -> str:
    block = " ".join(block.split())
    if not MARKUP_CHARACTERS.isdisjoint(block):
        for pattern, replacement in MARKUP:
            block = pattern.sub(replacement, block)
    sentences = SENTENCE.split(block)
    # Of what is said of a parameter the beginning is often small and the full stop missing. But a sentence
    # that ends in "is" or "by" went on with a formula.
    sentences[0] = sentences[0][:1].upper() + sentences[0][1:]
    *words, last = sentences[-1].split(" ")
    if len(words) >= 5 and last[-1:].isalnum() and last not in COMMON:
        sentences[-1] += "."
    return " ".join(filter(is_english, sentences))


def is_english(sentence: str) -> bool:
    """Whether it is a whole sentence of plain English words.

    >>> is_english("This is the first of them."), is_english("x = f(y)"), is_english("Les chats dorment bien.")
    (True, False, False)
    """
    if not CODE_CHARACTERS.isdisjoint(sentence) or not SENTENCE_LINE.fullmatch(sentence) or CODE.search(sentence):
        return False
    words = sentence.split()
    common = sum(word.lower() in COMMON for word in words)
    identifiers = len(IDENTIFIER.findall(sentence))
    return len(words) >= 3 and common >= 0.12 * len(words) and identifiers <= 0.2 * len(words)
