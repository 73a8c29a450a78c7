"""The options of a verb are those of its help."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import unmask
from unmask.verbs.commands import COMMANDS
from unmask.verbs.options import options_of

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_in_the_help_with_what_it_takes_and_what_it_is_for(
    name: str, inside: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    said = " ".join(inside(name, "--help").stdout.replace("│", " ").split())
    for option in options_of(COMMANDS[name]):
        assert option.purpose and option.purpose in said
        label = option.flag if option.several else option.label
        assert (", ".join(option.flags) if option.kind is bool else label) in said or option.positional


def test_options_are_read_from_the_signature() -> None:
    options = {option.name: option for option in options_of(unmask.fill)}
    own = ["model", "texts", "top", "targets", "pieces", "explain", "step", "on_long"]
    assert [*options] == [*own, "field", "out", "device", "precision", "revision", "json"]
    assert (options["model"].kind, options["model"].required, options["model"].positional) == (Path, True, True)
    assert (options["texts"].several, options["texts"].required) == (True, False)
    assert (options["top"].kind, options["top"].default, options["top"].flags) == (int, 5, ("--top",))
    assert (options["targets"].kind, options["targets"].several) == (str, True)
    rates = next(option for option in options_of(unmask.tune) if option.name == "lr")
    assert rates.kind is str  # a number, or several
    cased = next(option for option in options_of(unmask.prepare) if option.name == "cased")
    assert cased.flags == ("--cased", "--no-cased")
