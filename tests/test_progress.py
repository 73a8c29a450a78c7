import io
import time

import pytest
from rich.console import Console

from unmask import progress
from unmask.progress import say, show_progress, task


def test_nothing_is_printed_for_a_library_call(capsys) -> None:  # type: ignore[no-untyped-def]
    with task("Work", total=3) as step:
        step(1, note="so far")
    say("something")
    assert capsys.readouterr() == ("", "")


def test_a_log_has_a_line_now_and_then_and_one_at_the_end(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(progress, "NOW_AND_THEN", 0.0)
    monkeypatch.setattr(progress, "SHORT", 0.0)
    page = io.StringIO()
    with show_progress(Console(file=page, width=80)), task("Work", total=4) as step:
        step(1, note="one")
        step(1, note="two")
    assert page.getvalue() == "Work 25% one\nWork 50% two\n✓ Work 0 s  two\n"


def test_a_terminal_has_a_bar_with_its_note() -> None:
    page = io.StringIO()
    with show_progress(Console(file=page, width=80, force_terminal=True)), task("Work", total=2) as step:
        step(1, note="half of it")
        step(total=8)
        last = time.monotonic() + 30
        while "half of it" not in page.getvalue() and time.monotonic() < last:  # it is drawn ten times a second
            time.sleep(0.02)
    text = page.getvalue()
    assert all(part in text for part in ("Work", "half of it", "12%", "━"))


def test_a_terminal_shows_that_something_goes_on_before_the_first_work_says_so() -> None:
    page = io.StringIO()
    with show_progress(Console(file=page, width=80, force_terminal=True)):
        time.sleep(0.3)  # as while libraries load
        before = page.getvalue()
        with task("Work", total=2) as step:
            step(1)
            time.sleep(0.3)
    assert "Starting" in before and "Work" not in before
    after = page.getvalue()
    assert after.rindex("Starting") < after.index("Work")


def test_work_that_fails_leaves_no_line_that_says_it_is_done(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(progress, "SHORT", 0.0)
    page = io.StringIO()
    with pytest.raises(ZeroDivisionError), show_progress(Console(file=page, width=80)), task("Work", total=2) as step:
        step(1, note="half of it")
        raise ZeroDivisionError
    assert "✓" not in page.getvalue()


def test_work_inside_other_work_leaves_no_line_behind(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(progress, "SHORT", 0.0)
    page = io.StringIO()
    with show_progress(Console(file=page, width=80)):
        with task("Reading"):
            for _ in range(3):
                with task("Scoring"):
                    pass
        with task("Writing"):
            pass
    assert page.getvalue() == "✓ Reading 0 s  \n✓ Writing 0 s  \n"
