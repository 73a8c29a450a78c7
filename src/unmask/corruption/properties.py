"""What the three functions of a policy say of themselves, so that nobody has to know a policy by its name.

In: functions. Out: the same, with what they declare; a policy is the sum of its three (`records.PolicyProperties`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from unmask.records import PolicyProperties

Function = TypeVar("Function", bound=Callable[..., Any])
NAMES = frozenset(field.name for field in fields(PolicyProperties))


def declares(**properties: bool) -> Callable[[Function], Function]:
    """Say of a function of a policy what differs from the defaults of `PolicyProperties`.

    >>> @declares(needs_words=False)
    ... def bytes_of_a_page(blocks, vocabulary, draws): ...
    >>> properties_of(bytes_of_a_page).needs_words
    False
    """
    if unknown := properties.keys() - NAMES:
        raise TypeError(f"no policy has the property {min(unknown)!r}: there are {', '.join(sorted(NAMES))}")

    def declare(function: Function) -> Function:
        function.properties = properties  # type: ignore[attr-defined]
        return function

    return declare


def properties_of(*functions: Callable[..., object]) -> PolicyProperties:
    """What functions declare together."""
    flags: dict[str, bool] = {}
    for function in functions:
        flags |= getattr(function, "properties", {})
    return PolicyProperties(**flags)
