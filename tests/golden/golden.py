"""Yesterday's numbers: what a tiny run of every kind computed when `losses.json` was recorded.

A run that is compared with itself, whole against resumed, says nothing of a change that moves both. These numbers were
recorded before: the first twenty losses and the last validation of each kind. A refactoring shows the same.

    pytest tests/pretraining/test_every_kind.py --record-golden    # when a computation is meant to change

Differences are relative. On processors that round otherwise (torch, MKL, oneDNN and OpenBLAS held to SSE, AVX2 and
AVX-512, one thread and two) most kinds differ by 1e-6, another computation by 1e-3 and more: `TOLERANCE` lies between.
ERNIE and T5 have ReLU, whose kink lets a rounding grow to 1e-2 in 20 steps: their first two are held to it, and the
others to `KINKED`.
"""

from __future__ import annotations

import json
from pathlib import Path

FILE = Path(__file__).with_name("losses.json")
STEPS = 20
TOLERANCE, KINKED = 2e-5, 5e-2
RELU = frozenset({"ernie", "t5"})
FIRST = 2  # steps in which a rounding has not grown

Numbers = dict[str, list[float]]


def numbers_of(run: Path) -> Numbers:
    """What a run logged: its first losses, and its last validation."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line]
    final = [line["final_loss"] for line in lines if "final_loss" in line]
    assert len(losses) >= STEPS
    return {"losses": losses[:STEPS], "validation": final}


def recorded(kind: str) -> Numbers:
    """The numbers of a kind as they were."""
    numbers: Numbers = json.loads(FILE.read_text(encoding="utf-8"))[kind]
    return numbers


def record(kind: str, numbers: Numbers) -> None:
    """Keep the numbers of a kind from now on."""
    every = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    every[kind] = {name: [round(value, 7) for value in values] for name, values in numbers.items()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(every[name])}" for name in sorted(every))
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def difference(numbers: Numbers, kind: str) -> float:
    """The largest relative difference from what a kind was, as a multiple of what is tolerated."""
    before = recorded(kind)
    assert numbers.keys() == before.keys()
    found = []
    for name, values in numbers.items():
        for step, (now, then) in enumerate(zip(values, before[name], strict=True)):
            kinked = kind in RELU and (step >= FIRST or name == "validation")
            found.append(abs(now - then) / abs(then) / (KINKED if kinked else TOLERANCE))
    return max(found)
