"""Sizes, times and shares as people say them, for tables, pages and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from unmask.results import Figure

BAR = 24  # cells of a bar for a probability of one
EIGHTHS = " ▏▎▍▌▋▊▉█"


def format_bar(share: float, width: int = BAR) -> str:
    """A bar for a part of one, to an eighth of a cell.

    >>> format_bar(0.5, width=4), format_bar(0.28, width=4), format_bar(0.0)
    ('██', '█▏', '')
    """
    eighths = round(share * width * 8)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).strip()


def format_probability(probability: float) -> str:
    """A probability in percent; one too small for that in powers of ten, so that it is not taken for none.

    >>> format_probability(0.25), format_probability(0.0005), format_probability(0.00022), format_probability(0.0)
    ('25.0%', '0.1%', '2.2e-4', '0.0%')
    """
    if 0 < probability < 0.0005:
        digits, exponent = f"{probability:.1e}".split("e")
        return f"{digits}e{int(exponent)}"
    return f"{probability:.1%}"


def format_bytes(count: int) -> str:
    """Bytes as people say them.

    >>> format_bytes(999), format_bytes(12_345_678)
    ('999 B', '12.3 MB')
    """
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < (1000 if unit == "B" else 999.95):  # what is rounded to a thousand is one of the next
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def format_duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> format_duration(4.23), format_duration(312), format_duration(7500)
    ('4.2 s', '5 min 12 s', '2 h 5 min')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, remainder = divmod(round(seconds), 60)
    return f"{minutes} min {remainder} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def format_count(count: float) -> str:
    """A count in few characters.

    >>> format_count(999), format_count(4096), format_count(1_874_586), format_count(3.2e9)
    ('999', '4.1 k', '1.9 M', '3.2 G')
    """
    amount, unit = float(count), ""
    for larger in ("k", "M", "G", "T", "P", "E", "Z", "Y"):
        if amount < 999.5:
            break
        amount, unit = amount / 1000, f" {larger}"
    return f"{amount:.1f}{unit}" if unit else f"{amount:.0f}"


def format_age(seconds: float) -> str:
    """How long something is ago, to one unit.

    >>> format_age(12.3), format_age(150), format_age(7500), format_age(300_000)
    ('12 s', '2 min', '2 h', '3 d')
    """
    for unit, length, smaller in (("d", 86_400, 3_600), ("h", 3_600, 60), ("min", 60, 1)):
        if round(seconds / smaller) * smaller >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def spell_counts(counts: Mapping[str, int], most: int = 8) -> str:
    """Counts in one line, the largest first; beyond the first few, how many are left.

    >>> spell_counts({".pdf": 3, "no suffix": 1, ".bin": 12}), spell_counts({"a": 3, "b": 2, "c": 1}, most=2)
    ('.bin 12, .pdf 3, no suffix 1', 'a 3, and 3 others')
    """
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ranked if len(ranked) <= most else ranked[: most - 1]
    words = [f"{name} {count:,}" for name, count in shown]
    if others := sum(count for _, count in ranked[len(shown) :]):
        words.append(f"and {others:,} others")
    return ", ".join(words)


def with_interval(figure: Figure, form: str) -> tuple[str, str]:
    """A figure and its interval; one document alone tells no interval.

    >>> with_interval(Figure(0.25, 0.2, 0.3), ".1%"), with_interval(Figure(4.5, float("nan"), float("nan")), ".2f")
    (('25.0%', '20.0% – 30.0%'), ('4.50', 'unknown'))
    """
    bounded = isfinite(figure.low) and isfinite(figure.high)
    return f"{figure.value:{form}}", f"{figure.low:{form}} – {figure.high:{form}}" if bounded else "unknown"


def quoted(text: str) -> str:
    """A text as a message names it.

    >>> print(quoted("short"), quoted("long" * 20))
    'short' 'longlonglonglonglonglonglonglonglonglong'…
    """
    return f"{text[:40]!r}…" if len(text) > 40 else repr(text)
