"""What a training would take: time, memory, operations, and what would keep the hardware busy.

In: a recipe, data or a vocabulary's size, hardware and a budget. Out: `Planned`. On named hardware the time follows
from published figures and a stated utilisation; on this machine it is measured on a few real steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf, sqrt
from pathlib import Path

from unmask.errors import BadInput
from unmask.planning.cost import Cost, Imagined, cost, without_marks
from unmask.planning.hardware import Hardware, fastest_here, this_machine
from unmask.results import Planned, PlanVsRun, Suggested
from unmask.runs.history import read, summary
from unmask.tokens.store.dataset import Dataset
from unmask.training.budget import Budget, seconds_a_step, seconds_a_validated_token
from unmask.training.loop import Training
from unmask.training.machine.allocator import keep_large_blocks
from unmask.training.machine.computing import Computing
from unmask.training.machine.distributed import ALONE
from unmask.training.optimizer import Optimizing
from unmask.training.session import VALIDATION_SHARE, VALIDATION_TOKENS, VALIDATIONS, Recipe, Work

CALIBRATION = 5.0  # seconds
USUAL_STEPS = 1000  # of a run whose length is not known yet: enough for a schedule
BUSY = 16_384  # tokens a device takes at once before it computes at its full speed
ROOM = 0.9  # of a device's memory; the rest is the allocator's and the kernels'
LEAST_STEPS = 1000  # a larger batch that leaves fewer of them would cost more than it brings


@dataclass(frozen=True)
class Pace:
    """How fast it goes: seconds a step, and seconds for each token that is measured on."""

    a_step: float
    a_validated_token: float


def plan(
    recipe: Recipe,
    data: Dataset | Imagined,
    budget: Budget,
    hardware: Hardware | None = None,
    *,
    precision: str | None = None,
    utilisation: float = 0.4,
    seed: int = 0,
) -> Planned:
    """Reckon what a recipe takes on some data; without hardware on this machine, in float32 or what is asked for."""
    if not 0 < utilisation <= 1:
        raise BadInput(f"--utilisation {utilisation}: give a share of the peak, such as 0.4")
    settings = recipe.training
    counted = cost(without_marks(recipe) if isinstance(data, Imagined) else recipe, data, seed=seed)
    here = hardware is None
    computing = Computing(precision=precision or "float32")
    hardware = hardware or this_machine(computing.precision)
    pace = None
    if not here:
        pace = reckoned(counted, hardware, utilisation, settings)
    elif isinstance(data, Dataset):
        pace = measured(data, recipe, seed, computing)
    block = settings.rows * settings.length
    text = int(data.manifest["tokens"]["train"]) if isinstance(data, Dataset) else 0
    steps = steps_of(budget, block, text, pace)
    tokens = None if steps is None else steps * block
    a_step = pace.a_step if pace else None
    return Planned(
        recipe=recipe.name,
        vocabulary=data.vocabulary.size,
        length=settings.length,
        rows=settings.rows,
        micro=min(settings.micro, settings.rows),
        hardware=hardware.name,
        devices=hardware.devices,
        precision=hardware.precision,
        parameters=counted.parameters,
        by_optimizer={"muon": counted.by_muon, "adamw": counted.parameters - counted.by_muon},
        flops_per_token=(counted.forward + counted.backward) * counted.micros / block,
        flops_per_step=counted.a_step,
        memory=memory_of(counted, hardware),
        memory_there=hardware.memory,
        checkpoint=counted.checkpoint,
        peak=hardware.peak,
        utilisation=_used(counted, hardware, a_step) if here else utilisation,
        seconds_per_step=a_step,
        steps=steps,
        tokens=tokens,
        passes=tokens / text if tokens and text else None,
        flops=None if steps is None else steps * counted.a_step,
        seconds=None if pace is None or steps is None else pace.a_step * steps + validating(pace, block, steps),
        suggested=suggested(counted, hardware, settings, tokens),
    )


def reckoned(counted: Cost, hardware: Hardware, utilisation: float, settings: Training) -> Pace:
    """The pace that published figures promise; processes share micro-batches, and each does the optimizer's work."""
    speed = hardware.peak * utilisation
    rounds = ceil(counted.micros / hardware.devices)  # the slowest process decides
    a_step = (rounds * (counted.forward + counted.backward) + counted.optimizing) / speed
    a_micro_batch = min(settings.micro, settings.rows) * settings.length
    return Pace(a_step, counted.forward / a_micro_batch / speed / hardware.devices)


def measured(data: Dataset, recipe: Recipe, seed: int, computing: Computing) -> Pace:
    """The pace of real steps on this machine, with memory kept between them as a run keeps it."""
    keep_large_blocks()
    work = Work.of(data, recipe, USUAL_STEPS, seed, computing)
    return Pace(seconds_a_step(work, CALIBRATION, ALONE), seconds_a_validated_token(work, ALONE))


def steps_of(budget: Budget, block: int, text: int, pace: Pace | None) -> int | None:
    """The steps that a budget buys; without one, a single pass over the text."""
    if budget.steps is not None:
        return budget.steps
    if budget.minutes is not None:
        if pace is None:
            raise BadInput("--minutes: how many steps that is needs --hardware, or --data to measure on")
        return max(1, int(budget.minutes * 60 / (pace.a_step + validating(pace, block, 1, exact=False))))
    tokens = budget.tokens or text
    return max(1, round(tokens / block)) if tokens else None


def validating(pace: Pace, block: int, steps: int, *, exact: bool = True) -> float:
    """Seconds that the validations of a run take: each on a share of what is trained on, within bounds if `exact`."""
    least, most = VALIDATION_TOKENS if exact else (0, inf)
    return VALIDATIONS * min(most, max(least, VALIDATION_SHARE * block * steps)) * pace.a_validated_token


def memory_of(counted: Cost, hardware: Hardware) -> dict[str, int]:
    """Bytes on each device, by part: what layers keep is half as large where products are."""
    halved = 1 if hardware.precision == "float32" else 2
    return {
        "weights": counted.weights,
        "gradients": counted.weights,
        "muon": counted.muon,
        "adamw": counted.adamw,
        "activations": counted.activations // halved,
        "logits": counted.logits,
    }


def suggested(counted: Cost, hardware: Hardware, settings: Training, tokens: int | None) -> Suggested:
    """A batch that fits and keeps every device busy, never smaller than the recipe's, its learning rates and precision.

    A batch that is k times as large takes √k times the rate (Malladi et al. 2022, for Adam and its like).
    """
    memory = memory_of(counted, hardware)
    micro = min(settings.micro, settings.rows)
    a_row = (memory["activations"] + memory["logits"]) / micro
    kept = sum(memory.values()) - memory["activations"] - memory["logits"]
    fitting = max(1, int((ROOM * hardware.memory - kept) / a_row))
    wanted = micro if hardware.processor else max(ceil(BUSY / settings.length), ceil(settings.rows / hardware.devices))
    own = 2 ** int(min(fitting, wanted)).bit_length() // 2  # a power of two, not above
    most = max(settings.rows, (tokens or inf) / LEAST_STEPS / settings.length)
    while own > 1 and own * hardware.devices > most:
        own //= 2
    rows = max(settings.rows, own * hardware.devices)
    factor = sqrt(rows / settings.rows)
    rates = {"muon": settings.optimizing.muon * factor, "adamw": settings.optimizing.adamw * factor}
    precision = fastest_here() if hardware.processor else hardware.precision
    return Suggested(micro=own, rows=rows, rates=rates, precision=precision)


def _used(counted: Cost, hardware: Hardware, a_step: float | None) -> float | None:
    """The part of the peak that the measured steps reached."""
    return counted.a_step / a_step / hardware.peak if a_step else None


def compare(planned: Planned, run: Path) -> Planned:
    """The plan beside what a run of it really took, for as many steps as the run has taken."""
    took = summary(read(run))
    if not took.step or planned.seconds_per_step is None:
        raise BadInput(f"{run}: there is nothing to compare; it needs logged steps, and the plan --hardware or --data")
    beside = PlanVsRun(
        run=run,
        steps=took.step,
        planned=planned.seconds_per_step * took.step,
        took=took.seconds,
        tokens_planned=planned.rows * planned.length * took.step,
        tokens=took.tokens,
    )
    return replace(planned, compared=beside)


def precision_of(run: Path) -> str:
    """What a run computes in."""
    return str(read(run).description.get("computing", {}).get("precision", "float32"))


def recipe_of(run: Path) -> tuple[Recipe, int | None]:
    """The recipe of a run, as its description has it, and its steps."""
    description = read(run).description
    try:
        known = dict(description["recipe"])
        settings = dict(known.pop("training"))
        optimizing = dict(settings.pop("optimizing"))
        optimizing["betas"] = tuple(optimizing["betas"])
        training = Training(**settings, optimizing=Optimizing(**optimizing))
        return Recipe(**known, training=training), description.get("steps")
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{run}: its recipe is not one that this version knows ({error})") from error
