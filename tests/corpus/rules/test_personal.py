from __future__ import annotations

import time

import pytest

from unmask.corpus.rules.edits import replace_stretches
from unmask.corpus.rules.personal import personal_stretches


def masked(text: str) -> str:
    return replace_stretches(text, (), personal_stretches(text))[0]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("Write to jane.roe+news@mail.company.co.uk.", "Write to name@example.com."),
        ("<jane@company.org>, (joe@b-c.de)", "<name@example.com>, (name@example.com)"),
        ("联系jane@company.org吧", "联系name@example.com吧"),
        ("Ping 8.8.8.8, 2001:4860:4860::8888.", "Ping 192.0.2.1, 2001:db8::1."),
        ("At 127.0.0.1, 10.1.2.3, 192.168.0.7 and ::1", "At 127.0.0.1, 10.1.2.3, 192.168.0.7 and ::1"),
        ("In 1.2.3.4.5, 300.1.1.1, at 12:30:45, ratio 1:2:3", "In 1.2.3.4.5, 300.1.1.1, at 12:30:45, ratio 1:2:3"),
        ("std::vector<int>, @home, a@b, +49 30 1234567", "std::vector<int>, @home, a@b, +49 30 1234567"),
        ("8.8.8.8@company.org", "name@example.com"),
    ],
)
def test_emails_and_public_addresses_are_masked_and_nothing_else(text: str, after: str) -> None:
    assert masked(text) == after
    assert masked(after) == after


@pytest.mark.parametrize("unit", ["a", "a.", "1.", "1:", "a@", "@a.", "a@a."])
def test_a_line_without_spaces_takes_no_longer_than_others(unit: str) -> None:
    start = time.process_time()
    personal_stretches(unit * (200_000 // len(unit)))
    assert time.process_time() - start < 2
