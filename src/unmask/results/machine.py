"""What this machine has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class LibraryStatus:
    """A library that unmask needs, as it is installed."""

    name: str
    version: str | None  # none if it is not there
    wanted: str  # as pip takes it: torch>=2.9
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class ExtraStatus:
    """An extra: what it brings, and what is missing of it."""

    name: str
    brings: str
    missing: tuple[str, ...]  # requirements
    command: str  # that installs what is missing


@dataclass(frozen=True, kw_only=True)
class GpuStatus:
    """A GPU that torch finds."""

    name: str
    memory: int | None  # bytes; none where it shares the machine's


@dataclass(frozen=True, kw_only=True)
class Examined:
    """This machine, what is in the way of working on it, and what to do."""

    python: str
    unmask: str
    system: str
    libraries: tuple[LibraryStatus, ...]
    cores: int
    threads: int | None  # that torch computes with; none if it does not load
    memory: int  # bytes
    memory_free: int | None  # none where the system does not say
    folder: Path
    disk_free: int  # bytes
    gpus: tuple[GpuStatus, ...]
    speeds: dict[str, float]  # of matrix products on the processor, operations a second by precision
    extras: tuple[ExtraStatus, ...]
    problems: tuple[str, ...] = ()  # each with its remedy
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CompletionScript:
    """What a shell sources to complete commands."""

    shell: str
    script: str
