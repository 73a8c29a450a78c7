"""The readers of Markdown and HTML: the prose of a page, a paragraph per line, one document a file.

Markdown becomes HTML first and then goes the same way. Block elements are paragraphs; code blocks, scripts,
styles, forms and navigation are left out, inline code stays where it stands in its sentence.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import lxml.etree
import lxml.html
from markdown_it import MarkdownIt

from unmask.corpus.read.encodings import declared_encoding, not_decoded
from unmask.corpus.read.find import MAIN, TextSource
from unmask.corpus.read.formats import ROW, Malformed, Record, Unextracted, cut_long_text

LEFT_OUT = {"head", "script", "style", "noscript", "template", "nav", "footer", "aside", "form", "button"}
LEFT_OUT |= {"select", "textarea", "pre", "iframe", "object", "svg", "math", "canvas", "audio", "video"}
LEFT_OUT_ROLES = {"navigation", "banner", "contentinfo", "search", "menu", "menubar", "toolbar"}
INLINE = {
    "a",
    "abbr",
    "acronym",
    "b",
    "bdi",
    "bdo",
    "big",
    "cite",
    "code",
    "data",
    "del",
    "dfn",
    "em",
    "font",
}
INLINE |= {"i", "img", "ins", "kbd", "label", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span"}
INLINE |= {"strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"}
SPACED = {"br", "td", "th"}  # they end a word, not a paragraph

END = "\0"  # no page holds this character
FRONT_MATTER = re.compile(r"\A---\n.*?\n(?:---|\.\.\.)\n", re.DOTALL)


def read_html(content: io.BufferedReader, source: TextSource, field: str) -> Iterator[Record]:
    """One page."""
    return _page(content, source, markdown=False)


def read_markdown(content: io.BufferedReader, source: TextSource, field: str) -> Iterator[Record]:
    """One page of CommonMark, tables included, front matter not."""
    return _page(content, source, markdown=True)


def _page(content: io.BufferedReader, source: TextSource, markdown: bool) -> Iterator[Record]:
    data = content.read(ROW + 1)
    if len(data) > ROW:
        yield Malformed(source.name, 0, f"a page of more than {ROW >> 20} MB")
        return
    yield from page_documents(data, source, markdown=markdown)


def page_documents(
    data: bytes, source: TextSource, *, line: int = 1, charset: str | None = None, markdown: bool = False
) -> Iterator[Record]:
    """The prose of a page, at a line of its source; `charset` is the encoding that its server said."""
    try:
        page = _decode(data, charset)
        if source.html == MAIN and not markdown:
            from unmask.corpus.read.main_text import main_text  # which needs the paragraphs of here

            yield from cut_long_text(main_text(page), source.name, line)
            return
        if markdown:
            page = FRONT_MATTER.sub("", page.replace("\r\n", "\n"))
            page = MarkdownIt("commonmark").enable("table").render(page)
        yield from cut_long_text("\n".join(paragraphs(page)), source.name, line)
    except UnicodeDecodeError as error:
        yield Malformed(source.name, line, not_decoded(error, source.encoding))
    except (LookupError, RecursionError, Unextracted) as error:
        yield Malformed(source.name, line, f"not readable as a page ({error})")


def _decode(data: bytes, charset: str | None) -> str:
    """UTF-8, or else the encoding that the server said or the page itself declares."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        if (encoding := charset or declared_encoding(data)) is None:
            raise
        return data.decode(encoding)


def paragraphs(page: str, rows_in_line: bool = False) -> Iterator[str]:
    """The paragraphs of an HTML page, each on one line; `rows_in_line` joins those in the cells of a table's row.

    >>> list(paragraphs("<h1>Cats</h1><nav>Home</nav><p>They <b>sleep</b> a lot.<pre>nap()</pre>Yes<br>sir"))
    ['Cats', 'They sleep a lot.', 'Yes sir']
    """
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        root = lxml.html.document_fromstring(page.encode(), parser=parser, ensure_head_body=True)
    except lxml.etree.ParserError:  # its way to say that there is no element
        return
    for block in "".join(_page_texts(root, rows_in_line)).split(END):
        if paragraph := " ".join(block.split()):
            yield paragraph


def _page_texts(root: lxml.html.HtmlElement, rows_in_line: bool) -> Iterator[str]:
    """Text in reading order, with END where a paragraph begins or ends."""
    walk = lxml.etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        in_cell = rows_in_line and element.tag == "p" and element.getparent().tag in ("td", "th")
        yield "" if element.tag in INLINE else " " if element.tag in SPACED or in_cell else END
        if event == "end":
            yield element.tail or ""
        elif _left_out(element):
            walk.skip_subtree()
        else:
            yield element.text or ""


def _left_out(element: lxml.html.HtmlElement) -> bool:
    return (
        element.tag in LEFT_OUT
        or element.get("role") in LEFT_OUT_ROLES
        or element.get("aria-hidden") == "true"
        or "hidden" in element.attrib
    )
