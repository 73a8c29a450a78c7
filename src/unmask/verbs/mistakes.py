"""What is wrong with the words of a command, in one line that names the option, the word and what would do.

In: a verb and the words after it. Out: an error of its kind. A command or an option that is unknown, missing or one too
many is a wrong usage; a value that an option cannot take is bad input. tyro reads the words; this explains why it could
not, and refuses what tyro reads and no command can use: numbers that are not finite, several values of which none came.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import Any

from unmask.errors import BadInput, UnmaskError, did_you_mean, nearest_name
from unmask.verbs.commands import COMMANDS, MEANT, NEEDLESS
from unmask.verbs.options import Option, options_of, takes

RENAMED = {
    "--rows": "--batch-size",
    "--micro": "--micro-batch",
    "--checkpointing": "--recompute",
    "--classify": "--probe-texts",
    "--tag": "--probe-tags",
    "show --model": 'the first word: unmask show DATA_OR_MODEL "A text."',
}


class WrongUsage(UnmaskError):
    """A command or an option is unknown, missing or too many; it is said where words are read, and nowhere else."""

    code = 2


def unknown_command(name: str) -> WrongUsage:
    """Why there is no such command, and which was probably meant."""
    if not name:
        problem = "no command given"
    elif name.startswith("-"):
        problem = f"unknown command {name!r}: options come after a command"
    elif near := did_you_mean(name, COMMANDS, MEANT):
        return WrongUsage(f"unknown command {name!r}: {near} (unmask --help explains all)")
    elif name in NEEDLESS:
        problem = f"unknown command {name!r}, and none is needed: {NEEDLESS[name]};"
        return WrongUsage(f"{problem} else choose one of {', '.join(COMMANDS)} (unmask --help explains them)")
    else:
        problem = f"unknown command {name!r}"
    return WrongUsage(f"{problem}: choose one of {', '.join(COMMANDS)} (unmask --help explains them)")


def find_mistake(verb: Callable[..., Any], words: Sequence[str]) -> UnmaskError | None:
    """The first thing that is wrong with the words of a command, if something is."""
    return next(_mistakes(verb, words), None)


def _mistakes(verb: Callable[..., Any], words: Sequence[str]) -> Iterator[UnmaskError]:
    """All of it, in the order of the words; what is missing comes last, for a misspelt option is missing too."""
    flags = {flag: option for option in options_of(verb) for flag in option.flags}
    end = words.index("--") if "--" in words else len(words)
    given: set[str] = set()
    positions, rest = 0, [*words[:end]]
    switch, apart = None, False  # the flag just before, where it takes no value; whether an option came in between
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            positions += 1
            yield from _without_place(verb, word, positions, switch, apart)
            apart = False
            continue
        apart = True
        flag, has_value, value = word.partition("=")
        option = flags.get(flag.replace("_", "-"))
        if option is None:
            yield _unknown_flag(verb, flag.replace("_", "-"), flags)
            continue
        given.add(option.name)
        switch = option if option.kind is bool else None
        if switch is None:
            yield from _wrong_values(option, [value] if has_value else _take_values(rest, option, flags))
        elif has_value:
            yield _needless_value(word, value, switch)
    yield from _missing(options_of(verb), given, positions + len(words[end + 1 :]))


def _wrong_values(option: Option, values: list[str]) -> Iterator[UnmaskError]:
    """Whether something was given for an option, and what of it will not do."""
    if not any(values) and not option.alone:
        yield WrongUsage(f"{option.flag} needs a value: {takes(option)}")
    yield from (mistake for value in values if value and (mistake := wrong_value(option, value)))


def _take_values(rest: list[str], option: Option, flags: dict[str, Option]) -> list[str]:
    """The words that belong to an option, taken away from the rest: up to the next flag."""
    values: list[str] = []
    while rest and rest[0].partition("=")[0].replace("_", "-") not in flags and (option.several or not values):
        values.append(rest.pop(0))
    return values


def wrong_value(option: Option, value: str) -> BadInput | None:
    """Why a value will not do for an option; none if it will."""
    name = option.name.upper() if option.positional else option.flag
    if option.choices and value not in option.choices:
        near = did_you_mean(value, option.choices)
        return BadInput(f"{name} {value}: give {takes(option)}{near and f'; {near}'}")
    if option.kind in (int, float):
        try:
            number = option.kind(value)
        except ValueError:
            return BadInput(f"{name} {value}: give {takes(option)}{_as_whole_number(option, value)}")
        if not isfinite(number):
            return BadInput(f"{name} {value}: give a number that is finite")
    return None


def empty_word(words: Sequence[str]) -> str:
    """Which of the words is empty."""
    before = words[words.index("") - 1] if words[0] else ""
    name = f"{before} is empty" if before.startswith("--") else "an argument is empty"
    return f"{name}: a variable that is not set?"


def _as_whole_number(option: Option, value: str) -> str:
    """The whole number that somebody meant who wrote 1e6, 1,000 or 5.0."""
    try:
        number = float(re.sub(r",(?=\d{3}\b)", "", value))
    except ValueError:
        return ""
    whole = option.kind is int and isfinite(number) and number.is_integer()
    return f": {option.flag} {int(number)}" if whole else ""


def _unknown_flag(verb: Callable[..., Any], flag: str, flags: dict[str, Option]) -> WrongUsage:
    """Why there is no such option, and which was probably meant."""
    if now := RENAMED.get(flag, RENAMED.get(f"{verb.__name__} {flag}")):
        return WrongUsage(f"{flag} is now {now}")
    switch = flags.get(f"--{flag.removeprefix('--no-')}")
    if flag.startswith("--no-") and switch is not None:
        return WrongUsage(f"{flag}: there is no such option; leave {switch.flag} out")
    near = nearest_name(flag[2:], [each[2:] for each in flags])
    return WrongUsage(f"{flag}: there is no such option{f'; did you mean --{near}?' if near else ''}")


def _without_place(
    verb: Callable[..., Any], word: str, positions: int, switch: Option | None, apart: bool
) -> Iterator[UnmaskError]:
    """Whether a word is wrong at its place, or one too many: meant for a flag before it that takes none, perhaps."""
    places = [option for option in options_of(verb) if option.positional]
    several = bool(places) and places[-1].several
    if positions <= len(places) or (several and not apart):
        mistake = wrong_value(places[min(positions, len(places)) - 1], word)
        yield from [mistake] if mistake else []
        return
    if re.match(r"-[A-Za-z]", word):
        yield WrongUsage(f"{word}: there is no such option")
    elif switch is not None:
        yield _needless_value(f"{switch.flag} {word}", word, switch)
    elif several:
        yield WrongUsage(f"{word}: stands apart; give all {places[-1].label} together, before the options or after")
    else:
        taken = " ".join(option.label for option in places) or "options only"
        yield WrongUsage(f"{word}: is one word too many: unmask {verb.__name__} takes {taken}")


def _needless_value(given: str, value: str, switch: Option) -> WrongUsage:
    """What to do about a value for a flag that takes none."""
    off = f", or give {switch.flags[1]}" if len(switch.flags) > 1 else ""
    return WrongUsage(f"{given}: {switch.flag} takes no value; leave {value} out{off}")


def _missing(options: Sequence[Option], given: set[str], places: int) -> Iterator[UnmaskError]:
    """What a command cannot do without, and was not given."""
    positional = [option for option in options if option.positional]
    missing = [option for option in positional[places:] if option.required]
    missing += [option for option in options if option.required and not option.positional and option.name not in given]
    if len(missing) == 1:
        purpose = missing[0].purpose.rstrip(".")
        yield WrongUsage(f"{missing[0].label} is missing: {purpose[:1].lower()}{purpose[1:]}")
    elif missing:
        yield WrongUsage(f"{' and '.join(option.label for option in missing)} are missing")
