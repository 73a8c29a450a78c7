"""Emails and public addresses of machines, masked: what stands for them names nobody.

    jane.roe@company.org    name@example.com     a domain that is kept free for examples (RFC 2606)
    8.8.8.8                 192.0.2.1            an address that is kept free for documentation (RFC 5737)
    2001:4860:4860::8888    2001:db8::1          the same of the sixth version (RFC 3849)

Addresses of private networks name nobody and stay. Telephone numbers stay too: what looks like one mostly is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address, ip_network

from unmask.corpus.rules.edits import TextEdit

# Each part is bounded as in RFC 5321, so that a line without a space takes no longer than others.
EMAIL = re.compile(
    r"(?<![\w%+-])[A-Za-z0-9][\w.%+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])", re.ASCII
)
FREE = ("example.com", "example.org", "example.net")
V4 = r"\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)"
V6 = r"[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])"
ADDRESS = re.compile(rf"(?<![\w.:])(?:{V4}|{V6})", re.ASCII)  # a word of another script may stand beside it
UNICAST = ip_network("2000::/3")  # what is given to machines; a::b is more likely something else
SIGNS = re.compile(r"@|\d\.\d{1,3}\.\d|:[0-9A-Fa-f]{0,4}:")  # without one of these there is nothing to mask


def personal_stretches(text: str) -> list[TextEdit]:
    """Where emails and public addresses are, with what stands for them.

    >>> [text for *_, text in personal_stretches("Ask jane@company.org at 8.8.8.8, not at 10.0.0.1.")]
    ['name@example.com', '192.0.2.1']
    """
    if SIGNS.search(text) is None:
        return []
    emails = [*_emails(text)]
    taken = {place for start, end, _ in emails for place in range(start, end)}
    return sorted([*emails, *(address for address in _addresses(text) if address.start not in taken)])


def _emails(text: str) -> Iterator[TextEdit]:
    if "@" in text:
        for match in EMAIL.finditer(text):
            if not match[0].lower().endswith(FREE):
                yield TextEdit(*match.span(), "name@example.com")


def _addresses(text: str) -> Iterator[TextEdit]:
    for match in ADDRESS.finditer(text):
        try:
            address = ip_address(match[0])
        except ValueError:  # 300.1.1.1, a time of day, a ratio
            continue
        if address.is_global and (address.version == 4 or address in UNICAST):
            yield TextEdit(*match.span(), "192.0.2.1" if address.version == 4 else "2001:db8::1")
