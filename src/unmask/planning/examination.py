"""This machine examined: what is installed, how fast it is, what is in the way and what follows.

In: a folder. Out: `Examined`. Libraries are loaded and products are tried in a process of their own, trial by trial: a
library that is broken, or that ends the process it is loaded into, is reported and the other trials go on.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from unmask.errors import BadInput
from unmask.quantities import format_bytes
from unmask.results import Examined, ExtraStatus, GpuStatus, LibraryStatus
from unmask.system_memory import memory_bytes

NAME = "unmask"
LITTLE_DISK = 2_000_000_000  # bytes: a run of mini with its checkpoints and reports takes a tenth of it, a corpus more
LITTLE_MEMORY = 1_000_000_000  # bytes that are free: a step of mini takes about so much with torch itself
SECONDS = 180  # for all trials; loading torch from a slow disk takes one of them
PRODUCTS = ("float32", "bfloat16", "float16")
SIDE = 512  # of the matrices: one product of 1024 in float16 takes 15 s on a busy processor without units for it
PRODUCT_SECONDS = 1.0  # for each precision: one that the processor does not know can be a hundred times slower
FASTER, SLOWER = 1.5, 0.67  # than float32, from which on it is worth saying: the rest of a step gains nothing
BRINGS = {
    "dev": "everything that the tests need",
    "faiss": "index --faiss: near vectors are found without looking at all of them",
    "lora": "tune --lora: small matrices are learnt beside those of a large model",
    "html": "prepare --html main",
    "office": "prepare reads PDF and docx",
    "onnx": "export --to onnx and int8: models that run without torch",
    "ray": "prepare --engine ray: the machines of a cluster read a corpus",
    "spacy": "prepare --spacy: entities and noun chunks are marked, to be hidden whole",
    "tensorboard": "pretrain --tensorboard: a run's figures for TensorBoard",
    "web": "serve: models and runs in a browser, and behind HTTP",
}
MODULES = {
    "scikit-learn": "sklearn",
    "markdown-it-py": "markdown_it",
    "pytrec-eval-terrier": "pytrec_eval",
}  # that are not called like their distribution


def examine(folder: Path) -> Examined:
    """Look at everything; a folder that is not there is the only thing that ends it."""
    if not folder.is_dir():
        raise BadInput(f"{folder}: is not a directory; name the folder to work in")
    wanted = requirements()
    libraries = {name: _library(name, line) for name, line in wanted[""].items()}
    trials = [name for name, library in libraries.items() if library.version is not None]
    outcomes = try_in_processes([*(f"import {name}" for name in trials), "machine", *PRODUCTS])
    for name in trials:
        if error := outcomes[f"import {name}"].get("error"):
            libraries[name] = LibraryStatus(**{**vars(libraries[name]), "problem": f"cannot be loaded: {error}"})
    machine = outcomes["machine"]
    speeds = {name: outcomes[name]["speed"] for name in PRODUCTS if "speed" in outcomes[name]}
    memory, memory_free = memory_bytes(), _free_memory()
    examined = Examined(
        python=platform.python_version(),
        unmask=metadata.version(NAME),
        system=f"{platform.system()} {platform.release()}, {platform.machine()}",
        libraries=tuple(libraries.values()),
        cores=_cores(),
        threads=machine.get("threads"),
        memory=memory,
        memory_free=memory_free,
        folder=folder,
        disk_free=shutil.disk_usage(folder).free,
        gpus=tuple(GpuStatus(**gpu) for gpu in machine.get("gpus", ())),
        speeds=speeds,
        extras=tuple(_extra(name, lines) for name, lines in wanted.items() if name),
    )
    return Examined(
        **{**vars(examined), "problems": tuple(_problems(examined)), "advice": tuple(_advice(examined, machine))}
    )


def requirements() -> dict[str, dict[str, str]]:
    """What the installed package asks for, by extra ("" is always): distributions, each with its requirement."""
    from packaging.requirements import Requirement

    lines = [Requirement(line) for line in metadata.requires(NAME) or ()]
    extras = sorted(metadata.metadata(NAME).get_all("Provides-Extra") or ())
    wanted: dict[str, dict[str, str]] = {
        "": {line.name: f"{line.name}{line.specifier}" for line in lines if not line.marker}
    }
    for extra in extras:
        fitting = [line for line in lines if line.marker and line.marker.evaluate({"extra": extra})]
        wanted[extra] = {line.name: f"{line.name}{line.specifier}" for line in fitting}
    return wanted


def _library(name: str, line: str) -> LibraryStatus:
    """A distribution as it is installed, and whether it is as new as it has to be."""
    from packaging.requirements import Requirement

    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return LibraryStatus(name=name, version=None, wanted=line, problem="is not installed")
    fits = Requirement(line).specifier.contains(version, prereleases=True)
    return LibraryStatus(name=name, version=version, wanted=line, problem="" if fits else f"{version} is not {line}")


def _extra(name: str, wanted: Mapping[str, str]) -> ExtraStatus:
    missing = tuple(line for each, line in wanted.items() if _library(each, line).problem)
    return ExtraStatus(
        name=name,
        brings=BRINGS.get(name, ""),
        missing=missing,
        command=f"pip install '{NAME}[{name}]'" if missing else "",
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _free_memory() -> int | None:
    """Bytes that are free, where the system says so."""
    try:
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines())
        return min(int(lines["MemAvailable"].split()[0]) * 1024, memory_bytes())  # a host's may be more than there is
    except (OSError, KeyError, ValueError):  # no Linux
        return None


# trials, in a process of their own


def try_in_processes(trials: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The outcome of each trial; one that ends its process has that for an outcome, and the next process goes on."""
    outcomes: dict[str, dict[str, Any]] = {}
    waiting = [*trials]
    while waiting:
        command = [sys.executable, "-W", "ignore", "-m", __name__, *waiting]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
            output, end = done.stdout, _ending(done.returncode)
        except subprocess.TimeoutExpired as error:
            output, end = error.stdout or b"", f"takes more than {SECONDS} s"
        for line in output.decode(errors="replace").splitlines():
            if line.startswith('{"trial": '):
                outcome = json.loads(line)
                outcomes[outcome.pop("trial")] = outcome
        waiting = [trial for trial in waiting if trial not in outcomes]
        if waiting:
            outcomes[waiting.pop(0)] = {"error": end}
    return outcomes


def _ending(code: int) -> str:
    return f"ends its process ({signal.Signals(-code).name})" if code < 0 else f"ends its process (exit code {code})"


def _try(trial: str) -> dict[str, Any]:
    """Do one trial."""
    if trial.startswith("import "):
        name = trial.removeprefix("import ")
        import_module(MODULES.get(name, name.replace("-", "_")))
        return {}
    if trial == "machine":
        return _see_machine()
    from unmask.training.machine.fastest import product_speed

    return {"speed": product_speed(trial, seconds=PRODUCT_SECONDS, side=SIDE)}


def _see_machine() -> dict[str, Any]:
    """What torch sees; the processor is tried before the first product, for then it is too late."""
    import torch

    from unmask.training.machine.processor import half_precision_works

    gpus = [
        {"name": torch.cuda.get_device_name(number), "memory": torch.cuda.get_device_properties(number).total_memory}
        for number in range(torch.cuda.device_count())
    ]
    if torch.backends.mps.is_available():
        gpus.append({"name": "Apple GPU (mps)", "memory": None})
    return {"threads": torch.get_num_threads(), "gpus": gpus, "matrix_unit_works": half_precision_works()}


# what follows


def _problems(examined: Examined) -> Iterable[str]:
    """What cannot work, and its remedy."""
    for library in examined.libraries:
        if library.problem:
            again = "--force-reinstall " if "loaded" in library.problem else ""
            yield f"{library.name} {library.problem}: pip install {again}'{library.wanted}'"
    if not os.access(examined.folder, os.W_OK):
        yield f"{examined.folder} cannot be written: work in another folder, or change its permissions"
    if examined.disk_free < LITTLE_DISK:
        yield f"the disk of {examined.folder} has {format_bytes(examined.disk_free)} left: make room, or work elsewhere"
    if examined.memory_free is not None and examined.memory_free < LITTLE_MEMORY:
        yield f"{format_bytes(examined.memory_free)} of memory are free: end something, or train --recipe tiny"


def _advice(examined: Examined, machine: Mapping[str, Any]) -> Iterable[str]:
    """What the figures mean for a training here."""
    if examined.gpus:
        yield "pretrain takes the GPU by itself; --precision bfloat16 is what GPUs are made for"
    base = examined.speeds.get("float32")
    for name, speed in examined.speeds.items():
        if base and not examined.gpus and name != "float32":
            ratio = speed / base
            if ratio >= FASTER:
                yield f"--precision {name}: products are {ratio:.1f} times as fast as in float32 here"
            elif ratio <= SLOWER:
                yield f"do without --precision {name}: products take {1 / ratio:.1f} times as long as in float32 here"
    if machine.get("matrix_unit_works") is False:
        yield "this processor shows a matrix unit (AMX) that does not work here; unmask does without it"
    if examined.threads is not None and examined.threads < examined.cores:
        yield f"torch uses {examined.threads} of {examined.cores} cores: OMP_NUM_THREADS={examined.cores} gives it all"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        try:
            outcome = _try(name)
        except BaseException as error:
            outcome = {"error": " ".join(f"{type(error).__name__}: {error}".split())[:200]}
        print(json.dumps({"trial": name, **outcome}), flush=True)
