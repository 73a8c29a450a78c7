"""Hardware by its name, however it is spelt."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from unmask.errors import BadInput
from unmask.planning.hardware import ACCELERATORS, hardware_named, this_machine, was_computed_on
from unmask.training.machine.computing import Machine, machine_of


@pytest.mark.parametrize("line", ["8xA100", "8 x a100", "8×NVIDIA A100-SXM4-80GB", "8*A100 80GB"])
def test_spellings_of_one_device_are_one_device(line: str) -> None:
    assert hardware_named(line) == hardware_named("8xA100")


def test_every_accelerator_is_found_by_its_name_and_computes_in_something() -> None:
    for name, figures in ACCELERATORS.items():
        found = hardware_named(name)
        assert found.name == f"1 × {name}" and found.memory == figures.memory * 1e9
        assert found.peak == max(figures.bfloat16, figures.float16) * 1e12 >= figures.float32 * 1e12 > 0


def test_the_precision_decides_the_speed_and_is_named_where_there_is_none() -> None:
    assert hardware_named("A100", "float32").peak == 19.5e12
    assert hardware_named("2xV100").precision == "float16"
    assert hardware_named("4090").name == "1 × RTX 4090"
    assert hardware_named("3x12.5TFLOPS/8GB").peak == 12.5e12
    with pytest.raises(BadInput, match="V100 computes in float16, float32"):
        hardware_named("2xV100", "bfloat16")


@pytest.mark.parametrize("line", ["8xZ9000", "", "x", "A100x8", "0xA100", "1.5xA100", "4x100TFLOPS"])
def test_what_is_no_hardware_is_one_line(line: str) -> None:
    with pytest.raises(BadInput, match="--hardware"):
        hardware_named(line)


def test_this_machine_has_the_memory_that_the_system_tells_and_the_speed_of_its_products() -> None:
    here = this_machine()
    (total,) = (line.split()[1] for line in Path("/proc/meminfo").read_text().splitlines() if "MemTotal" in line)
    assert (here.devices, here.precision, here.memory) == (1, "float32", int(total) * 1024)
    matrix, seconds = torch.ones(512, 512), []
    for _ in range(5):
        begun = time.perf_counter()
        matrix @ matrix
        seconds.append(time.perf_counter() - begun)
    assert 0.05 < here.peak / (2 * 512**3 / min(seconds)) < 20  # other products, on a machine that may be busy


def test_products_are_measured_as_planned_in_the_other_precision_and_on_other_threads() -> None:
    before = torch.get_num_threads()
    for precision, other in (("float32", "bfloat16"), ("bfloat16", "float32")):
        here = this_machine(precision)
        ways = [(product.precision, product.threads) for product in here.products]
        assert ways[:2] == [(precision, before), (other, before)] and len(set(ways)) == len(ways)
        assert {kind for kind, _ in ways[2:]} <= {precision}
        assert here.peak == here.products[0].flops and all(product.flops > 0 for product in here.products)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("name", "processes", "planned", "same"),
    [
        ("NVIDIA A100-SXM4-80GB", 8, "8xA100", True),
        ("NVIDIA A100-SXM4-80GB", 1, "8xA100", False),
        ("NVIDIA A100-SXM4-40GB", 1, "A100", False),
        ("Tesla V100-SXM2-32GB", 1, "V100", True),
        ("NVIDIA H100 80GB HBM3", 1, "H100", True),
        ("NVIDIA H100 PCIe", 1, "H100", False),
        ("NVIDIA RTX A6000", 2, "2xA6000", True),
        ("NVIDIA GeForce RTX 4090", 1, "4090", True),
        ("Tesla T4", 1, "100TFLOPS/16GB", None),
    ],
)
def test_a_run_was_computed_on_what_its_driver_calls_it(
    name: str, processes: int, planned: str, same: bool | None
) -> None:
    machine = Machine(device="cuda", name=name, threads=8, processes=processes)
    assert was_computed_on(machine, hardware_named(planned)) is same
    assert was_computed_on(machine, None) is False
    assert was_computed_on(machine_of(torch.device("cpu")), None) is True
