"""Accelerators by name, with the figures their makers publish; and what this machine can do, measured.

In: "8xA100", or nothing. Out: how many devices, how much memory each has and how many operations it does a second.
Figures are dense, without the sparsity that doubles them in brochures.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import NamedTuple

import torch

from unmask.errors import BadInput
from unmask.results import ProductSpeed
from unmask.system_memory import memory_bytes
from unmask.training.machine.computing import Machine, machine_of
from unmask.training.machine.fastest import product_speeds
from unmask.training.machine.processor import half_precision_works
from unmask.training.precision import AUTO

HALF, SINGLE = ("bfloat16", "float16"), "float32"


class Accelerator(NamedTuple):
    """A device: memory in GB, and TFLOP/s by what products are computed in; 0 where it has none."""

    memory: float
    bfloat16: float
    float16: float
    float32: float


ACCELERATORS = {
    "P100": Accelerator(16, 0, 21.2, 10.6),
    "V100": Accelerator(32, 0, 125, 15.7),
    "V100-16GB": Accelerator(16, 0, 125, 15.7),
    "T4": Accelerator(16, 0, 65, 8.1),
    "A10": Accelerator(24, 125, 125, 31.2),
    "A10G": Accelerator(24, 70, 70, 35),
    "A30": Accelerator(24, 165, 165, 10.3),
    "A40": Accelerator(48, 149.7, 149.7, 37.4),
    "A100": Accelerator(80, 312, 312, 19.5),
    "A100-40GB": Accelerator(40, 312, 312, 19.5),
    "A6000": Accelerator(48, 154.8, 154.8, 38.7),
    "L4": Accelerator(24, 121, 121, 30.3),
    "L40S": Accelerator(48, 362, 362, 91.6),
    "H100": Accelerator(80, 989.4, 989.4, 66.9),
    "H100-PCIe": Accelerator(80, 756, 756, 51),
    "H200": Accelerator(141, 989.4, 989.4, 66.9),
    "B200": Accelerator(180, 2250, 2250, 75),
    "MI250X": Accelerator(128, 383, 383, 47.9),
    "MI300X": Accelerator(192, 1307.4, 1307.4, 163.4),
    "RTX 3080": Accelerator(10, 59.5, 59.5, 29.8),
    "RTX 3090": Accelerator(24, 71, 71, 35.6),
    "RTX 4080": Accelerator(16, 97.5, 97.5, 48.7),
    "RTX 4090": Accelerator(24, 165.2, 165.2, 82.6),
    "RTX 5090": Accelerator(32, 209.5, 209.5, 104.8),
}
# anything else, by what is known of it: 4x100TFLOPS/32GB
UNNAMED = re.compile(r"(?P<speed>\d+(\.\d+)?)\s*TFLOPS?\s*/\s*(?P<memory>\d+(\.\d+)?)\s*GB", re.I)


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """What a training runs on."""

    name: str
    devices: int
    memory: int  # bytes on each device
    peak: float  # operations a second on each device
    precision: str  # in which products are computed at that speed
    processor: bool = False  # a CPU, which is busy with little
    products: tuple[ProductSpeed, ...] = ()  # of this machine, measured: as planned, then otherwise


def hardware_named(line: str, precision: str | None = None) -> Hardware:
    """The hardware of a line such as "8xA100"; products in the fastest precision unless another is asked for.

    >>> hardware_named("8xA100").name, hardware_named("8xA100").precision, hardware_named("8xA100").peak
    ('8 × A100', 'bfloat16', 312000000000000.0)
    >>> hardware_named("rtx4090", "float32").peak, hardware_named("2 x 40TFLOPS/16GB").name
    (82600000000000.0, '2 × 40TFLOPS/16GB')
    """
    count, device = re.fullmatch(r"(?:(\d+)\s*[x×*]\s*)?(.*)", line.strip(), re.I | re.S).groups()  # type: ignore[union-attr]
    devices = int(count or 1)
    name, accelerator = _find_accelerator(device, line)
    speeds = {kind: getattr(accelerator, kind) for kind in (*HALF, SINGLE)}
    if precision in (None, AUTO):
        precision = next(kind for kind, speed in speeds.items() if speed)
    if not devices or not speeds.get(str(precision)):
        can = ", ".join(kind for kind, speed in speeds.items() if speed)
        raise BadInput(
            f"--hardware {line} with --precision {precision}: {name} computes in {can}; give 1 or more of it"
        )
    return Hardware(
        name=f"{devices} × {name}",
        devices=devices,
        memory=int(accelerator.memory * 1e9),
        peak=speeds[precision] * 1e12,
        precision=precision,
    )


def _find_accelerator(device: str, line: str) -> tuple[str, Accelerator]:
    """An accelerator by its name, however it is spelt, or by its own figures."""
    if figures := UNNAMED.fullmatch(device.strip()):
        speed = float(figures["speed"])
        return device.strip(), Accelerator(float(figures["memory"]), speed, speed, speed)
    spellings = {_letters(name): name for name in ACCELERATORS}
    name = spellings.get(_letters(device)) or spellings.get("rtx" + _letters(device))
    if name is None:
        names = ", ".join(ACCELERATORS)
        raise BadInput(f"--hardware {line}: known are {names}; for another give its figures: 4x100TFLOPS/32GB")
    return name, ACCELERATORS[name]


def _letters(name: str) -> str:
    """A name without what people and drivers spell differently.

    >>> _letters("NVIDIA A100-SXM4-80GB"), _letters("Tesla V100-SXM2-16GB"), _letters("NVIDIA H100 80GB HBM3")
    ('a100', 'v10016gb', 'h100')
    """
    return re.sub(r"[^a-z0-9]|nvidia|tesla|amd|instinct|geforce|sxm\d?|hbm\d\w?|(80|32)gb\b", "", name.lower())


def was_computed_on(machine: Machine, planned: Hardware | None) -> bool | None:
    """Whether a run's machine is what is planned for, or this one; none where only figures are planned for."""
    if planned is None:
        return machine == machine_of(torch.device("cpu"))
    device = planned.name.partition(" × ")[2]
    if UNNAMED.fullmatch(device):
        return None
    names = (_letters(machine.name), _letters(machine.name).removeprefix("rtx"))
    return machine.device != "cpu" and machine.processes == planned.devices and _letters(device) in names


def this_machine(precision: str = SINGLE) -> Hardware:
    """This machine's processors: all of their memory, and the speed of a product as it is just now.

    Beside it stands how fast products are in the other precision, and on one thread or on all.
    """
    half_precision_works()  # asked before the first product, or it is too late
    threads, cores = torch.get_num_threads(), os.cpu_count() or 1
    ways = [(precision, threads)]
    ways += [(kind, threads) for kind in (SINGLE, "bfloat16") if kind != precision]
    ways += [(precision, count) for count in sorted({1, cores} - {threads})]
    products = tuple(
        ProductSpeed(precision=kind, threads=count, flops=speed)
        for (kind, count), speed in zip(ways, product_speeds(ways), strict=True)
    )
    return Hardware(
        name=f"this machine, {threads} thread{'' if threads == 1 else 's'}",
        devices=1,
        memory=memory_bytes(),
        peak=products[0].flops,
        precision=precision,
        processor=True,
        products=products,
    )
