"""Plans for people, at 80 columns and without colour."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.console import Console, RenderableType

from unmask.console.plan import draw_plan
from unmask.results import Planned, PlanVsRun, ProductSpeed, Suggested

PLAN = Planned(
    recipe="base",
    vocabulary=30_522,
    length=512,
    longest=1024,
    blocks="64 blocks of 512 tokens, from 90% on 32 of 1,024",
    batch_size=64,
    micro_batch=8,
    hardware="8 × A100",
    devices=8,
    precision="bfloat16",
    parameters=109_015_866,
    by_optimizer={"muon": 84_934_656, "adamw": 24_081_210},
    flops_per_token=5.996e8,
    flops_per_step=2.12e13,
    memory={"weights": 436_063_464, "activations": 1_700_000_000},
    memory_there=80_000_000_000,
    checkpoint=968_500_000,
    peak=3.12e14,
    utilisation=0.4,
    seconds_per_step=0.0319,
    steps=91_553,
    tokens=3_000_008_704,
    passes=1.5,
    flops=1.94e18,
    seconds=2918.0,
    suggested=Suggested(
        micro_batch=32, batch_size=256, learning_rates={"muon": 0.02, "adamw": 0.002}, precision="bfloat16"
    ),
)


def printed(what: RenderableType) -> str:
    terminal = Console(width=80, no_color=True, force_terminal=False)
    with terminal.capture() as capture:
        terminal.print(what)
    assert "…" not in capture.get() and max(map(len, capture.get().splitlines())) <= 80
    return capture.get()


def test_a_plan_says_what_it_takes_and_what_to_do() -> None:
    text = printed(draw_plan(PLAN))
    for said in ("109,015,866", "599.6 MFLOP", "21.2 TFLOP a step", "91,553 steps, 1.50 passes", "1.9 EFLOP"):
        assert said in text
    for said in (
        "48 min 38 s",
        "40% of 2.5 PFLOP/s",
        "968.5 MB",
        "2.1 GB",
        "80.0 GB",
        "--micro-batch 32 --batch-size 256",
    ):
        assert said in text


def test_a_plan_without_a_budget_or_a_clock_leaves_them_out() -> None:
    unknown = replace(PLAN, steps=None, tokens=None, passes=None, flops=None, seconds=None, seconds_per_step=None)
    text = printed(draw_plan(replace(unknown, utilisation=None)))
    assert "None" not in text and "in all" in text and "time" not in text


def test_a_plan_is_compared_with_a_run() -> None:
    took = PlanVsRun(run=Path("run"), steps=10, planned=30.0, took=25.0, tokens_planned=4096, tokens=4000)
    text = printed(draw_plan(replace(PLAN, compared=took)))
    assert "Compared run" in text and "30.0 s" in text and "25.0 s  (+20%)" in text
    assert "does not say what it was computed on" in text
    for said in ("their time", "Both are times of steps alone; the time above has validations in it too."):
        assert said in " ".join(text.split())
    other = printed(
        draw_plan(replace(PLAN, compared=replace(took, hardware="AMD EPYC, 2 threads", same_hardware=False)))
    )
    assert "computed on AMD EPYC, 2 threads, which is not what is planned for" in " ".join(other.split())
    same = printed(draw_plan(replace(PLAN, compared=replace(took, hardware="AMD EPYC", same_hardware=True))))
    assert "computed on" not in same


def test_a_plan_says_what_launching_takes_and_from_which_batch_on_it_no_longer_does() -> None:
    suggested = replace(PLAN.suggested, fills=20)
    text = " ".join(printed(draw_plan(replace(PLAN, launches=2076, floor=0.0176, suggested=suggested))).split())
    assert "≥ 0.0176 s to launch about 2,076 kernels, an estimate" in text
    assert "from 20 blocks at once on, launching is no longer what takes the time" in text
    large = printed(draw_plan(replace(PLAN, suggested=replace(suggested, fills=100))))
    assert "100 blocks at once would fill a device" in " ".join(large.split())
    assert "blocks at once" not in printed(draw_plan(replace(PLAN, suggested=replace(suggested, fills=8))))


def test_a_plan_for_this_machine_says_what_precision_and_threads_would_save() -> None:
    now = ProductSpeed(precision="float32", threads=2, flops=2.5e11, seconds_per_step=1.0)
    half = ProductSpeed(precision="bfloat16", threads=2, flops=5e11, seconds_per_step=0.62)
    one = ProductSpeed(precision="float32", threads=1, flops=1.5e11, seconds_per_step=1.67)
    text = " ".join(printed(draw_plan(replace(PLAN, products=(now, half, one)))).split())
    assert "float32, 2 threads, as planned 250.0 GFLOP/s 1 s" in text
    assert "--precision bfloat16 500.0 GFLOP/s 0.62 s would save 38%" in text
    assert "OMP_NUM_THREADS=1 150.0 GFLOP/s 1.67 s would take 67% more" in text
    unknown = printed(draw_plan(replace(PLAN, products=(replace(now, seconds_per_step=None),))))
    assert "250.0 GFLOP/s" in unknown and "None" not in unknown
