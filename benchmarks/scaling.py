"""How the cost of a step grows with the width, the depth, the length and the batch: time beside counted work.

    python benchmarks/scaling.py                       # the table
    python benchmarks/scaling.py --plot scaling.png    # and a plot

Both passes and the optimizer of our default family on random tokens, one thing varied at a time, the points of an axis
taking turns. Slopes are of the logarithms: 1 is proportional, 2 is quadratic. Matrices grow with the square of the
width and attention with the square of the length, so the time is put beside the floating-point work, and for the length
beside the time that attention takes (by torch's profiler): nothing else may grow faster than what it works on.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import tyro
from step import UNCOUNTED
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForMaskedLM
from turns import CLOCKS, Clock

from unmask.models.families.encoders import modernbert
from unmask.models.families.sizes import Size
from unmask.objectives.mlm import masked_lm_loss
from unmask.records import Batch, Vocabulary
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.optimizer import Optimizer, Optimizing

VOCABULARY = Vocabulary(16_384, mask=4, pad=0, start=2, end=3, special=(0, 1, 2, 3, 4))
HIDDEN = 0.15


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A model and a batch."""

    width: int = 256
    layers: int = 4
    length: int = 128
    rows: int = 16


AXES: dict[str, list[Shape]] = {
    "width": [Shape(width=width) for width in (128, 256, 512, 1024)],
    "layers": [Shape(layers=layers) for layers in (2, 4, 8, 16)],
    "length": [Shape(length=length, rows=2) for length in (128, 256, 512, 1024, 2048, 4096)],
    "rows": [Shape(rows=rows) for rows in (4, 8, 16, 32, 64)],
}


@dataclass
class Point:
    """What was measured at a shape."""

    shape: Shape
    take: Callable[[], None]
    seconds: list[float] = field(default_factory=list)
    share: float = 0.0  # of attention in a step
    work: int = 0  # floating-point operations of a step

    @property
    def median(self) -> float:
        """Seconds of a step."""
        return statistics.median(self.seconds)

    @property
    def attention(self) -> float:
        """Seconds of attention in it."""
        return self.share * self.median


def stepping(shape: Shape) -> Callable[[], None]:
    """A function that takes one step of that shape."""
    size = Size(shape.layers, shape.width, max(1, shape.width // 64))
    model = AutoModelForMaskedLM.from_config(modernbert(size, VOCABULARY, shape.length, 0.0))
    optimizer = Optimizer(model, Optimizing())
    draw = np.random.default_rng(0)
    ids = draw.integers(5, VOCABULARY.size, (shape.rows, shape.length))
    places = np.broadcast_to(np.arange(shape.length), ids.shape)
    predicted = np.sort(draw.choice(ids.size, int(HIDDEN * ids.size), replace=False))
    targets = ids.reshape(-1)[predicted]
    batch = Batch(ids, places, np.ones_like(ids), predicted, targets, np.arange(shape.rows))

    def take() -> None:
        restored = masked_lm_loss(model, batch)
        (restored.loss / restored.predicted).backward()
        optimizer.step(0, 100)
        optimizer.clear()

    return take


def measured(shapes: list[Shape], rounds: int, clock: Clock) -> list[Point]:
    """Seconds, attention's seconds and work of a step of each shape, the shapes taking turns."""
    now = CLOCKS[clock]
    points = [Point(shape, stepping(shape)) for shape in shapes]
    for point in points:
        point.take()
        with FlopCounterMode(display=False, custom_mapping=UNCOUNTED) as counter:
            point.take()
        point.work = counter.get_total_flops()
        with profile(activities=[ProfilerActivity.CPU]) as profiled:
            point.take()
        spent = {event.key: event.self_cpu_time_total for event in profiled.key_averages()}
        point.share = sum(spent[name] for name in spent if "scaled_dot_product" in name) / sum(spent.values())
    for _ in range(rounds):
        for point in points:
            begun = now()
            point.take()
            point.seconds.append(now() - begun)
    return points


def slope(sizes: Sequence[int], values: list[float]) -> float:
    """Of the logarithms, by least squares.

    >>> round(slope([1, 2, 4], [3.0, 12.0, 48.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def table(axis: str, points: list[Point]) -> Iterator[str]:
    """A line for each point, and the slopes."""
    sizes = [getattr(point.shape, axis) for point in points]
    seconds = [point.median for point in points]
    rest = [max(1e-9, whole - point.attention) for whole, point in zip(seconds, points, strict=True)]
    yield f"\n| {axis} | seconds | of which attention | GFLOP | GFLOP/s |\n|---|---|---|---|---|"
    for size, point, whole in zip(sizes, points, seconds, strict=True):
        work = point.work / 1e9
        yield f"| {size:,} | {whole:.3f} | {point.attention:.3f} | {work:.1f} | {work / whole:.0f} |"
    slopes = [slope(sizes, values) for values in (seconds, rest, [float(point.work) for point in points])]
    upper = [slope(sizes[-3:], values[-3:]) for values in (seconds, rest, [float(point.work) for point in points])]
    for name, (time_, other, work) in (("all", slopes), ("the largest three", upper)):
        yield f"slopes over {name}: time {time_:.2f}, time without attention {other:.2f}, work {work:.2f}"


def draw(found: dict[str, list[Point]], file: Path) -> None:
    """Time against each axis, both in logarithms, with a line that is proportional to the work."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(found), figsize=(3.4 * len(found), 3.2), sharey=True, layout="constrained")
    for panel, (axis, points) in zip(panels, found.items(), strict=True):
        sizes = [getattr(point.shape, axis) for point in points]
        seconds = [point.median for point in points]
        work = [point.work * seconds[0] / points[0].work for point in points]
        panel.loglog(sizes, seconds, "o-", color="#1f6f8b", label="a step")
        panel.loglog(sizes, work, "--", color="#999999", label="in proportion to its work")
        panel.loglog(sizes, [point.attention for point in points], "s:", color="#d1495b", label="attention")
        panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
        panel.minorticks_off()
        panel.set_xlabel(axis)
        panel.grid(alpha=0.25)
    panels[0].set_ylabel("seconds")
    panels[0].legend(frameon=False, fontsize=8)
    figure.savefig(file, dpi=150)


def main(
    rounds: int = 5,
    threads: int = 2,
    plot: Path | None = None,
    axes: tuple[str, ...] = tuple(AXES),
    clock: Clock = "wall",
) -> None:
    keep_large_blocks()
    torch.set_num_threads(threads)
    found = {}
    for axis in axes:
        found[axis] = measured(AXES[axis], rounds, clock)
        print("\n".join(table(axis, found[axis])), flush=True)
        for point in found[axis]:
            del point.take  # its model goes with it
    if plot is not None:
        draw(found, plot)
    kept = {
        axis: [
            {"shape": point.shape.__dict__, "seconds": point.seconds, "attention": point.attention, "work": point.work}
            for point in points
        ]
        for axis, points in found.items()
    }
    print("\n" + json.dumps(kept))


if __name__ == "__main__":
    tyro.cli(main)
